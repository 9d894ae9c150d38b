// SPDX-License-Identifier: MIT

/*
 * From the beginning of each function all ways through it are followed, and what is known of the
 * frame is noted at each instruction. Functions begin where a symbol says so, where a call goes,
 * and where a pointer to code is made; a jump by a table goes to what the table says.
 *
 * Functions that do not return are known by their names. A call of one that is not known is
 * followed into what lies behind it, by mistake: so a function's beginning wins over what has been
 * noted there. But for those, each instruction is decoded once.
 */

#include "injector/resident/flow.h"

#include "base/vec.h"

#include <string.h>

enum { FUNCTION_MAX = 1 << 16 }; // how far the ways of a switch can be from it

bool flow_row_is_same(const struct frame_row *a, const struct frame_row *b) {
	return a->sp == b->sp && a->bp == b->bp && a->bp_at == b->bp_at && a->is_end == b->is_end;
}

static bool is_known(const struct frame_row *row) {
	return row->sp != 0 || row->bp != 0 || row->is_end;
}

bool flow_has_tables(const struct flow *f, uint64_t at) {
	return code_map_function_at(&f->tables, at) != CODE_NO_FUNCTION;
}

void flow_mark(struct flow *f, uint64_t at, unsigned marks) {
	if (flow_is_inside(f, at)) {
		f->marks[at - f->start] |= (uint8_t)marks;
	}
}

void flow_add_begin(struct flow *f, uint64_t at) {
	if (!flow_is_inside(f, at) || (f->marks[at - f->start] & FLOW_BEGIN) != 0) {
		return;
	}
	flow_mark(f, at, FLOW_BEGIN);
	struct flow_place *item = flow_has_tables(f, at) ? NULL : vec_push(&f->begins);
	if (item) {
		*item = (struct flow_place){.at = at, .row = flow_entry};
	}
}

static void add_place(struct flow *f, uint64_t at, const struct frame_row *row, bool is_forced) {
	struct flow_place *item = flow_is_inside(f, at) ? vec_push(&f->places) : NULL;
	if (item) {
		*item = (struct flow_place){at, *row, is_forced};
	}
}

// ---- ways

static void add_ways(struct flow *f, const struct step *s, uint64_t at, const struct frame_row *row,
		bool is_forced) {
	size_t width = s->has_addresses ? sizeof(uint64_t) : sizeof(int32_t);
	struct slice ways = module_code_bytes(f->module, s->table, s->n_ways * width);
	for (size_t k = 0; k + width <= ways.size; k += width) {
		uint64_t to;
		int32_t distance;
		memcpy(&distance, ways.data + k, sizeof distance);
		to = s->table + (uint64_t)(int64_t)distance;
		if (s->has_addresses) {
			memcpy(&to, ways.data + k, sizeof to);
		}
		if (to - at + FUNCTION_MAX < 2 * FUNCTION_MAX) {
			add_place(f, to, row, is_forced);
		}
	}
}

/** Note where an instruction leads besides the next. Is that the next one of its way? */
static bool goes_on(struct flow *f, const struct step *s, uint64_t at, const struct frame_row *row,
		bool is_forced) {
	switch (s->way) {
	case STEP_ON: return true;
	case STEP_CALL:
		flow_add_begin(f, s->to);
		return !flow_is_inside(f, s->to) || (f->marks[s->to - f->start] & FLOW_NO_RETURN) == 0;
	case STEP_BRANCH: add_place(f, s->to, row, is_forced); return true;
	case STEP_JUMP:
		if (row->sp == STEP_ENTRY_SP && row->bp_at == 0 && !row->is_end) {
			flow_add_begin(f, s->to); // a call at the very end, or the same as one
		} else {
			add_place(f, s->to, row, is_forced);
		}
		return false;
	case STEP_SWITCH: add_ways(f, s, at, row, is_forced); return false;
	default: return false;
	}
}

/** One way, until it ends, is known already, or comes to another function's beginning. */
static void walk(struct flow *f, const struct flow_place *from) {
	struct frame_row row = from->row;
	struct step_hints hints = {0};
	struct step s;
	for (uint64_t at = from->at; flow_is_inside(f, at) && is_known(&row); at += s.n_bytes) {
		struct frame_row *noted = &f->rows[at - f->start];
		const struct frame_row before = row;
		unsigned marks = f->marks[at - f->start];
		bool is_begun = ((marks & FLOW_BEGIN) != 0 && !flow_row_is_same(&row, &flow_entry)) ||
				((marks & FLOW_COLD) != 0 && at != from->at);
		bool is_done = noted->n_bytes != 0 && (!from->is_forced || flow_row_is_same(&row, noted));
		if (is_begun || is_done || f->patience == 0 ||
				!step_over(&s, &row, &hints, f->code + (at - f->start), f->end - at, at)) {
			return;
		}
		f->patience--;
		f->pages[(at - f->start) / FLOW_PAGE] = 1;
		*noted = before;
		noted->n_bytes = s.n_bytes;
		flow_add_begin(f, s.pointer);
		if (!goes_on(f, &s, at, &row, from->is_forced)) {
			return;
		}
	}
}

void flow_follow(struct flow *f) {
	while (f->begins.n > 0) {
		struct flow_place begin = f->begins.items[--f->begins.n];
		const struct frame_row *noted = &f->rows[begin.at - f->start];
		begin.is_forced = noted->n_bytes != 0 && !flow_row_is_same(noted, &flow_entry);
		walk(f, &begin);
		while (f->places.n > 0) {
			const struct flow_place place = f->places.items[--f->places.n];
			walk(f, &place);
		}
	}
}
