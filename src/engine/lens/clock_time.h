// SPDX-License-Identifier: MIT
#pragma once

/** Moments of a recording in wall-clock time, in the reader's time zone. */

#include "trace/recording.h"

/** Moments of a recording in wall-clock time, in the reader's time zone. */

enum { CLOCK_TIME_MAX = 16, DAY_SECONDS = 86400 };

/** "12:03:07"; "?" if nothing says when the recording began. Returns `out`. */
char *clock_time_text(char out[CLOCK_TIME_MAX], const struct rec_meta *m, uint64_t moment_ns);

/**
 * The first moment of a recording at which the clock shows this many ns after midnight. False:
 * nothing says when it began.
 */
bool clock_time_moment(const struct rec_meta *m, uint64_t after_midnight_ns, uint64_t *moment_ns);
