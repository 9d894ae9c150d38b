// SPDX-License-Identifier: MIT
/*
 * Strings, modules, places and stacks of a file. An id that the file does not define is "none", and
 * a malformed line still takes its number, so that those after it keep theirs.
 */
#include "session/kde/parts.h"

enum { ADDRESS_OF_CALL = 0x10300 }; // since 1.3.0 an ip is the return address minus 1

static uint32_t known_string(const struct kde_import *k, uint64_t id) {
	return id < k->strings.n ? (uint32_t)id : 0;
}

/** `*id`: its number. False: the recording's limit of memory, or of ids, is reached. */
static bool add_string(struct kde_import *k, struct slice text, uint32_t *id) {
	char *copy = text.size ? arena_text(&k->out->arena, text) : NULL;
	*id = (uint32_t)k->strings.n;
	return k->strings.n < UINT32_MAX && (copy || text.size == 0) &&
			vec_add(&k->strings, slice_of(copy, text.size));
}

/** The module whose path is this string, or 0. */
static uint32_t module_of(struct kde_import *k, uint32_t path) {
	while (k->module_of_string.n <= path) {
		(void)vec_push(&k->module_of_string);
	}
	uint32_t *id = &k->module_of_string.items[path];
	if (path && !*id) {
		*id = (uint32_t)k->modules.n;
		(void)vec_add(&k->modules, (struct rec_module){.path = path, .image = 1, .has_symbols = 1});
	}
	return *id;
}

static uint64_t pc_of(const struct kde_import *k, uint64_t ip) {
	return ip + (k->reader.program >= ADDRESS_OF_CALL);
}

/** i: an address, its module, and triples of function, file and line, innermost first. */
static bool add_ip(struct kde_import *k, const struct heaptrack_record *r) {
	uint32_t module = r->n > 1 ? module_of(k, known_string(k, r->numbers[1])) : 0;
	struct rec_location *l = k->locations.n < UINT32_MAX ? vec_push(&k->locations) : NULL;
	if (!l || r->is_bad) {
		return l != NULL;
	}
	*l = (struct rec_location){
			.pc = pc_of(k, r->numbers[0]),
			.module = module,
			.is_exact = k->reader.program < ADDRESS_OF_CALL, // shown as it stands there
	};
	size_t n = r->n > 2 ? (r->n - 2 + 2) / 3 : 0;
	n = n < UINT16_MAX ? n : UINT16_MAX;
	l->first_frame = (uint32_t)k->frames.n;
	if (!vec_reserve(&k->frames, n) || k->frames.n + n > UINT32_MAX) {
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		const uint64_t *at = &r->numbers[2 + 3 * i];
		size_t left = r->n - 2 - 3 * i;
		k->frames.items[k->frames.n++] = (struct rec_frame){
				.function = known_string(k, at[0]),
				.file = left > 1 ? known_string(k, at[1]) : 0,
				.line = left > 2 ? (uint32_t)at[2] : 0,
		};
		k->modules.items[module].has_lines |= module && left > 1;
	}
	l->n_frames = (uint16_t)n;
	return true;
}

// ---- raw files: modules and addresses

/** A module listed again at the same place keeps its id. */
static uint32_t same_module(const struct kde_import *k, struct slice path, uint64_t bias) {
	const struct rec_module *known = FIND_IN(m, k->modules,
			m->path && m->bias == bias && slice_equal(k->strings.items[m->path], path));
	return known ? (uint32_t)(known - k->modules.items) : 0;
}

/** m: a path, its load address, and pairs of address and size. */
static bool add_module(struct kde_import *k, const struct heaptrack_record *r) {
	k->is_raw = true;
	if (r->is_bad || r->n == 0) {
		k->ranges.n = 0; // "-": the list starts over
		return true;
	}
	bool is_exe = slice_is(r->text, "x");
	struct slice path = is_exe ? k->exe : r->text;
	uint32_t id = same_module(k, path, r->numbers[0]);
	if (!id) {
		struct rec_module *m = vec_push(&k->modules);
		if (!add_string(k, path, &m->path)) {
			return false;
		}
		m->image = 1;
		m->bias = r->numbers[0];
		m->start = UINT64_MAX;
		id = (uint32_t)k->modules.n - 1;
	}
	struct rec_module *m = &k->modules.items[id];
	for (size_t i = 1; i + 1 < r->n; i += 2) {
		uint64_t start = m->bias + r->numbers[i], end = start + r->numbers[i + 1];
		(void)vec_add(&k->ranges, (struct kde_range){start, end, id});
		m->start = start < m->start ? start : m->start;
		m->end = end > m->end ? end : m->end;
	}
	m->start = m->start < m->end ? m->start : m->end;
	return true;
}

static uint32_t location_of(struct kde_import *k, uint64_t ip) {
	const struct kde_range *loaded = FIND_IN(r, k->ranges, ip >= r->start && ip < r->end);
	uint32_t module = loaded ? loaded->module : 0;
	uint64_t pc = pc_of(k, ip), hash = hash_u64(pc + module * 0x9e3779b97f4a7c15u);
	return VEC_FIND_OR_ADD(&k->location_index, &k->locations, hash, l,
			l->pc == pc && l->module == module, (struct rec_location){.pc = pc, .module = module});
}

/** t: a place, called from the stack of an earlier trace. */
static bool add_trace(struct kde_import *k, const struct heaptrack_record *r) {
	uint32_t location = 0;
	if (!r->is_bad && k->is_raw) {
		location = location_of(k, r->numbers[0]);
	} else if (!r->is_bad && r->numbers[0] < k->locations.n) {
		location = (uint32_t)r->numbers[0];
	}
	bool has_parent = !r->is_bad && r->numbers[1] < k->nodes.n;
	struct rec_node node = {has_parent ? (uint32_t)r->numbers[1] : 0, location};
	return k->nodes.n < UINT32_MAX && vec_add(&k->nodes, node);
}

bool kde_code(struct kde_import *k, const struct heaptrack_record *r, struct err *err) {
	uint32_t id;
	bool ok = r->kind == 's' ? add_string(k, r->text, &id)
			: r->kind == 'i' ? add_ip(k, r)
			: r->kind == 't' ? add_trace(k, r)
							 : add_module(k, r);
	uint64_t bytes = k->strings.n * sizeof *k->strings.items +
			k->frames.n * sizeof *k->frames.items + k->locations.n * sizeof *k->locations.items +
			k->nodes.n * sizeof *k->nodes.items;
	uint64_t most = k->out->arena.max_bytes;
	return (ok && bytes + k->out->arena.bytes <= most) ||
			err_limit(err, "symbols and stacks need more than %llu MB of memory",
					(unsigned long long)most / 1000000);
}

// ---- the end

/** "./prog a b": the words, as far as spaces tell them; the first is the program. */
static bool put_command(struct kde_import *k) {
	struct rec_meta *m = &k->out->meta;
	uint32_t id;
	m->argv_first = (uint32_t)k->strings.n;
	struct slice left = k->command, word;
	bool ok = true;
	for (; ok && take_part(&left, ' ', &word); m->n_argv++) {
		ok = add_string(k, word, &id);
	}
	m->exe = m->n_argv ? m->argv_first : 0;
	return ok && (k->exe.size == 0 || add_string(k, k->exe, &m->exe));
}

#define KDE_PUT(k, table) RECORDING_PUT((k)->out, table, (k)->table.items, (k)->table.n)

bool kde_put_code(struct kde_import *k, struct err *err) {
	k->out->meta.n_images = 1;
	bool ok = put_command(k) && KDE_PUT(k, strings) && KDE_PUT(k, modules) &&
			KDE_PUT(k, locations) && KDE_PUT(k, frames) && KDE_PUT(k, nodes) &&
			KDE_PUT(k, samples) &&
			RECORDING_PUT(k->out, images, &(struct rec_image){.exe = k->out->meta.exe}, 1);
	return ok || err_memory(err);
}
