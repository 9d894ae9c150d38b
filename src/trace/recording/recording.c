// SPDX-License-Identifier: MIT
/* Stores and returns intervals, whose rare large numbers are kept separately. */
#include "trace/recording.h"

/** A wide row, the interval's own if it has one; NULL: beyond max_bytes. */
static struct rec_wide *wide_place(struct recording *r, struct rec_interval_row *row) {
	if (row->count == REC_WIDE) {
		return &r->wide.items[row->bytes];
	}
	uint32_t n = r->wide.n;
	if ((n & (n - 1)) == 0) {
		// Doubles the room whenever a power of two is full
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
	if (LIKELY(v->count < REC_WIDE && v->temporary <= UINT16_MAX && v->bytes <= UINT32_MAX)) {
		*row = (struct rec_interval_row){
				FIELDS_OF(v, stack, from, until),
				.count = (uint16_t)v->count,
				.temporary = (uint16_t)v->temporary,
				.bytes = (uint32_t)v->bytes,
		};
		return true;
	}
	struct rec_wide *wide = wide_place(r, row);
	if (!wide) {
		return false;
	}
	*wide = (struct rec_wide){v->bytes, v->count, v->temporary};
	COPY_FIELDS(row, v, stack, from, until);
	row->count = REC_WIDE;
	row->temporary = 0;
	return true;
}

void rec_stack_add(struct rec_stack *sum, const struct rec_stack *s) {
	bool is_first = sum->allocations == 0;
	ADD_FIELDS(sum, s, allocations, allocated_bytes, temporary, temporary_bytes, short_lived,
			peak_blocks, peak_bytes, live_blocks, live_bytes, reallocs);
	ADD_FIELDS(sum, s, left_blocks, left_bytes);
	sum->first_ns = is_first || s->first_ns < sum->first_ns ? s->first_ns : sum->first_ns;
	sum->last_ns = s->last_ns > sum->last_ns ? s->last_ns : sum->last_ns;
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

const struct rec_sample *recording_most_pss(const struct recording *r) {
	return recording_is_tree(r) ? MOST(s, r->samples, s->pss_bytes) : NULL;
}
