// SPDX-License-Identifier: MIT
/*
 * A runtime is found by its symbols when its module is announced. If it has not begun, its layout
 * is in force from its first function on: the recorder compares each frame with the native ones,
 * and nothing else could prove it yet. Else it is tried repeatedly until the interpreter is ready;
 * V8's is proved by the first functions read with it.
 */
#include "collector/names/namer.h"

enum {
	GAP_NS = 2000000, // between two proofs
	V8_TO_PROVE = 64, // of that many units, or all if fewer
	V8_PROOFS_LEAST = 16,
	V8_TRIES = 64,         // rounds in which a unit is read at one place, ever more rarely,
	V8_TRIES_TO_PROVE = 8, // after which its answer is a proof, or none
};

void units_init(struct units *u, struct segment *segment, struct modules *modules,
		struct jit *jit) {
	*u = (struct units){.segment = segment,
			.modules = modules,
			.jit = jit,
			.v8.memory = {modules_read, modules},
			.n_seen = 1};
}

void units_finish(struct units *u) {
	CALL_FOR(vec_finish, u, names, unread, waiting, nim);
	index_finish(&u->by_code);
	arena_finish(&u->arena);
	v8_heap_finish(&u->v8);
}

// ---- layouts

static void meet_v8(struct units *u, const struct elf_image *image, uint64_t bias,
		uint32_t number) {
	struct err err = {0};
	struct v8_layout layout;
	struct wire_layout wire;
	if (u->v8_layout.major != 0 || !v8_layout_of_image(image, &layout, &err) ||
			!v8_layout_place(&layout, image, bias, &u->v8.memory, &wire, &err)) {
		u->v8_why = err.code != ERR_NOT_FOUND && u->v8_layout.major == 0 ? err : u->v8_why;
		return;
	}
	u->v8_layout = layout;
	u->v8.layout = &u->v8_layout;
	wire.image = number;
	segment_add_layout(u->segment, &wire);
	u->v8_row = u->segment->n_layouts - 1;
}

static bool is_v8(const char *path) {
	const struct slice name = slice_of_text(path_base_name(path));
	return starts_with(name, "libnode") || is_called_after(name, "node");
}

/** A program, or Python's library. */
static bool may_be_python(const char *path, const struct wire_module *module) {
	return module->path[0] == '\0' || !strstr(path, ".so") ||
			starts_with(slice_of_text(path_base_name(path)), "libpython");
}

void units_meet(struct units *u, int fd, const char *path, const struct wire_module *module) {
	struct elf_image image;
	struct wire_layout found;
	if ((!may_be_python(path, module) && !is_v8(path)) || !u->segment->has_runtimes || fd < 0) {
		return;
	}
	struct slice bytes = file_map(fd);
	bool is_image = elf_image_init(&image, bytes);
	uint64_t bias = is_image && image.type == ET_EXEC ? 0 : module->bias;
	if (is_image && is_v8(path)) {
		meet_v8(u, &image, bias, module->image);
	} else if (is_image && python_find(&image, bias, &found) &&
			(u->candidate.state != found.state || u->candidate.image != module->image)) {
		u->candidate = found;
		u->candidate.image = module->image;
		u->why = "it has not begun";
		u->next_ns = 0;
	}
	if (is_image && u->nim.n == 0) {
		nim_find_types(&image, bias, &u->arena, &u->nim);
	}
	file_unmap(bytes);
}

bool units_may_meet(int fd, const char *path, const struct wire_module *module) {
	struct elf_image image;
	struct wire_layout found;
	if (is_v8(path) || !may_be_python(path, module) || fd < 0) {
		return is_v8(path);
	}
	struct slice bytes = file_map(fd);
	bool ok = elf_image_init(&image, bytes) && python_find(&image, 0, &found);
	file_unmap(bytes);
	return ok;
}

static void prove(struct units *u, uint64_t now_ns) {
	if (!u->why || u->candidate.n_ranges == 0 || now_ns < u->next_ns ||
			u->segment->n_layouts == WIRE_N_LAYOUTS) {
		return;
	}
	u->next_ns = now_ns + GAP_NS;
	u->why = python_prove(&u->candidate, &u->v8.memory);
	if (!u->why || u->why == python_idle) {
		u->why = NULL;
		segment_add_layout(u->segment, &u->candidate);
	}
}

void units_expect(struct units *u, const struct smaps *maps, uint32_t image) {
	EACH(area, *maps) {
		const struct wire_module module = {.bias = area->start, .image = image, .path = "/"};
		bool may_be = area->kind == SMAPS_FILE && area->offset == 0 &&
				(strstr(area->name, "node") || strstr(area->name, "python"));
		const char *path = FORMAT(PATH_MAX, "/proc/%d/root%s", (int)u->modules->pid, area->name);
		CLOSED int fd = may_be ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
		units_meet(u, fd, area->name, &module);
	}
	prove(u, 0);
}

// ---- V8's functions

/** Each isolate may have a copy of the builtins' code, with the same first page. */
static void find_copies(struct units *u) {
	enum { PAGE_BYTES = 4096 };
	uint8_t original[PAGE_BYTES], copy[PAGE_BYTES];
	SCOPED(smaps) maps = {0};
	uint64_t builtins = u->v8_layout.builtins;
	bool ok = modules_read(u->modules, builtins, original, sizeof original) &&
			smaps_read(&maps, u->modules->pid, "maps");
	u->v8.copies.n = 0;
	EACH_THAT(a, maps,
			ok && a->is_executable && a->start != builtins &&
					modules_read(u->modules, a->start, copy, sizeof copy) &&
					memcmp(copy, original, sizeof copy) == 0) {
		(void)vec_add(&u->v8.copies, a->start);
	}
}

/** Copies of V8's own code have the original's names, which are a module's. */
static void put_in_image(struct units *u, const struct tries *t, struct rec_location *l) {
	enum { LOOKS_MOST = 16 };
	const struct v8_layout *v8 = &u->v8_layout;
	if (v8->major != 0 && u->v8.copies.n == 0 && u->n_looks++ < LOOKS_MOST) {
		find_copies(u);
	}
	const uint64_t *copy = FIND_IN(c, u->v8.copies, l->pc - *c <= v8->builtins_bytes);
	for (uint32_t id = 1; copy && l->module == 0 && id <= t->n_modules; id++) {
		const struct wire_module *m = tries_module(t, id);
		if (m && v8->builtins - m->start < m->end - m->start) {
			l->pc += v8->builtins - *copy;
			l->module = id;
		}
	}
}

static bool is_of_kind(const struct tries *t, const struct rec_location *l, uint16_t kind) {
	const struct wire_module *module = l->module ? tries_module(t, l->module) : NULL;
	return module && module->kind == kind;
}

/**
 * Few of the first functions are where the layout says. Frames stay native from now on, and earlier
 * ones get no names: they may be wrong.
 */
static void withdraw(struct units *u, const struct units *all, struct tries *t) {
	struct v8_layout *l = &u->v8_layout;
	atomic_store(&u->segment->layouts[u->v8_row].is_in_force, 0);
	atomic_fetch_add(&u->segment->header->runtime_generation, 1);
	(void)err_unsupported(&u->v8_why, "V8 %d.%d does not have its functions where %d.%d has them",
			l->major, l->minor, l->of_major, l->of_minor);
	l->major = 0; // nothing is read from here on
	EACH_OF(name, u->names.items, u->names.n) {
		name->v8.n = 0;
	}
	EACH_OF_THAT(at, t->locations, all->n_seen, is_of_kind(t, at, MODULE_V8)) {
		const uint32_t id = wire_where_unit(at->pc);
		const bool is_ours = all == u ||
				(id > 0 && id <= all->names.n && all->names.items[id - 1].of == u);
		at->n_frames = is_ours ? 0 : at->n_frames;
	}
}

/** The function alone, without a line, as read at another of its places. */
static void take_function(const struct units *u, const struct wire_unit *unit,
		struct unit_name *name) {
	struct wire_unit other;
	for (uint32_t id = 1; unit->identity[0] && name->v8.n == 0 && id <= u->names.n; id++) {
		const struct v8_unit *known = &u->names.items[id - 1].v8;
		if (known->n > 0 && segment_unit(u->segment, id, &other) && other.kind == MODULE_V8 &&
				other.thread == unit->thread && other.identity[0] == unit->identity[0]) {
			name->v8.frames = &known->frames[known->n - 1]; // the others are inlined into it there
			name->v8.n = 1;
			name->v8.is_vague = true;
		}
	}
}

/** Read it where the recorder just saw it. */
static void read_v8(struct units *u, const struct wire_unit *unit, struct unit_name *name) {
	bool has_moved = name->object != unit->object;
	if (u->v8_layout.major == 0 || (!has_moved && name->n_tries == V8_TRIES)) {
		return;
	}
	name->n_tries = has_moved ? 0 : name->n_tries + 1;
	name->object = unit->object;
	bool is_last = u->is_last || name->n_tries == V8_TRIES;
	if ((name->n_tries & (name->n_tries - 1)) != 0 && !is_last) {
		return;
	}
	if (u->v8_thread != unit->thread) {
		u->v8_thread = unit->thread;
		find_copies(u);
	}
	struct v8_unit found;
	bool is_there = v8_unit_read(&u->v8, unit, &u->arena, &found);
	name->v8 = is_there ? found : name->v8;
	if (is_last && !is_there) {
		take_function(u, unit, name);
	}
	name->is_read = is_last ? is_there || name->v8.n > 0 : is_there && !found.is_vague;
	bool counts = name->is_read || name->n_tries == V8_TRIES_TO_PROVE;
	u->n_met += counts;
	u->n_proofs += counts && is_there && found.is_proof;
}

// ---- names

/** What the target says of a Python function, checked and copied. */
static bool decode_python(const struct segment *s, const struct wire_unit *unit,
		struct python_code *out, struct arena *arena) {
	if (unit->layout >= WIRE_N_LAYOUTS || unit->excerpt_bytes > WIRE_EXCERPT_MAX ||
			unit->excerpt_at > WIRE_EXCERPTS_BYTES - unit->excerpt_bytes) {
		return false;
	}
	const void *excerpt = arena_copy(arena, s->excerpts + unit->excerpt_at, unit->excerpt_bytes, 1);
	return python_decode(slice_of(excerpt, unit->excerpt_bytes), &s->layouts[unit->layout], out,
			arena);
}

static void read_python(struct units *u, const struct wire_unit *unit, struct unit_name *name) {
	struct python_code code;
	name->is_read = true;
	if (u->jit && decode_python(u->segment, unit, &code, &u->arena)) {
		name->python = code;
	}
}

static bool is_same_code(const struct python_code *a, const struct python_code *b) {
	return slice_equal(a->name, b->name) && slice_equal(a->file, b->file) &&
			slice_equal(a->line_table, b->line_table) && a->first_line == b->first_line;
}

uint32_t units_share(struct units *u, struct units *of, const struct segment *s, uint32_t id) {
	SCOPED(arena) scratch = {0};
	struct wire_unit unit;
	struct python_code code;
	const uint32_t next = (uint32_t)u->names.n;
	bool has_room = next + 1 < WIRE_N_UNITS, is_there = segment_unit(s, id, &unit);
	if (is_there && unit.kind == MODULE_V8 && of && has_room) {
		(void)vec_add(&u->names, (struct unit_name){.of = of, .id = id});
		return next + 1;
	}
	if (!is_there || unit.kind != MODULE_PYTHON || !decode_python(s, &unit, &code, &scratch)) {
		return 0;
	}
	const uint32_t hash = (uint32_t)slice_hash(slice_hash(SLICE_HASH, code.name), code.line_table);
	const uint32_t at = has_room
			? INDEX_FIND_OR_ADD(&u->by_code, hash, i,
					  is_same_code(&u->names.items[i].python, &code), next)
			: INDEX_FIND(&u->by_code, hash, i, is_same_code(&u->names.items[i].python, &code));
	if (at == next) {
		struct unit_name *name = vec_push(&u->names);
		name->is_read = true;
		(void)decode_python(s, &unit, &name->python, &u->arena);
	}
	return at == INDEX_NONE ? 0 : at + 1;
}

/** False: read it again later. */
static bool read_unit(struct units *u, uint32_t id) {
	struct unit_name *name = &u->names.items[id - 1];
	struct wire_unit unit;
	if (segment_unit(u->segment, id, &unit)) {
		(unit.kind == MODULE_V8 ? read_v8 : read_python)(u, &unit, name);
	}
	return name->is_read;
}

/** Read what may have moved, and what the recorder met since. */
static void read_units(struct units *u) {
	uint32_t n = u->segment->has_runtimes ? atomic_load(&u->segment->header->n_units) : 0;
	while (u->names.n < n && u->names.n + 1 < WIRE_N_UNITS) {
		(void)vec_push(&u->names);
		(void)vec_add(&u->unread, (uint32_t)u->names.n);
	}
	vec_keep(&u->unread, 0, id, !read_unit(u, *id));
	if (n > 0 && atomic_exchange(&u->segment->header->n_units_read, n) != n) {
		futex_wake(&u->segment->header->n_units_read, INT32_MAX);
	}
}

/** V8's own functions have no file, and eval's code has only lines. */
static struct rec_frame v8_frame(const struct units *u, const struct v8_unit *unit, uint32_t i,
		uint32_t position, struct namer *names) {
	const struct v8_named *f = &unit->frames[i];
	struct slice file = f->file.size ? f->file : slice_of_text(f->script < 0 ? "<V8>" : "<eval>");
	(void)take_prefix(&file, "file://");
	return (struct rec_frame){.file = namer_text(names, file),
			.function = namer_text(names,
					f->function.size          ? f->function
							: f->is_top_level ? slice_of_text("(top level)")
											  : slice_of_text("(anonymous)")),
			.line = unit->is_vague         ? 0
					: unit->positions.size ? v8_unit_line(&u->v8, unit, position)
										   : f->line};
}

/** False: not yet known. */
static bool name_location(const struct units *u, struct rec_location *l, struct namer *names) {
	uint32_t id = wire_where_unit(l->pc), position = wire_where_position(l->pc);
	const struct unit_name *name = id > 0 && id <= u->names.n ? &u->names.items[id - 1] : NULL;
	if (name && name->of) {
		u = name->of;
		name = name->id <= u->names.n ? &u->names.items[name->id - 1] : NULL;
	}
	if (!name || !name->is_read) {
		return id == 0;
	}
	if (name->python.name.size) {
		namer_put(names, l,
				(struct rec_frame){.function = namer_text(names, name->python.name),
						.file = namer_text(names, name->python.file),
						.line = python_line(&name->python, position)});
	}
	for (uint32_t i = 0; i < name->v8.n; i++) {
		namer_put(names, l, v8_frame(u, &name->v8, i, position, names));
	}
	return true;
}

/** Tell the waiting program that its runtime was looked at, whatever came of it. */
static void answer(struct units *u) {
	struct segment_header *h = u->segment->header;
	uint32_t awaited = atomic_load(&h->module_awaited);
	if (awaited != 0 && awaited < u->modules->files.n) {
		atomic_store(&h->module_awaited, 0);
		futex_wake(&h->module_awaited, INT32_MAX);
	}
}

/** Name it, or pass it on. False: its module is not announced yet. */
static bool take_location(struct units *u, struct tries *t, uint32_t id, struct namer *names,
		uint64_t now_ns) {
	struct rec_location *l = &t->locations[id];
	if (l->is_mark || (l->module && !tries_module(t, l->module))) {
		return l->is_mark;
	}
	if (l->module == 0) {
		put_in_image(u, t, l);
	}
	if (l->module == 0) {
		jit_add(u->jit, l, id);
	} else if (is_of_kind(t, l, MODULE_FILE)) {
		namer_add(names, l, id, now_ns);
	} else if (!is_of_kind(t, l, MODULE_GENERATED) && !name_location(u, l, names)) {
		(void)vec_add(&u->waiting, id);
	}
	return true;
}

void units_read(struct units *u, const struct units *all, struct tries *t, uint64_t now_ns) {
	prove(u, now_ns);
	bool is_judged = u->n_met >= V8_TO_PROVE;
	read_units(u);
	if (!is_judged && u->n_met >= V8_TO_PROVE && u->n_proofs < V8_PROOFS_LEAST) {
		withdraw(u, all, t);
	}
}

void units_step(struct units *u, struct tries *t, struct namer *names, uint64_t now_ns) {
	if (!u->is_of_tree) {
		units_read(u, u, t, now_ns);
		answer(u);
	}
	vec_keep(&u->waiting, 0, id, !name_location(u, &t->locations[*id], names));
	while (u->n_seen < t->n_locations && take_location(u, t, u->n_seen, names, now_ns)) {
		u->n_seen++;
	}
}
