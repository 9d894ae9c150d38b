// SPDX-License-Identifier: MIT
#pragma once

/** The parts of replay_agrees(), which compares a recording with the replay figure by figure. */

#include "base/err.h"
#include "replay/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/** A figure of both sides must be the same. */
#define SAME(why, what, ours, theirs)                                                         \
	((uint64_t)(ours) == (uint64_t)(theirs)                                                   \
					? true                                                                    \
					: err_set(why, ERR_FORMAT, "%s is %" PRIu64 ", the replay says %" PRIu64, \
							  what, (uint64_t)(theirs), (uint64_t)(ours)))

static inline void *need(size_t n, size_t size) {
	void *p = calloc(n ? n : 1, size);
	check(p);
	return p;
}

/** Whether threads were merged into one row, so that stacks belong to no single one. */
static inline bool are_merged(const struct recording *rec) {
	for (uint32_t i = 0; i < rec->threads.n; i++) {
		if (rec->threads.items[i].n_merged) {
			return true;
		}
	}
	return false;
}

/** Stacks, and what belongs to them: lifetimes, intervals, sizes. */
bool agrees_by_stack(const struct replay *r, const struct recording *rec, struct err *why);

/** Threads, and the blocks that one allocated and another freed. */
bool agrees_by_thread(const struct replay *r, const struct recording *rec, struct err *why);
