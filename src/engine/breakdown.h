// SPDX-License-Identifier: MIT
#pragma once
/**
 * Breaks the total down by site, type, thread, size or lifetime instead of callers. Under any lens,
 * the parts add up to the result's total. Whatever a recording does not distinguish (sizes and
 * lifetimes are kept for the whole run) is one part, labelled as such.
 */

#include "engine/lens.h"

enum breakdown_by { BY_SITE, BY_TYPE, BY_THREAD, BY_TID, BY_SIZE, BY_LIFETIME, N_BREAKDOWNS };

/**
 * "site", "type" (where the stack proves it), "thread" (by name), "tid" (each apart), "size",
 * "lifetime".
 */
extern const char *const breakdown_names[N_BREAKDOWNS];

struct part {
	struct slice label;
	const struct name *name; // of a site, else NULL
	uint64_t least;          // BY_SIZE: bytes; BY_LIFETIME: ns: the least of the class
	bool is_rest;            // not told apart, or of no class
	struct lens_costs costs;
	uint32_t n_stacks;
	uint32_t heaviest;  // stack
	uint32_t n_threads; // BY_THREAD: how many of that name made what is counted
	uint32_t tid;       // BY_TID; 0: several short threads of one name
};

struct breakdown {
	struct part *parts; // sites, types and threads heaviest first, classes rising; the rest last
	uint32_t n;
};

/** Its parts are no classes: they come heaviest first. */
bool breakdown_is_ranked(enum breakdown_by by);

/** Parts that cost nothing are left out. False: no memory. All in the arena. */
bool breakdown_make(enum breakdown_by by, const struct lens *l, const struct recording *r,
		const struct names *n, const struct lens_result *result, struct arena *arena,
		struct breakdown *out, struct err *err);
