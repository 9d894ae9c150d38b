// SPDX-License-Identifier: MIT
#pragma once
/** What the files of the lens share: a time range as text, the sums over it, and times of day. */

#include "engine/lens.h"

/** The largest edge after l->from up to l->to; edges.n, the end, if there is none. */
uint32_t lens_largest_edge(const struct lens *l, const struct recording *r);

/** Sum up out->stacks (zeroed, with is_left_out) and out->total over the range of l. Expensive. */
void lens_scan(const struct lens *l, const struct recording *r, struct lens_result *out);

/** Set the range of `l` from the value of a lens's `t`. False: `err` says what is wrong. */
bool lens_time_parse(struct lens *l, struct slice text, const struct recording *r, struct err *err);

/** The shortest text for the range. */
void lens_time_put(struct buffer *out, const struct lens *l, const struct recording *r);

enum { CLOCK_TIME_MAX = 16 };

/** "12:03:07" in the reader's time zone; "?" if the start is unknown. */
const char *clock_time_text(char out[CLOCK_TIME_MAX], const struct rec_meta *m, uint64_t moment_ns);
#define CLOCK_TIME(m, moment_ns) clock_time_text((char[CLOCK_TIME_MAX]){0}, (m), (moment_ns))
