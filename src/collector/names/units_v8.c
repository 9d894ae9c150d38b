// SPDX-License-Identifier: MIT
/*
 * V8's functions. Objects are read where the recorder has just seen them; what was read of a unit
 * is kept, since they move and die later.
 */
#include "base/text.h"
#include "collector/names/namer.h"
#include "sys/smaps.h"

enum {
	UNITS_TO_PROVE = 64, // of so many, or all before
	PROOFS_LEAST = 16,
	TRIES = 8, // to read a unit at one place
};

void units_v8_finish(struct units_v8 *v) {
	vec_finish(&v->read);
	vec_finish(&v->moving);
	v8_heap_finish(&v->heap);
}

void units_v8_meet(struct units *u, const struct elf_image *image,
		const struct wire_module *module) {
	struct units_v8 *v = &u->v8;
	struct err err = {0};
	struct v8_layout layout;
	if (v->layout.major != 0 || !v8_layout_of_image(image, &layout, &err)) {
		v->why = err.code != ERR_NOT_FOUND && v->layout.major == 0 ? err : v->why;
		return;
	}
	v->layout = layout;
	v->heap.layout = &v->layout;
	v->heap.memory = (struct v8_memory){modules_read, u->modules};
	v8_layout_place(&v->layout, module->bias, &v->heap.memory);
	struct wire_layout wire = {.image = module->image};
	v8_layout_wire(&v->layout, &wire);
	v->row = u->segment->n_layouts;
	segment_add_layout(u->segment, &wire);
}

// ---- names

/** Each isolate may have a copy of the builtins' code: it begins with the same page. */
static void find_copies(struct units *u) {
	enum { PAGE_BYTES = 4096 };
	struct v8_heap *h = &u->v8.heap;
	uint8_t original[PAGE_BYTES], copy[PAGE_BYTES];
	struct smaps maps = {0};
	h->steps = V8_STEPS;
	bool ok = v8_bytes(h, u->v8.layout.builtins, original, sizeof original) &&
			smaps_read_maps(&maps, u->modules->pid);
	h->copies.n = 0;
	for (size_t i = 0; ok && i < maps.n; i++) {
		const struct smaps_area *a = &maps.items[i];
		if (a->is_executable && a->start != u->v8.layout.builtins &&
				v8_bytes(h, a->start, copy, sizeof copy) &&
				memcmp(copy, original, sizeof copy) == 0) {
			(void)vec_add(&h->copies, a->start);
		}
	}
	smaps_finish(&maps);
}

/** Of the first functions hardly one is where the layout says. Frames stay native from now on. */
static void withdraw(struct units *u) {
	const struct v8_layout *l = &u->v8.layout;
	atomic_store(&u->segment->layouts[u->v8.row].is_in_force, 0);
	atomic_fetch_add(&u->segment->header->runtime_generation, 1);
	(void)err_set(&u->v8.why, ERR_UNSUPPORTED,
			"V8 %d.%d does not have its functions where %d.%d has them", l->major, l->minor,
			l->of_major, l->of_minor);
}

/** True: there is nothing left to try. */
static bool read_unit(struct units *u, uint32_t id) {
	struct units_v8 *v = &u->v8;
	struct unit_read *r = &v->read.items[id - 1];
	struct wire_unit unit;
	struct v8_unit read;
	if (!segment_unit(u->segment, id, &unit) || unit.kind != MODULE_V8 || v->layout.major == 0) {
		return true;
	}
	if (unit.object == r->object && r->n_tries == TRIES) {
		return false; // unless it moves
	}
	r->n_tries = unit.object == r->object ? r->n_tries + 1 : 0;
	r->object = unit.object;
	if (v->thread != unit.thread) {
		v->thread = unit.thread;
		find_copies(u);
	}
	if (v8_unit_read(&v->heap, &unit, &u->arena, &read)) {
		r->unit = arena_copy(&u->arena, &read, 1, sizeof read);
		v->n_proofs += read.is_proof;
		return true;
	}
	return false;
}

/** Read what the recorder has just met, and what has moved since. */
void units_v8_step(struct units *u) {
	struct units_v8 *v = &u->v8;
	struct wire_unit unit;
	for (uint32_t id;
			segment_unit(u->segment, id = (uint32_t)v->read.n + 1, &unit) && vec_push(&v->read);) {
		if (!read_unit(u, id)) {
			(void)vec_add(&v->moving, id);
		}
		v->n_met += unit.kind == MODULE_V8;
		if (unit.kind == MODULE_V8 && v->n_met == UNITS_TO_PROVE && v->n_proofs < PROOFS_LEAST) {
			withdraw(u);
		}
	}
	size_t kept = 0;
	for (size_t i = 0; i < v->moving.n; i++) {
		if (!read_unit(u, v->moving.items[i])) {
			v->moving.items[kept++] = v->moving.items[i];
		}
	}
	v->moving.n = kept;
}

/** V8's own functions have none, and eval's code has only lines. */
static uint32_t text_of_file(struct namer *names, const struct v8_named *f) {
	struct slice file = f->file.size ? f->file : slice_of_text(f->script < 0 ? "<V8>" : "<eval>");
	(void)take_prefix(&file, "file://");
	return namer_text(names, file);
}

static uint32_t text_of_function(struct namer *names, const struct v8_named *f) {
	return namer_text(names,
			f->function.size          ? f->function
					: f->is_top_level ? slice_of_text("(top level)")
									  : slice_of_text("(anonymous)"));
}

bool units_v8_name(struct units *u, struct rec_location *location, struct namer *names) {
	struct rec_frame frames[V8_MAX_FRAMES];
	uint32_t id = wire_where_unit(location->pc);
	if (id == 0 || id > u->v8.read.n) {
		return id == 0;
	}
	const struct v8_unit *read = u->v8.read.items[id - 1].unit;
	for (uint32_t i = 0; read && i < read->n; i++) {
		const struct v8_named *f = &read->frames[i];
		frames[i] = (struct rec_frame){.function = text_of_function(names, f),
				.file = text_of_file(names, f),
				.line = read->positions.size
						? v8_unit_line(&u->v8.heap, read, wire_where_position(location->pc))
						: f->line};
	}
	if (read && read->n) {
		namer_put(names, location, frames, read->n);
	}
	return read != NULL;
}
