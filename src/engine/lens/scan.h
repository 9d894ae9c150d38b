// SPDX-License-Identifier: MIT
#pragma once

/** Sums up the intervals within a range: the expensive half of lens_apply. Private to lens*.c. */

#include "engine/lens.h"

/** The largest edge after l->from up to l->to; edges.n, the end, if none is between. */
uint32_t lens_largest_edge(const struct lens *l, const struct recording *r);

/**
 * Add up out->stacks (zeroed; is_left_out is made already) and out->total over the range of l.
 * False: no memory.
 */
bool lens_scan(const struct lens *l, const struct recording *r, struct arena *scratch,
		struct lens_result *out, struct err *err);
