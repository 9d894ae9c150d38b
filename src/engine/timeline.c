// SPDX-License-Identifier: MIT
#include "engine/timeline.h"

/** Bytes and blocks hold what comes and goes at an edge, modulo 2^64, until they are summed up. */
static void add_intervals(const struct recording *r, const struct lens_result *result,
		struct timeline_point *points) {
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		const struct rec_interval *v = &r->intervals.items[i];
		if (result->is_left_out && result->is_left_out[v->stack]) {
			continue;
		}
		struct timeline_point *from = &points[v->from];
		from->bytes += v->bytes;
		from->blocks += v->count;
		from->allocations += v->count;
		from->allocated_bytes += v->bytes;
		from->temporary += v->temporary;
		if (v->until != REC_NEVER) {
			points[v->until].bytes -= v->bytes;
			points[v->until].blocks -= v->count;
		}
	}
}

/** Imported recordings may have edges only: then the whole is known, and no part of it. */
static void copy_edges(const struct recording *r, struct timeline_point *points) {
	struct rec_edge before = {0};
	for (uint32_t i = 0; i < r->edges.n; i++) {
		const struct rec_edge *e = &r->edges.items[i];
		points[i].bytes = e->bytes - before.bytes;
		points[i].blocks = e->blocks - before.blocks;
		points[i].allocations = e->allocations - before.allocations;
		points[i].allocated_bytes = e->allocated_bytes - before.allocated_bytes;
		points[i].temporary = e->temporary - before.temporary;
		before = *e;
	}
	points[r->edges.n].bytes = r->summary.live_bytes - before.bytes;
	points[r->edges.n].blocks = r->summary.live_blocks - before.blocks;
	points[r->edges.n].allocations = r->summary.allocations - before.allocations;
	points[r->edges.n].allocated_bytes = r->summary.allocated_bytes - before.allocated_bytes;
	points[r->edges.n].temporary = r->summary.temporary - before.temporary;
}

bool timeline_make(const struct lens *l, const struct recording *r,
		const struct lens_result *result, struct arena *arena, struct timeline *out,
		struct err *err) {
	uint32_t n = r->edges.n + 1;
	struct timeline_point *points = arena_new(arena, struct timeline_point, n);
	if (!points) {
		return err_memory(err);
	}
	if (r->intervals.n) {
		add_intervals(r, result, points);
	} else if (!result->is_left_out) {
		copy_edges(r, points);
	}
	for (uint32_t i = 0; i < n; i++) {
		points[i].edge = i;
		points[i].time_ns = i < r->edges.n ? r->edges.items[i].time_ns : r->meta.duration_ns;
		points[i].bytes += i ? points[i - 1].bytes : 0;
		points[i].blocks += i ? points[i - 1].blocks : 0;
	}
	uint32_t first = l->has_range ? (uint32_t)(l->from + 1) : 0;
	uint32_t last = l->has_range ? (uint32_t)l->to : n - 1;
	*out = (struct timeline){.points = points + first, .n = last - first + 1};
	return true;
}
