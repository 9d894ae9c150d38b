// SPDX-License-Identifier: MIT
/* Sums up the parts of a look, and what each maker, module and file has of them. */
#include "engine/memory.h"

#include "engine/parts.h"
#include "wire/event.h"

enum { LEAST_OF_GROUP = 100, PAGE_CACHE = 1, MOST_NOTABLE = 64 };

const struct memory_part_text memory_part_texts[REC_PARTS] = {
		[REC_PART_HEAP_LIVE] = {"heap_live", "live blocks"},
		[REC_PART_HEAP_ROUNDING] = {"heap_rounding", "rounded up by malloc"},
		[REC_PART_HEAP_PARTLY_FREE] = {"heap_partly_free", "free between live blocks"},
		[REC_PART_HEAP_FREE] = {"heap_free", "free, kept by malloc"},
		[REC_PART_ALLOCATOR_TABLES] = {"allocator_tables", "malloc's own tables"},
		[REC_PART_MAPPED] = {"mapped", "mapped"},
		[REC_PART_STACKS] = {"stacks", "stacks"},
		[REC_PART_MODULES_WRITTEN] = {"modules_written", "data of modules"},
		[REC_PART_FILES] = {"files", "code and files"},
		[REC_PART_SHARED] = {"shared", "shared memory"},
		[REC_PART_OURS] = {"ours", "heaptrack itself"},
		[REC_PART_UNKNOWN] = {"unknown", "owner not known"},
		[REC_PART_HEAP] = {"heap", "heap, live and free not told apart"},
};

const struct memory_part_text memory_change_texts[WIRE_CHANGES] = {
		[WIRE_CHANGE_GIVES_BACK] = {"given-back", "given back"},
		[WIRE_CHANGE_FREES] = {"given-back-lazily", "given back by MADV_FREE"},
		[WIRE_CHANGE_LOCKS] = {"locked", "locked"},
		[WIRE_CHANGE_UNLOCKS] = {"unlocked", "unlocked"},
		[WIRE_CHANGE_CREATES] = {"memfd-created", "files of memory (memfd_create)"},
		[WIRE_CHANGE_NAMES] = {"named", "named by prctl(PR_SET_VMA)"},
};

const char *const memory_holder_ids[REC_HOLDER_KINDS] = {
		[REC_HOLDER_GLOBAL] = "global",
		[REC_HOLDER_THREAD_LOCAL] = "thread_local",
		[REC_HOLDER_MAPPING] = "mapping",
		[REC_HOLDER_STACK] = "stack",
		[REC_HOLDER_DISGUISE] = "disguise",
		[REC_HOLDER_SEVERAL] = "several",
		[REC_HOLDER_BLOCKS] = "blocks",
		[REC_HOLDER_REST] = "rest",
};

const char *const memory_at_ids[REC_ATS] = {
		[REC_AT_END] = "end",
		[REC_AT_RSS_PEAK] = "rss-peak",
		[REC_AT_DETACH] = "detach",
		[REC_AT_REQUEST] = "request",
		[REC_AT_TIMER] = "timer",
		[REC_AT_TRIGGER] = "trigger",
		[REC_AT_SIZES] = "sizes",
};

struct memory_look memory_look(const struct recording *r, uint32_t number) {
	struct memory_look m = {.number = number};
	if (number >= r->looks.n) {
		return m;
	}
	m.look = &r->looks.items[number];
	EACH(g, r->groups) {
		m.group = g->time_ns == m.look->time_ns ? g : m.group;
	}
	EACH_THAT(p, r->parts, p->look == number) {
		m.rows = m.n_rows++ ? m.rows : p;
		m.bytes[p->part] += p->resident_bytes;
		m.lazy_free[p->part] += p->lazy_free_bytes;
		m.asked_bytes += p->asked_bytes;
	}
	EACH_THAT(u, r->untouched, u->look == number) {
		m.untouched = m.n_untouched++ ? m.untouched : u;
		m.untouched_bytes += u->asked_bytes - u->resident_bytes;
		m.n_notable += m.n_notable < MOST_NOTABLE &&
				(memory_is_absent(u) || u->pinned_bytes >= PARTS_PINNED);
	}
	EACH_THAT(f, r->fullness, f->look == number) {
		m.arenas = m.n_arenas++ ? m.arenas : f;
	}
	return m;
}

struct memory_look memory_at_peak(const struct recording *r) {
	uint32_t best = 0;
	for (uint32_t i = 1; i < r->looks.n; i++) {
		const struct rec_look *a = &r->looks.items[best], *b = &r->looks.items[i];
		bool has_pages = b->has & REC_HAS_PAGES, had_pages = a->has & REC_HAS_PAGES;
		bool is_as_large = b->rss_bytes >= a->rss_bytes;
		best = (has_pages == had_pages ? is_as_large : has_pages) ? i : best;
	}
	return memory_look(r, best);
}

struct memory_look memory_at_end(const struct recording *r) {
	return memory_look(r, r->looks.n ? r->looks.n - 1 : 0);
}

struct memory_grades memory_grades(const struct recording *r, uint64_t until_ns) {
	struct memory_grades g = {0};
	for (uint32_t i = 0; i < r->looks.n && r->looks.items[i].time_ns <= until_ns; i++) {
		g.number = r->looks.items[i].has & REC_HAS_GRAPH ? i : g.number;
		g.look = r->looks.items[i].has & REC_HAS_GRAPH ? &r->looks.items[i] : g.look;
	}
	EACH_THAT(row, r->grades, g.look && row->look == g.number) {
		g.rows = g.n_rows++ ? g.rows : row;
		g.blocks[row->grade] += row->blocks;
		g.bytes[row->grade] += row->bytes;
	}
	return g;
}

void memory_put_arena(struct buffer *out, const struct rec_fullness *arena) {
	static const char *const words[REC_ARENAS] = {"main arena", "large blocks", "arena at 0x",
			"others"};
	buffer_text(out, words[arena->kind]);
	if (arena->kind == REC_ARENA_AT) {
		buffer_printf(out, "%" PRIx64, arena->start);
	}
}

bool memory_has_look(const struct lens *l, const struct recording *r, uint32_t look) {
	const uint64_t now = r->looks.items[look].time_ns;
	return !l->has_range ||
			(lens_edge_ns(r, l->from) < now &&
					(l->to >= (int32_t)r->edges.n || now <= lens_edge_ns(r, l->to)));
}

void memory_put_group(struct buffer *out, const struct rec_group *g) {
	const struct {
		uint64_t bytes;
		const char *words;
	} parts[] = {
			{memory_others_bytes(g), "other processes"},
			[PAGE_CACHE] = {g->file_bytes - g->shared_bytes, "page cache"},
			{g->shared_bytes, "shared memory"},
			{g->kernel_bytes, "the kernel"},
	};
	const char *before = ", of that ";
	buffer_printf(out, "%s of %s", HUMAN_BYTES(g->used_bytes), HUMAN_BYTES(g->limit_bytes));
	for (size_t i = 0; i < N_OF(parts); i++) {
		if (parts[i].bytes >= g->limit_bytes / LEAST_OF_GROUP) {
			buffer_printf(out, "%s%s %s", before, HUMAN_BYTES(parts[i].bytes), parts[i].words);
			before = ", ";
		}
		if (i == PAGE_CACHE && g->inactive_bytes >= g->limit_bytes / LEAST_OF_GROUP) {
			buffer_printf(out, " (%s can be taken back)", HUMAN_BYTES(g->inactive_bytes));
		}
	}
}

struct rec_change memory_changes(const struct recording *r, const struct names *n, uint8_t what,
		struct arena *arena, struct rec_change *most) {
	struct rec_change *of = arena_new(arena, struct rec_change, names_n_functions(n) + 1ul),
					  all = {0};
	*most = all;
	EACH_THAT(c, r->changes, c->what == what) {
		const struct name *site = names_site(n, c->node);
		struct rec_change *its = &of[site ? site->function_id : 0];
		its->node = c->node;
		ADD_FIELDS(its, c, calls, bytes);
		ADD_FIELDS(&all, c, calls, bytes);
		*most = (its->bytes ?: its->calls) > (most->bytes ?: most->calls) ? *its : *most;
	}
	return all;
}

/** Unnamed code is its module's. */
static bool is_same_maker(const struct name *a, const struct name *b) {
	if (!a || !b || a == b) {
		return a == b;
	}
	bool are_unnamed = !a->has_name && !b->has_name && a->module.size > 0;
	return a->function_id == b->function_id || (are_unnamed && slice_equal(a->module, b->module));
}

ORDER_OF(largest_first, struct memory_row,
		compare_u64(memory_row_is_rest(a), memory_row_is_rest(b))
				?: HIGHEST(bytes) ?: slice_compare(a->name, b->name));

struct memory_row *memory_rows(const struct memory_look *m, uint8_t part, const struct recording *r,
		const struct names *n, struct arena *arena, uint32_t *n_rows) {
	static const char gone[] = " (deleted)";
	struct memory_row *rows = arena_new(arena, struct memory_row, m->n_rows + 1ul);
	*n_rows = 0;
	EACH_OF_THAT(p, m->rows, m->n_rows, p->part == part && p->resident_bytes > 0) {
		uint32_t node = p->mapping ? r->mappings.items[p->mapping - 1].node : 0;
		const struct name *running = NULL;
		const struct name *maker = node ? names_mapper(n, node, &running) : NULL;
		struct slice name = r->strings.items[p->name];
		bool is_given = part == REC_PART_SHARED && starts_with_any(name, "|/memfd:|/dev/shm/");
		name = maker && !is_given ? (struct slice){0} : name;
		name.size -= is_given && ends_with(name, gone) ? strlen(gone) : 0; // as any memfd is
		struct memory_row *row = FIND(known, rows, *n_rows,
				is_same_maker(known->maker, maker) && slice_equal(known->name, name));
		if (!row) { // rows come largest first: so does a runtime's function
			const struct name *via = maker && maker->is_runtime ? names_site_frame(n, node, maker)
																: NULL;
			row = &rows[(*n_rows)++];
			*row = (struct memory_row){.maker = maker, .via = via, .name = name};
		}
		row->running = row->running ?: running;
		bool is_most = running && is_same_maker(row->running, running) &&
				slice_equal(row->running->file, running->file); // many are "<module>"
		row->running_bytes += is_most ? p->resident_bytes : 0;
		row->bytes += p->resident_bytes;
		row->lazy_free += p->lazy_free_bytes;
	}
	for (uint32_t i = 0; i < *n_rows; i++) {
		bool is_most = rows[i].running_bytes >= rows[i].bytes / 2;
		rows[i].running = is_most ? rows[i].running : NULL;
	}
	if (*n_rows > 1) {
		qsort(rows, *n_rows, sizeof *rows, largest_first);
	}
	return rows;
}
