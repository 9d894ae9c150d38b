// SPDX-License-Identifier: MIT
#include "trace/recording.h"

/** A place among the wide ones, that of the row if it has one; NULL: no memory. */
static struct rec_wide *wide_place(struct recording *r, struct rec_interval_row *row) {
	if (row->count == REC_WIDE) {
		return &r->wide.items[row->bytes];
	}
	uint32_t n = r->wide.n;
	if ((n & (n - 1)) == 0) {
		// Room for twice as many whenever a power of two is full
		struct rec_wide *items = arena_new(&r->arena, struct rec_wide, n ? 2ul * n : 1);
		if (!items) {
			return NULL;
		}
		if (n) {
			memcpy(items, r->wide.items, n * sizeof *items);
		}
		r->wide.items = items;
	}
	row->bytes = r->wide.n++;
	return &r->wide.items[row->bytes];
}

bool recording_set_interval(struct recording *r, uint32_t i, const struct rec_interval *v) {
	struct rec_interval_row *row = &r->intervals.items[i];
	if (LIKELY(rec_interval_is_narrow(v))) {
		*row = rec_interval_narrow(v);
		return true;
	}
	struct rec_wide *wide = wide_place(r, row);
	if (!wide) {
		return false;
	}
	*wide = (struct rec_wide){v->bytes, v->count, v->temporary};
	row->stack = v->stack;
	row->from = v->from;
	row->until = v->until;
	row->count = REC_WIDE;
	row->temporary = 0;
	return true;
}

void recording_finish(struct recording *r) {
	if (r) {
		arena_finish(&r->arena);
		*r = (struct recording){0};
	}
}

void recording_reset(struct recording *r) {
	struct arena arena = r->arena;
	arena_reset(&arena);
	*r = (struct recording){.arena = arena};
}
