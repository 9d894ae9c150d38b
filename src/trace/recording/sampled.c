// SPDX-License-Identifier: MIT
/*
 * Rounds the counts of a sampled recording to whole blocks.
 *
 * Each block of a sampled recording stands for a number of blocks that is seldom whole. Counts lose
 * their fraction, row by row; bytes are whole in the file. What sums them up is made anew of the
 * rows, so that it agrees with them. The allocations of a stack are rounded up, all else down, so
 * that no part is more than its whole.
 */
#include "trace/recording/sampled.h"

#include <stdlib.h>

enum { PARTS = 16 };

static void round_stacks(struct recording *r) {
	struct rec_summary *t = &r->summary;
	t->allocations = t->temporary = t->short_lived = t->reallocs = 0;
	t->peak_blocks = t->live_blocks = 0;
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		struct rec_stack *s = &r->stacks.items[i];
		s->allocations = s->allocations / PARTS + (s->allocations % PARTS != 0);
		t->allocations += s->allocations;
		t->temporary += s->temporary /= PARTS;
		t->short_lived += s->short_lived /= PARTS;
		t->reallocs += s->reallocs /= PARTS;
		t->peak_blocks += s->peak_blocks /= PARTS;
		t->live_blocks += s->live_blocks /= PARTS;
	}
	uint64_t ended = t->allocations - t->live_blocks;
	t->gone_at_exec = t->gone_at_exec < ended ? t->gone_at_exec : ended;
	t->frees = ended - t->gone_at_exec;
	for (uint32_t i = 0; i < r->lifetimes.n; i++) {
		for (int k = 0; k < REC_LIFETIMES; k++) {
			r->lifetimes.items[i].blocks[k] /= PARTS;
		}
	}
}

/** False: no memory. */
static bool round_intervals(struct recording *r) {
	// What begins and ends at each edge; numbers that make no sense are found later
	enum { PLACES = REC_NEVER + 1 };
	uint64_t *change = r->intervals.n ? calloc(PLACES, sizeof *change) : NULL;
	if (!change) {
		return r->intervals.n == 0;
	}
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		struct rec_interval v = recording_interval(r, i);
		v.count /= PARTS;
		v.temporary /= PARTS;
		change[v.from] += v.count;
		change[v.until] -= v.count;
		if (!recording_set_interval(r, i, &v)) {
			free(change);
			return false;
		}
	}
	uint64_t live = 0;
	for (uint32_t i = 0; i < r->edges.n && i < PLACES; i++) {
		live += change[i];
		r->edges.items[i].blocks = live;
	}
	free(change);
	return true;
}

/** What was counted so far is not more than there is in the end. */
static void bound_edges(const struct recording *r, struct rec_edge *edges, uint32_t n) {
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t most = r->summary.allocations, short_most = r->summary.temporary;
		edges[i].allocations = edges[i].allocations < most ? edges[i].allocations : most;
		edges[i].temporary = edges[i].temporary < short_most ? edges[i].temporary : short_most;
	}
}

bool sampled_to_whole(struct recording *r) {
	round_stacks(r);
	bound_edges(r, r->edges.items, r->edges.n);
	bound_edges(r, r->curve.items, r->curve.n);
	for (uint32_t i = 0; i < r->sizes.n; i++) {
		r->sizes.items[i].count /= PARTS;
		r->sizes.items[i].live /= PARTS;
	}
	for (uint32_t i = 0; i < r->threads.n; i++) {
		struct rec_thread *t = &r->threads.items[i];
		t->allocations /= PARTS;
		t->frees /= PARTS;
		t->temporary /= PARTS;
		t->foreign_frees /= PARTS;
	}
	return round_intervals(r);
}
