// SPDX-License-Identifier: MIT
/*
 * A runtime is found by its symbols when its module is announced, which is before it has run any
 * function. Its layout is proved again and again until the interpreter is so far.
 */
#include "collector/names/units.h"

#include "base/path.h"
#include "base/text.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum {
	GAP_NS = 1000000, // between two proofs, at first
	GAP_MOST_NS = 50000000,
	IDS_MOST = 256,
};

void units_init(struct units *u, struct segment *segment, struct modules *modules) {
	*u = (struct units){.segment = segment, .modules = modules, .n_seen = 1};
}

void units_finish(struct units *u) {
	vec_finish(&u->candidates);
	vec_finish(&u->codes);
	vec_finish(&u->waiting);
	arena_finish(&u->arena);
}

// ---- layouts

void units_meet(struct units *u, uint32_t id, const struct wire_module *module) {
	const struct module_file *file = &u->modules->files.items[id];
	struct stat st;
	struct elf_image image;
	struct unit_candidate c = {.gap_ns = GAP_NS};
	struct slice name = slice_of_text(path_base_name(file->path));
	bool may_be = module->path[0] == '\0' || starts_with(name, "libpython") ||
			is_called_after(name, "python");
	if (!may_be || !u->segment->has_runtimes || file->fd < 0 || fstat(file->fd, &st) != 0 ||
			st.st_size <= 0) {
		return;
	}
	void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file->fd, 0);
	if (bytes == MAP_FAILED) {
		return;
	}
	enum python_found found = elf_image_init(&image, slice_of(bytes, (size_t)st.st_size), NULL)
			? python_find(&image, module->bias, &c.layout)
			: PYTHON_ABSENT;
	(void)munmap(bytes, (size_t)st.st_size);
	if (found == PYTHON_UNKNOWN) {
		u->unknown_version = c.layout.version;
	} else if (found == PYTHON_FOUND) {
		c.layout.image = module->image;
		(void)vec_add(&u->candidates, c);
	}
}

static bool read_program(void *user, uint64_t address, void *out, size_t bytes) {
	const struct modules *m = user;
	struct iovec here = {out, bytes}, there = {(void *)(uintptr_t)address, bytes};
	return process_vm_readv(m->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static void put_in_force(struct units *u, const struct wire_layout *layout) {
	if (u->n_layouts < WIRE_N_LAYOUTS) {
		struct wire_layout *to = &u->segment->layouts[u->n_layouts++];
		memcpy(to, layout, sizeof *to);
		atomic_store_explicit(&to->is_in_force, 1, memory_order_release);
		atomic_fetch_add(&u->segment->header->runtime_generation, 1);
	}
}

/** The pointers of threads that have allocated. */
static size_t find_ids(const struct units *u, uint64_t ids[IDS_MOST]) {
	size_t n = 0;
	for (uint32_t i = 0; i < u->segment->n_slots && n < IDS_MOST && i < 4 * IDS_MOST; i++) {
		const struct thread_slot *slot = segment_slot(u->segment, i);
		if (atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_LIVE) {
			ids[n++] = slot->thread_area;
		} else if (i > 4 * n + 16) {
			break; // slots beyond were never used
		}
	}
	return n;
}

static void prove(struct units *u, uint64_t now_ns) {
	uint64_t ids[IDS_MOST];
	size_t kept = 0, n_ids = u->candidates.n > 0 ? find_ids(u, ids) : 0;
	for (size_t i = 0; i < u->candidates.n; i++) {
		struct unit_candidate *c = &u->candidates.items[i];
		if (now_ns >= c->next_ns) {
			u->why = python_prove(&c->layout, read_program, u->modules, ids, n_ids);
			c->next_ns = now_ns + c->gap_ns;
			c->gap_ns = c->gap_ns < GAP_MOST_NS ? c->gap_ns * 5 / 4 : GAP_MOST_NS;
			if (!u->why) {
				put_in_force(u, &c->layout);
				continue;
			}
		}
		u->candidates.items[kept++] = *c;
	}
	u->candidates.n = kept;
}

// ---- names

/** What the target says of a unit, checked and copied. NULL: it is not whole, or out of memory. */
static struct unit_code *code_of(struct units *u, struct namer *names, uint32_t id) {
	struct wire_unit unit;
	if (id == 0 || id >= WIRE_N_UNITS || !u->segment->has_runtimes ||
			atomic_load_explicit(&u->segment->units[id].is_whole, memory_order_acquire) == 0) {
		return NULL;
	}
	while (u->codes.n <= id) {
		if (!vec_push(&u->codes)) {
			return NULL;
		}
	}
	struct unit_code *code = &u->codes.items[id];
	memcpy(&unit, &u->segment->units[id], sizeof unit);
	if (code->is_read || unit.layout >= u->n_layouts || unit.excerpt_bytes > WIRE_EXCERPT_MAX ||
			unit.excerpt_at > WIRE_EXCERPTS_BYTES - unit.excerpt_bytes) {
		return code;
	}
	code->is_read = true;
	const void *excerpt = arena_copy(&u->arena, u->segment->excerpts + unit.excerpt_at,
			unit.excerpt_bytes, 1);
	if (excerpt &&
			python_decode(slice_of(excerpt, unit.excerpt_bytes),
					u->segment->layouts[unit.layout].version, &code->code, &u->arena)) {
		code->function = namer_text(names, code->code.name);
		code->file = namer_text(names, code->code.file);
	}
	return code;
}

/** False: it is not known yet. */
static bool name_location(struct units *u, struct tries *t, struct namer *names, uint32_t id) {
	struct rec_location *location = &t->locations[id];
	const struct unit_code *code = code_of(u, names, wire_where_unit(location->pc));
	if (code && code->function) {
		namer_put(names, location,
				(struct rec_frame){.function = code->function,
						.file = code->file,
						.line = python_line(&code->code, wire_where_position(location->pc))});
	}
	return code != NULL;
}

/** False: its module is not announced yet. */
static bool look_at(struct units *u, const struct tries *t, uint32_t id) {
	const struct rec_location *location = &t->locations[id];
	const struct wire_module *module = location->module ? tries_module(t, location->module) : NULL;
	if (module && module->kind != MODULE_FILE) {
		(void)vec_add(&u->waiting, id);
	}
	return location->module == 0 || module;
}

void units_step(struct units *u, struct tries *t, struct namer *names, uint64_t now_ns) {
	prove(u, now_ns);
	while (u->n_seen < t->n_locations && look_at(u, t, u->n_seen)) {
		u->n_seen++;
	}
	size_t kept = 0;
	EACH(id, u->waiting) {
		if (!name_location(u, t, names, *id)) {
			u->waiting.items[kept++] = *id;
		}
	}
	u->waiting.n = kept;
}
