// SPDX-License-Identifier: MIT
/*
 * A runtime is found by its symbols when its module is announced, which is before it has run any
 * function. Its layout is proved again and again until the interpreter is so far.
 */
#include "base/text.h"
#include "collector/names/namer.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { GAP_NS = 2000000, IDS_MOST = 256 }; // between two proofs; threads that are looked at

void units_init(struct units *u, struct segment *segment, struct modules *modules) {
	*u = (struct units){.segment = segment, .modules = modules, .n_seen = 1};
}

void units_finish(struct units *u) {
	vec_finish(&u->codes);
	vec_finish(&u->waiting);
	arena_finish(&u->arena);
	units_v8_finish(&u->v8);
}

// ---- layouts

void units_meet(struct units *u, uint32_t id, const struct wire_module *module) {
	const struct module_file *file = &u->modules->files.items[id];
	struct stat st;
	struct elf_image image;
	struct wire_layout found;
	struct slice name = slice_of_text(path_base_name(file->path));
	bool is_v8 = starts_with(name, "libnode") || is_called_after(name, "node");
	bool may_be = module->path[0] == '\0' || starts_with(name, "libpython") ||
			is_called_after(name, "python");
	if ((!may_be && !is_v8) || !u->segment->has_runtimes || file->fd < 0 ||
			fstat(file->fd, &st) != 0) {
		return;
	}
	void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file->fd, 0);
	if (bytes == MAP_FAILED) {
		return;
	}
	bool is_image = elf_image_init(&image, slice_of(bytes, (size_t)st.st_size), NULL);
	if (is_image && is_v8) {
		units_v8_meet(u, &image, module);
	}
	if (is_image && python_find(&image, module->bias, &found)) {
		u->candidate = found;
		u->candidate.image = module->image;
		u->why = "it has not begun";
	}
	(void)munmap(bytes, (size_t)st.st_size);
}

static void prove(struct units *u, uint64_t now_ns) {
	uint64_t ids[IDS_MOST]; // the pointers of threads that have allocated
	size_t n = 0;
	if (!u->why || u->candidate.n_ranges == 0 || now_ns < u->next_ns ||
			u->segment->n_layouts == WIRE_N_LAYOUTS) {
		return;
	}
	for (uint32_t i = 0; i < u->segment->n_slots && i < IDS_MOST; i++) {
		const struct thread_slot *slot = segment_slot(u->segment, i);
		if (atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_LIVE) {
			ids[n++] = slot->thread_area;
		}
	}
	u->next_ns = now_ns + GAP_NS;
	u->why = python_prove(&u->candidate, modules_read, u->modules, ids, n);
	if (!u->why) {
		segment_add_layout(u->segment, &u->candidate);
	}
}

// ---- names

/** What the target says of a unit, checked and copied. NULL: no memory, or it makes no sense. */
static struct unit_code *code_of(struct units *u, struct namer *names, uint32_t id) {
	struct wire_unit unit;
	while (id < WIRE_N_UNITS && u->codes.n <= id) {
		if (!vec_push(&u->codes)) {
			return NULL;
		}
	}
	if (id >= WIRE_N_UNITS || u->codes.items[id].is_read) {
		return id < WIRE_N_UNITS ? &u->codes.items[id] : NULL;
	}
	struct unit_code *code = &u->codes.items[id];
	code->is_read = true;
	memcpy(&unit, &u->segment->units[id], sizeof unit); // whole before any stack has it
	if (unit.layout >= u->segment->n_layouts || unit.excerpt_bytes > WIRE_EXCERPT_MAX ||
			unit.excerpt_at > WIRE_EXCERPTS_BYTES - unit.excerpt_bytes) {
		return code;
	}
	const void *excerpt = arena_copy(&u->arena, u->segment->excerpts + unit.excerpt_at,
			unit.excerpt_bytes, 1);
	if (excerpt &&
			python_decode(slice_of(excerpt, unit.excerpt_bytes), &u->segment->layouts[unit.layout],
					&code->code, &u->arena)) {
		code->function = namer_text(names, code->code.name);
		code->file = namer_text(names, code->code.file);
	}
	return code;
}

/** False: it is not known yet. */
static bool name_location(struct units *u, struct rec_location *l, const struct wire_module *module,
		struct namer *names) {
	if (module->kind == MODULE_V8) {
		return units_v8_name(u, l, names);
	}
	const struct unit_code *code = u->segment->n_layouts > 0
			? code_of(u, names, wire_where_unit(l->pc))
			: NULL;
	if (code && code->function) {
		const struct rec_frame frame = {.function = code->function,
				.file = code->file,
				.line = python_line(&code->code, wire_where_position(l->pc))};
		namer_put(names, l, &frame, 1);
	}
	return true;
}

void units_step(struct units *u, struct tries *t, struct namer *names, uint64_t now_ns) {
	size_t kept = 0;
	prove(u, now_ns);
	units_v8_step(u);
	EACH(id, u->waiting) {
		struct rec_location *l = &t->locations[*id];
		if (!name_location(u, l, tries_module(t, l->module), names)) {
			u->waiting.items[kept++] = *id;
		}
	}
	u->waiting.n = kept;
	for (; u->n_seen < t->n_locations; u->n_seen++) {
		struct rec_location *l = &t->locations[u->n_seen];
		const struct wire_module *module = l->module ? tries_module(t, l->module) : NULL;
		if (l->module && !module) {
			return; // it is not announced yet
		}
		if (module && module->kind != MODULE_FILE && !name_location(u, l, module, names)) {
			(void)vec_add(&u->waiting, u->n_seen);
		}
	}
}
