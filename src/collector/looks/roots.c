// SPDX-License-Identifier: MIT
/*
 * Names what holds blocks: variables by their module's symbols, threads by the kernel's names,
 * mappings by their line in smaps; and names classes. It runs in the child that reads the graph: a
 * file that breaks symbols costs no recording, and their memory goes with the child.
 */
#include "collector/looks/looks.h"

/** Add a module that was on no call stack. 0: it is none. */
static uint32_t add_module(struct root_names *n, const struct smaps_area *first) {
	struct wire_module *m = arena_new(&n->arena, struct wire_module, 1);
	const uint32_t id = n->modules->records.n > 0 ? (uint32_t)n->modules->records.n : 1;
	if (!view_module(n->memory, first, &m->bias, &m->end)) {
		return 0;
	}
	m->start = first->start;
	(void)snprintf(m->path, sizeof m->path, "%s", first->name);
	modules_add(n->modules, id, m);
	return id;
}

/** The record of an area's module, for the bias of its addresses. 0: none. */
static uint32_t module_of(struct root_names *n, uint32_t area, uint64_t at) {
	const struct smaps_area *all = n->areas->items, *first = &all[area];
	uint64_t best = 0;
	uint32_t id = 0;
	for (size_t i = area; i-- > 0 && all[i].end == all[i + 1].start;) {
		first = strcmp(all[i].name, all[area].name) == 0 ? &all[i] : first;
	}
	for (uint32_t i = 1; i < n->modules->records.n; i++) {
		const struct rec_module *m = &n->modules->records.items[i];
		if (m->kind == MODULE_FILE && m->start >= first->start && m->start <= at &&
				m->start > best) {
			best = m->start;
			id = i;
		}
	}
	return id ?: add_module(n, first);
}

/** Borrow its module; `at` becomes an address in the file. False: unknown. */
static bool lend(struct root_names *n, uint32_t area, uint64_t *at) {
	if (n->area != area) {
		n->area = area;
		n->module = module_of(n, area, *at);
		n->lent = n->module ? modules_lend(n->modules, n->module) : (struct symbols_module){0};
	}
	*at -= n->module ? n->modules->records.items[n->module].bias : 0;
	return n->module && n->symbols;
}

static bool find_variable(struct root_names *n, uint32_t area, uint64_t at,
		struct symbols_variable *out) {
	return lend(n, area, &at) && symbols_variable(n->symbols, &n->lent, at, out);
}

bool root_names_read(void *user, uint64_t at, void *out, size_t bytes) {
	const struct root_names *n = user;
	return pread(n->memory, out, bytes, (off_t)at) == (ssize_t)bytes;
}

uint64_t root_names_variable(void *user, uint32_t area, uint64_t at) {
	struct root_names *n = user;
	struct symbols_variable v;
	return find_variable(n, area, at, &v) ? v.start + n->modules->records.items[n->module].bias : 0;
}

// ---- classes, by the vtables that their objects begin with

/** A demangled symbol without its prefix `first`. NULL: it has another. */
static const char *behind(const char *symbol, const char *first, struct arena *arena) {
	const char *text = symbols_for_people(symbol, arena);
	return strncmp(text, first, strlen(first)) == 0 ? text + strlen(first) : NULL;
}

/** The vtable's head: the offset to the object's top, and the type's address. */
static bool read_head(const struct root_names *n, uint64_t table, uint64_t head[static 2]) {
	return pread(n->memory, head, 16, (off_t)(table - 16)) == 16 && head[0] == 0;
}

/** Itanium C++ ABI, 2.9.5: a type begins with its own class's vtable, and points to its name. */
static bool read_type_name(const struct root_names *n, uint64_t type, uint64_t *table,
		char name[static 1024]) {
	uint64_t words[2];
	ssize_t got = -1;
	if (type % 8 == 0 && pread(n->memory, words, 16, (off_t)type) == 16) {
		got = pread(n->memory, name, 1023, (off_t)words[1]);
		name[got > 0 ? got : 0] = '\0';
		*table = words[0];
	}
	return got > 0 && memchr(name, '\0', (size_t)got);
}

/** A type's vtable is one of these, which a program without symbols has, too. */
static const char *class_by_type(const struct root_names *n, uint64_t type, struct arena *arena) {
	char name[1024], of[1024], symbol[1024 + 4];
	uint64_t table, head[2], none;
	bool is_type = read_type_name(n, type, &table, name) && read_head(n, table, head) &&
			read_type_name(n, head[1], &none, of) && strncmp(of, "N10__cxxabiv1", 13) == 0;
	(void)snprintf(symbol, sizeof symbol, "_ZTS%s", name + (is_type && name[0] == '*'));
	return is_type ? behind(symbol, "typeinfo name for ", arena) : NULL;
}

uint32_t root_names_class(void *user, uint64_t word) {
	struct root_names *n = user;
	SCOPED(arena) arena = {0};
	struct symbols_variable v;
	uint64_t head[2];
	const struct smaps_area *area = smaps_at(n->areas, word);
	if (!area || !read_head(n, word, head)) {
		return 0;
	}
	const char *name = find_variable(n, (uint32_t)(area - n->areas->items), word, &v)
			? behind(v.symbol, "vtable for ", &arena)
			: class_by_type(n, head[1], &arena);
	return texts_id_of(&n->classes, name);
}

// ---- frames
//
// A word on a stack belongs to its frame, unless a function saved a register there for its callers:
// then to the outermost of them that had that value, as the register did.

/** For frames from `first` on; the owner of what follows them is unknown. */
static void put_owners(struct root_names *n, size_t first, size_t thread,
		const struct graph_thread *t) {
	uint64_t owners[SYMBOLS_REGISTERS] = {0};
	for (size_t i = n->frames.n; i-- > first;) {
		const struct symbols_caller *c = &n->frames.items[i].caller;
		const uint64_t *own = i > first ? n->frames.items[i - 1].caller.registers : t->words;
		for (size_t k = 0; k < SYMBOLS_REGISTERS; k++) {
			if (c->saved_at[k]) {
				(void)map_put(&n->saved, c->saved_at[k], 1 + owners[k]);
			}
			owners[k] = own[k] == c->registers[k] ? owners[k] : i + 1;
		}
	}
	for (size_t k = 0; k < SYMBOLS_REGISTERS; k++) {
		(void)map_put(&n->saved, GRAPH_AT_WORD(thread, k), 1 + owners[k]);
	}
}

void root_names_find_frames(struct root_names *n, size_t thread, const struct graph_thread *t) {
	enum { SP = 7, MOST = 1000 };
	struct stack_frame f = {.start = t->sp};
	const size_t first = n->frames.n;
	const struct smaps_area *stack = smaps_at(n->areas, t->words[SP]), *code;
	memcpy(f.caller.registers, t->words, sizeof f.caller.registers);
	while (stack && n->frames.n < first + MOST &&
			(code = smaps_at(n->areas, f.caller.registers[SYMBOLS_PC]))) {
		uint64_t pc = f.pc = f.caller.registers[SYMBOLS_PC] - (n->frames.n > first);
		f.area = (uint32_t)(code - n->areas->items);
		if (!lend(n, f.area, &pc) ||
				!symbols_find_caller(n->symbols, &n->lent, pc, root_names_read, n, &f.caller) ||
				f.caller.called_end <= f.start || f.caller.called_end > stack->end) {
			break;
		}
		f.caller.called += f.pc - pc;
		(void)vec_add(&n->frames, f);
		f.start = f.caller.called_end;
	}
	for (size_t i = first; i < n->frames.n; i++) {
		size_t k = n->frames.n - 1;
		while (n->frames.items[k].caller.called != n->frames.items[i].caller.called) {
			k--;
		}
		n->frames.items[i].outermost = (uint32_t)k + 1;
	}
	put_owners(n, first, thread, t);
}

static void name_frame(struct root_names *n, struct stack_frame *f, struct symbols_frame *out) {
	struct symbols_wanted wanted = {.address = f->pc, .is_exact = true};
	struct symbols_answer answer = {0};
	struct symbols_facts facts;
	f->is_asked = true;
	if (lend(n, f->area, &wanted.address)) {
		symbols_resolve(n->symbols, &n->lent, &wanted, 1, &answer, &facts, &n->arena);
	}
	if (answer.n_frames > 0) {
		const struct symbols_frame *its = &answer.frames[answer.n_frames - 1];
		bool is_other = out->function && its->line != out->line;
		*out = is_other ? (struct symbols_frame){.function = its->function} : *its;
	}
}

uint32_t root_names_frame(void *user, uint64_t at) {
	struct root_names *n = user;
	struct stack_frame *all = n->frames.items;
	const uint64_t saved = map_get(&n->saved, at);
	const size_t i = saved ? saved - 1 : 1 + sorted_first_of(all, n->frames.n, sizeof *all, at + 1);
	if (i == 0 || i > n->frames.n || (!saved && at < all[i - 1].start)) {
		return 0;
	}
	struct stack_frame *f = &all[i - 1];
	struct symbols_frame *named = &all[f->outermost - 1].named;
	if (!f->is_asked) {
		name_frame(n, f, named);
	}
	return named->function ? f->outermost : 0;
}

// ---- texts of an answer, each after a zero byte

/** A root's thread, which may have ended while its copy was searched. */
static const char *thread_of(const struct root_names *n, const struct graph_root *r,
		char room[static 64]) {
	char name[32];
	bool is_known = r->thread > 0 &&
			process_thread_name(n->pid, (pid_t)n->threads[r->thread - 1].tid, name, sizeof name);
	(void)snprintf(room, 64, is_known ? "thread %s" : "a thread that has ended", name);
	return room;
}

static uint32_t place_of(struct buffer *texts) {
	buffer_u8(texts, 0);
	return (uint32_t)texts->size;
}

static void put_place(const struct symbols_frame *f, struct rec_holder *row, struct buffer *out) {
	if (f->file && row) {
		row->file = place_of(out);
		row->line = f->line;
		buffer_text(out, f->file);
	}
}

/** By its symbol, if that tells scopes, else by debug data. */
static void put_variable(struct root_names *n, const struct symbols_variable *v, const char *area,
		struct rec_holder *row, struct buffer *out) {
	SCOPED(arena) arena = {0};
	struct symbols_frame declared;
	const char *name = symbols_for_people(v->symbol, &arena);
	symbols_declared(n->symbols, &n->lent, v->start, &declared, &arena);
	bool is_plain = declared.function && strcmp(name, v->symbol) == 0;
	buffer_printf(out, "%s of %s", is_plain ? declared.function : name, area);
	put_place(&declared, row, out);
}

/** `row`: what is to have the place; or NULL. */
static void put_label(struct root_names *n, const struct graph_root *r, struct rec_holder *row,
		struct buffer *out) {
	struct symbols_variable v;
	char room[64];
	const char *area = path_base_name(n->areas->items[r->area].name);
	switch (r->kind) {
	case REC_HOLDER_GLOBAL:
		if (find_variable(n, r->area, r->at, &v)) {
			put_variable(n, &v, area, row, out);
		} else {
			buffer_printf(out, "data of %s", area);
		}
		break;
	case REC_HOLDER_THREAD_LOCAL:
		buffer_printf(out, "thread-local memory of %s", thread_of(n, r, room));
		break;
	case REC_HOLDER_STACK:
		if (r->frame) {
			const struct symbols_frame *f = &n->frames.items[r->frame - 1].named;
			buffer_printf(out, "frame of %s in %s", f->function, thread_of(n, r, room));
			put_place(f, row, out);
		} else {
			buffer_printf(out, "stack of %s", thread_of(n, r, room));
		}
		break;
	case REC_HOLDER_DISGUISE: buffer_text(out, "pointers in disguise"); break;
	case REC_HOLDER_SEVERAL: buffer_text(out, "several roots"); break;
	case REC_HOLDER_REST: buffer_text(out, "others"); break;
	default: buffer_printf(out, *area ? "mapped memory %s" : "mapped memory", area);
	}
}

/** The roots that lead to most of what several hold; equal names are listed once. */
static void put_sharers(struct root_names *n, const struct graph *graph, struct buffer *out) {
	SCOPED(texts) names = {0};
	for (unsigned i = 0; i < graph->n_sharers; i++) {
		SCOPED(buffer) label = {0};
		put_label(n, &graph->sharers[i], NULL, &label);
		(void)texts_id(&names, buffer_view(&label));
	}
	for (size_t i = 1; i < names.n; i++) {
		buffer_text(out, i == 1 ? ", most of it by " : i + 1 < names.n ? ", " : " and ");
		buffer_slice(out, names.items[i]);
	}
}

void root_names_put(struct root_names *n, struct graph *graph, struct buffer *texts) {
	EACH(holder, graph->holders) {
		if (holder->row.kind == REC_HOLDER_BLOCKS) {
			continue;
		}
		holder->root.kind = holder->row.kind;
		holder->row.name = place_of(texts);
		put_label(n, &holder->root, &holder->row, texts);
		if (holder->row.kind == REC_HOLDER_SEVERAL) {
			put_sharers(n, graph, texts);
		}
	}
	EACH(class, graph->classes) {
		const struct slice name = n->classes.items[class->name];
		class->name = place_of(texts);
		buffer_slice(texts, name);
	}
}
