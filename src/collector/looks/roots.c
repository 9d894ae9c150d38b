// SPDX-License-Identifier: MIT
/*
 * Names for memory that holds blocks: variables by the symbols of their modules, threads by what
 * the kernel calls them, mappings by their line in smaps; and for classes. It is done in the child
 * that reads the graph: a file that breaks symbols costs no recording, and their memory goes with
 * it.
 */
#include "collector/looks/looks.h"
#include "sys/sys.h"

/** One that was on no call stack. 0: it is none. */
static uint32_t add_module(struct root_names *n, const struct smaps_area *first) {
	struct wire_module *m = calloc(1, sizeof *m); // stays, as long as this process does
	const uint32_t id = n->modules->records.n > 0 ? (uint32_t)n->modules->records.n : 1;
	if (!m || !view_module(n->memory, first, &m->bias, &m->end)) {
		free(m);
		return 0;
	}
	m->start = first->start;
	(void)snprintf(m->path, sizeof m->path, "%s", first->name);
	return modules_add(n->modules, id, m) ? id : 0;
}

/** The record of the module that an area is of, for the bias of its addresses. 0: none is known. */
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

static bool find_variable(struct root_names *n, uint32_t area, uint64_t at,
		struct symbols_variable *out) {
	if (n->area != area) {
		n->area = area;
		n->module = module_of(n, area, at);
		n->lent = n->module ? modules_lend(n->modules, n->module) : (struct symbols_module){0};
	}
	return n->module && n->symbols &&
			symbols_variable(n->symbols, &n->lent, at - n->modules->records.items[n->module].bias,
					out);
}

uint64_t root_names_variable(void *user, uint32_t area, uint64_t at) {
	struct root_names *n = user;
	struct symbols_variable v;
	return find_variable(n, area, at, &v) ? v.start + n->modules->records.items[n->module].bias : 0;
}

// ---- classes, by the tables of functions that their objects begin with

/** What a demangler says of a symbol, behind what it begins with. NULL: not that. */
static const char *behind(const char *symbol, const char *first, struct arena *arena) {
	const char *text = symbols_for_people(symbol, arena);
	return text && strncmp(text, first, strlen(first)) == 0 ? text + strlen(first) : NULL;
}

/** The table's head: how far inside of its object it is pointed to, and the type's address. */
static bool read_head(const struct root_names *n, uint64_t table, uint64_t head[static 2]) {
	return pread(n->memory, head, 16, (off_t)(table - 16)) == 16 && head[0] == 0;
}

/** Itanium C++ ABI, 2.9.5: a type begins with a table of its own class, and points to its name. */
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

/** A type's table is one of these, which a program without symbols has as well. */
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
	const size_t area = sorted_first_of(n->areas->items, n->areas->n, sizeof *n->areas->items,
			word + 1);
	if (area == 0 || !read_head(n, word, head)) {
		return 0;
	}
	const char *name = find_variable(n, (uint32_t)area - 1, word, &v)
			? behind(v.symbol, "vtable for ", &arena)
			: class_by_type(n, head[1], &arena);
	return texts_id_of(&n->classes, name);
}

// ---- texts of an answer, each behind a zero byte

/** Of the thread that a root is of; "" if it has none. */
static const char *thread_of(const struct root_names *n, const struct graph_root *r,
		char room[static 64]) {
	bool is_known = r->thread > 0 &&
			process_thread_name(n->pid, (pid_t)n->threads[r->thread - 1].tid, room, 64);
	return is_known ? room : "";
}

/** Begin the next text. */
static uint32_t place_of(struct buffer *texts) {
	buffer_u8(texts, 0);
	return (uint32_t)texts->size;
}

/** What its symbol says, if that tells scopes, else what debug data does. */
static void put_variable(struct root_names *n, const struct symbols_variable *v, const char *area,
		struct rec_holder *row, struct buffer *out) {
	SCOPED(arena) arena = {0};
	struct symbols_frame declared;
	const char *name = symbols_for_people(v->symbol, &arena);
	out->failed |= !name || !symbols_declared(n->symbols, &n->lent, v->start, &declared, &arena);
	if (!out->failed) {
		bool is_plain = declared.function && strcmp(name, v->symbol) == 0;
		buffer_printf(out, "%s of %s", is_plain ? declared.function : name, area);
	}
	if (!out->failed && declared.file && row) {
		row->file = place_of(out);
		row->line = declared.line;
		buffer_text(out, declared.file);
	}
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
	case REC_HOLDER_STACK: buffer_printf(out, "stack of thread %s", thread_of(n, r, room)); break;
	case REC_HOLDER_DISGUISE: buffer_text(out, "pointers in disguise"); break;
	case REC_HOLDER_SEVERAL: buffer_text(out, "several roots"); break;
	case REC_HOLDER_REST: buffer_text(out, "others"); break;
	default: buffer_printf(out, *area ? "mapped memory %s" : "mapped memory", area);
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
		for (unsigned i = 0; holder->row.kind == REC_HOLDER_SEVERAL && i < graph->n_sharers; i++) {
			buffer_text(texts,
					i == 0                             ? ", most of it by "
							: i + 1 < graph->n_sharers ? ", "
													   : " and ");
			put_label(n, &graph->sharers[i], NULL, texts);
		}
	}
	EACH(class, graph->classes) {
		const struct slice name = n->classes.items[class->name];
		class->name = place_of(texts);
		buffer_slice(texts, name);
	}
}
