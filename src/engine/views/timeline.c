// SPDX-License-Identifier: MIT
/* Sums up the intervals of a lens at each edge. */
#include "engine/breakdown.h"

/** Until summed up, bytes and blocks are the changes at an edge, modulo 2^64. */
static void add_intervals(const struct recording *r, const struct lens_result *result,
		struct timeline_point *points) {
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		const struct rec_interval v = recording_interval(r, i);
		if (lens_leaves_out(result, v.stack)) {
			continue;
		}
		struct timeline_point *from = &points[v.from];
		from->bytes += v.bytes;
		from->blocks += v.count;
		from->allocations += v.count;
		from->allocated_bytes += v.bytes;
		from->temporary += v.temporary;
		if (v.until != REC_NEVER) {
			points[v.until].bytes -= v.bytes;
			points[v.until].blocks -= v.count;
		}
	}
}

static struct timeline_point point_of(const struct rec_edge *e, const struct rec_edge *before) {
	return (struct timeline_point){
			FIELDS_OF(e, time_ns, bytes, blocks),
			.allocations = e->allocations - before->allocations,
			.allocated_bytes = e->allocated_bytes - before->allocated_bytes,
			.temporary = e->temporary - before->temporary,
	};
}

/** The end, as if it were an edge. */
static struct rec_edge end_of(const struct recording *r) {
	return (struct rec_edge){
			.time_ns = r->meta.duration_ns,
			.bytes = r->summary.live_bytes,
			.blocks = r->summary.live_blocks,
			FIELDS_OF(&r->summary, allocations, allocated_bytes, temporary),
	};
}

/** n points, and the end. */
static void copy_edges(const struct recording *r, const struct rec_edge *edges, uint32_t n,
		struct timeline_point *points) {
	struct rec_edge before = {0};
	for (uint32_t i = 0; i < n; i++) {
		points[i] = point_of(&edges[i], &before);
		before = edges[i];
	}
	struct rec_edge end = end_of(r);
	points[n] = point_of(&end, &before);
}

struct timeline timeline_make(const struct lens *l, const struct recording *r,
		const struct lens_result *result, struct arena *arena) {
	uint32_t n = r->edges.n + 1;
	struct timeline_point *points = arena_new(arena, struct timeline_point, n);
	if (r->intervals.n) {
		add_intervals(r, result, points);
		// From changes to live values
		for (uint32_t i = 1; i < n; i++) {
			points[i].bytes += points[i - 1].bytes;
			points[i].blocks += points[i - 1].blocks;
		}
	} else if (!result->is_left_out) {
		// Imported recordings may have edges only: then only the whole is known
		copy_edges(r, r->edges.items, r->edges.n, points);
	}
	for (uint32_t i = 0; i < n; i++) {
		points[i].edge = i;
		points[i].time_ns = lens_edge_ns(r, (int32_t)i);
	}
	uint32_t first = l->has_range ? (uint32_t)(l->from + 1) : 0;
	uint32_t last = l->has_range ? (uint32_t)l->to : n - 1;
	return (struct timeline){.points = points + first, .n = last - first + 1};
}

/** How many points of the curve are at or before edge `edge`. */
static uint32_t points_until(const struct recording *r, int32_t edge) {
	uint32_t n = 0;
	while (edge >= 0 && n < r->curve.n &&
			r->curve.items[n].time_ns <= r->edges.items[edge].time_ns) {
		n++;
	}
	return n;
}

struct timeline timeline_draw(const struct lens *l, const struct recording *r,
		const struct lens_result *result, struct arena *arena) {
	if (result->is_left_out || r->curve.n == 0) {
		return timeline_make(l, r, result, arena);
	}
	uint32_t n = r->curve.n;
	struct timeline_point *points = arena_new(arena, struct timeline_point, n + 1ul);
	copy_edges(r, r->curve.items, n, points);
	bool has_end = !l->has_range || l->to >= (int32_t)r->edges.n;
	uint32_t first = l->has_range ? points_until(r, l->from) : 0;
	uint32_t behind = has_end ? n + 1 : points_until(r, l->to);
	return (struct timeline){.points = points + first, .n = behind - first};
}
