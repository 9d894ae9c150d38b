// SPDX-License-Identifier: MIT
#pragma once
/**
 * The heap over time under a lens. It says what was live at each edge of the range, and what was
 * allocated before it.
 */

#include "engine/lens.h"

struct timeline_point {
	uint32_t edge;                         // edges.n: the end of the recording
	uint64_t time_ns;                      // of the edge
	uint64_t bytes, blocks;                // live then
	uint64_t allocations, allocated_bytes; // made since the point before
	uint64_t temporary;                    // of these
};

/**
 * One point per edge of the range, and for the end of the recording if it is in it. The
 * allocations of all points sum to the total of `result`, which is that of the lens; for LENS_PEAK
 * the largest point is the total's. False: no memory.
 */
struct timeline {
	struct timeline_point *points;
	uint32_t n;
};
bool timeline_make(const struct lens *l, const struct recording *r,
		const struct lens_result *result, struct arena *arena, struct timeline *out,
		struct err *err);

/**
 * The same for a picture: as fine as it is known. If the lens leaves nothing out, the points are
 * those of the whole's curve (`edge` is then 0), which may have many more of them.
 */
bool timeline_draw(const struct lens *l, const struct recording *r,
		const struct lens_result *result, struct arena *arena, struct timeline *out,
		struct err *err);
