// SPDX-License-Identifier: MIT
#include "engine/names.h"

#include "engine/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct names {
	const struct recording *recording;
	struct arena arena;
	uint32_t *first; // per location, one more at the end
	struct name *frames;
	uint8_t *module_owner;
	uint32_t *site; // per node: the frame its stacks are named after, + 1
};

struct slice path_base(struct slice path) {
	const uint8_t *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
	size_t skip = slash ? (size_t)(slash + 1 - path.data) : 0;
	return slice_of(path.data + skip, path.size - skip);
}

static struct slice text(const struct recording *r, uint32_t id) {
	return r->strings.items[id];
}

/** What a module's code is if neither file nor function of a frame say it. */
static enum owner owner_of_module(const struct recording *r, uint32_t id) {
	if (id == 0) {
		return OWNER_UNKNOWN;
	}
	struct slice path = text(r, r->modules.items[id].path);
	struct slice exe = text(r, r->meta.exe);
	if (path.size == 0 || slice_equal(path, exe)) {
		return owner_is_runtime(exe) ? OWNER_LIBRARY : OWNER_YOURS;
	}
	return owner_module_is_library(path) ? OWNER_LIBRARY : OWNER_YOURS;
}

static enum owner owner_of(const struct names *n, const struct name *f, uint32_t module) {
	enum owner by_module = n->module_owner[module];
	if (!f->has_name) {
		// An unnamed place in the user's own program is the best that is known of it
		return by_module;
	}
	bool runs_programs = by_module == OWNER_LIBRARY;
	if (f->file.size > 0 && owner_file_is_library(f->file)) {
		return OWNER_LIBRARY;
	}
	if (owner_function_is_library(f->function)) {
		return OWNER_LIBRARY;
	}
	return runs_programs ? OWNER_LIBRARY : module == 0 ? OWNER_UNKNOWN : OWNER_YOURS;
}

/** "libfoo.so+0x4f20": the address in the file, of the call rather than of what follows it. */
static bool name_by_address(struct names *n, const struct rec_location *l, struct name *out) {
	char number[32];
	const char *what = "?";
	struct slice base = {0};
	if (l->is_mark) {
		what = "(callers not recorded)";
		number[0] = '\0';
	} else if (l->module == 0) {
		what = "generated code ";
		(void)snprintf(number, sizeof number, "0x%" PRIx64, l->pc);
	} else {
		const struct rec_module *m = &n->recording->modules.items[l->module];
		base = path_base(text(n->recording, m->path));
		if (base.size == 0) {
			base = path_base(text(n->recording, n->recording->meta.exe));
		}
		what = "";
		uint64_t address = l->pc - m->bias - (l->is_exact ? 0 : 1);
		(void)snprintf(number, sizeof number, "+0x%" PRIx64, address);
	}
	size_t size = base.size + strlen(what) + strlen(number);
	char *buf = arena_alloc(&n->arena, size + 1, 1);
	if (!buf) {
		return false;
	}
	(void)snprintf(buf, size + 1, "%.*s%s%s", SLICE_ARG(base), what, number);
	out->function = slice_of(buf, size);
	return true;
}

static struct slice module_path(const struct recording *r, uint32_t module) {
	if (module == 0) {
		return (struct slice){0};
	}
	struct slice path = text(r, r->modules.items[module].path);
	return path.size ? path : text(r, r->meta.exe);
}

static bool name_location(struct names *n, uint32_t id) {
	const struct recording *r = n->recording;
	const struct rec_location *l = &r->locations.items[id];
	struct name *out = &n->frames[n->first[id]];
	uint32_t count = n->first[id + 1] - n->first[id];
	for (uint32_t i = 0; i < count; i++) {
		out[i].module = module_path(r, l->module);
		out[i].is_inlined = i + 1 < count;
		if (i < l->n_frames) {
			const struct rec_frame *f = &r->frames.items[l->first_frame + i];
			out[i].function = text(r, f->function);
			out[i].symbol = text(r, f->symbol);
			out[i].file = text(r, f->file);
			out[i].line = f->line;
		}
		out[i].has_name = out[i].function.size > 0;
		if (!out[i].has_name && !name_by_address(n, l, &out[i])) {
			return false;
		}
		out[i].owner = (uint8_t)owner_of(n, &out[i], l->module);
	}
	return true;
}

static bool is_allocation_function(struct slice f) {
	static const char *const prefixes[] = {"operator new",
			"std::", "__gnu_cxx::", "alloc::", "core::", "<alloc::", "__rust_", "__rdl_", "malloc",
			"calloc", "realloc"};
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		size_t length = strlen(prefixes[i]);
		if (f.size >= length && memcmp(f.data, prefixes[i], length) == 0) {
			return true;
		}
	}
	return false;
}

// How well a frame names a stack
enum fitness { FIT_NOT, FIT_ANY, FIT_NAMED, FIT_YOURS };

static enum fitness fitness_of(const struct name *f) {
	return f->owner == OWNER_YOURS                                ? FIT_YOURS
			: f->has_name && !is_allocation_function(f->function) ? FIT_NAMED
																  : FIT_ANY;
}

/** The best of a location's own frames, the innermost of equals. */
static uint32_t best_of_location(const struct names *n, uint32_t location, enum fitness *fitness) {
	uint32_t best = n->first[location];
	*fitness = FIT_NOT;
	for (uint32_t i = n->first[location]; i < n->first[location + 1]; i++) {
		enum fitness fit = fitness_of(&n->frames[i]);
		if (fit > *fitness) {
			*fitness = fit;
			best = i;
		}
	}
	return best;
}

/** Parents come before children: each node takes its own frames' best, or its caller's better. */
static bool find_sites(struct names *n) {
	const struct recording *r = n->recording;
	struct arena scratch = {0};
	uint32_t *best = arena_new(&scratch, uint32_t, r->locations.n);
	uint8_t *fitness = arena_new(&scratch, uint8_t, r->locations.n);
	n->site = arena_new(&n->arena, uint32_t, r->nodes.n);
	bool ok = best && fitness && n->site;
	for (uint32_t i = 0; ok && i < r->locations.n; i++) {
		enum fitness fit;
		best[i] = best_of_location(n, i, &fit);
		fitness[i] = (uint8_t)fit;
	}
	for (uint32_t i = 1; ok && i < r->nodes.n; i++) {
		const struct rec_node *node = &r->nodes.items[i];
		uint32_t outer = n->site[node->parent];
		bool is_outer_better = outer && fitness_of(&n->frames[outer - 1]) > fitness[node->location];
		n->site[i] = is_outer_better ? outer : best[node->location] + 1;
	}
	arena_finish(&scratch);
	return ok;
}

const struct name *names_site(const struct names *n, uint32_t node) {
	uint32_t site = n->site[node];
	return site ? &n->frames[site - 1] : NULL;
}

static bool build(struct names *n) {
	const struct recording *r = n->recording;
	n->first = arena_new(&n->arena, uint32_t, (size_t)r->locations.n + 1);
	n->module_owner = arena_new(&n->arena, uint8_t, (size_t)r->modules.n + 1);
	if (!n->first || !n->module_owner) {
		return false;
	}
	for (uint32_t i = 0; i < r->modules.n; i++) {
		n->module_owner[i] = (uint8_t)owner_of_module(r, i);
	}
	uint64_t total = 0;
	for (uint32_t i = 0; i < r->locations.n; i++) {
		n->first[i] = (uint32_t)total;
		uint32_t count = r->locations.items[i].n_frames;
		total += count ? count : 1;
	}
	n->first[r->locations.n] = (uint32_t)total;
	n->frames = total > UINT32_MAX ? NULL : arena_new(&n->arena, struct name, total);
	if (!n->frames) {
		return false;
	}
	for (uint32_t i = 0; i < r->locations.n; i++) {
		if (!name_location(n, i)) {
			return false;
		}
	}
	return find_sites(n);
}

struct names *names_create(const struct recording *r, struct err *err) {
	struct names *n = calloc(1, sizeof *n);
	if (!n) {
		(void)err_memory(err);
		return NULL;
	}
	n->recording = r;
	if (!build(n)) {
		(void)err_memory(err);
		names_destroy(n);
		return NULL;
	}
	return n;
}

void names_destroy(struct names *n) {
	if (n) {
		arena_finish(&n->arena);
		free(n);
	}
}

const struct name *names_of(const struct names *n, uint32_t location, uint32_t *n_frames) {
	*n_frames = n->first[location + 1] - n->first[location];
	return &n->frames[n->first[location]];
}

struct stack_walk stack_walk_init(const struct recording *r, const struct names *n, uint32_t node) {
	return (struct stack_walk){.recording = r, .names = n, .node = node};
}

const struct name *stack_walk_next(struct stack_walk *w) {
	if (w->i == w->n) {
		if (w->node == 0) {
			return NULL;
		}
		const struct rec_node *node = &w->recording->nodes.items[w->node];
		w->location = node->location;
		w->frames = names_of(w->names, node->location, &w->n);
		w->i = 0;
		w->node = node->parent;
	}
	return &w->frames[w->i++];
}
