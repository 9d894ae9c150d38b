// SPDX-License-Identifier: MIT
/*
 * A runtime is found by its symbols when its module is announced.
 *
 * If it has not begun, its layout is in force before its first function: the recorder compares each
 * frame with the native ones, and there is nothing else yet to prove it by. Else it is proved again
 * and again until the interpreter is so far.
 */
#include "base/text.h"
#include "collector/names/namer.h"
#include "sys/futex.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum { GAP_NS = 2000000, IDS_MOST = 256 }; // between two proofs; threads that are looked at

void units_init(struct units *u, struct segment *segment, struct modules *modules) {
	*u = (struct units){.segment = segment, .modules = modules, .n_seen = 1};
}

void units_finish(struct units *u) {
	vec_finish(&u->codes);
	arena_finish(&u->arena);
}

// ---- layouts

void units_meet(struct units *u, uint32_t id, const struct wire_module *module) {
	const struct module_file *file = &u->modules->files.items[id];
	struct stat st;
	struct elf_image image;
	struct wire_layout found;
	struct slice name = slice_of_text(path_base_name(file->path));
	bool may_be = module->path[0] == '\0' || starts_with(name, "libpython") ||
			is_called_after(name, "python");
	if (!may_be || !u->segment->has_runtimes || file->fd < 0 || fstat(file->fd, &st) != 0) {
		return;
	}
	void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file->fd, 0);
	if (bytes == MAP_FAILED) {
		return;
	}
	if (elf_image_init(&image, slice_of(bytes, (size_t)st.st_size), NULL) &&
			python_find(&image, module->bias, &found)) {
		u->candidate = found;
		u->candidate.image = module->image;
		u->why = "it has not begun";
		u->next_ns = 0;
	}
	(void)munmap(bytes, (size_t)st.st_size);
}

static bool read_program(void *user, uint64_t address, void *out, size_t bytes) {
	const struct modules *m = user;
	struct iovec here = {out, bytes}, there = {(void *)(uintptr_t)address, bytes};
	return process_vm_readv(m->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static void prove(struct units *u, uint64_t now_ns) {
	uint64_t ids[IDS_MOST]; // the pointers of threads that have allocated
	size_t n = 0;
	if (!u->why || u->candidate.n_ranges == 0 || now_ns < u->next_ns ||
			u->n_layouts == WIRE_N_LAYOUTS) {
		return;
	}
	for (uint32_t i = 0; i < u->segment->n_slots && i < IDS_MOST; i++) {
		const struct thread_slot *slot = segment_slot(u->segment, i);
		if (atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_LIVE) {
			ids[n++] = slot->thread_area;
		}
	}
	u->next_ns = now_ns + GAP_NS;
	u->why = python_prove(&u->candidate, read_program, u->modules, ids, n);
	if (!u->why || u->why == python_not_begun) {
		u->why = NULL;
		struct wire_layout *to = &u->segment->layouts[u->n_layouts++];
		memcpy(to, &u->candidate, sizeof *to);
		atomic_store_explicit(&to->is_in_force, 1, memory_order_release);
		atomic_fetch_add(&u->segment->header->runtime_generation, 1);
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
	if (unit.layout >= u->n_layouts || unit.excerpt_bytes > WIRE_EXCERPT_MAX ||
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

/** The program waits until its runtime has been looked at, whatever came of it. */
static void answer(struct units *u) {
	struct segment_header *h = u->segment->header;
	uint32_t awaited = atomic_load(&h->module_awaited);
	if (awaited != 0 && awaited < u->modules->files.n) {
		atomic_store(&h->module_awaited, 0);
		futex_wake(&h->module_awaited, INT32_MAX);
	}
}

void units_step(struct units *u, struct tries *t, struct namer *names, uint64_t now_ns) {
	prove(u, now_ns);
	answer(u);
	for (; u->n_seen < t->n_locations; u->n_seen++) {
		struct rec_location *l = &t->locations[u->n_seen];
		const struct wire_module *module = l->module ? tries_module(t, l->module) : NULL;
		if (l->module && !module) {
			return; // it is not announced yet
		}
		bool is_unit = module && module->kind != MODULE_FILE && u->n_layouts > 0;
		const struct unit_code *code = is_unit ? code_of(u, names, wire_where_unit(l->pc)) : NULL;
		if (code && code->function) {
			namer_put(names, l,
					(struct rec_frame){.function = code->function,
							.file = code->file,
							.line = python_line(&code->code, wire_where_position(l->pc))});
		}
	}
}
