// SPDX-License-Identifier: MIT

/* Converts between moments of a recording and wall-clock time. */

#include "engine/lens/clock_time.h"

#include <stdio.h>

static const uint64_t second_ns = 1000000000;

/** What the reader's clock showed at a moment, in ns after midnight. */
static uint64_t after_midnight(const struct rec_meta *m, uint64_t moment_ns) {
	uint64_t wall_ns = m->wall_start_ns + moment_ns;
	int64_t second = ((int64_t)(wall_ns / second_ns) + m->wall_offset_s) % DAY_SECONDS;
	return (uint64_t)(second < 0 ? second + DAY_SECONDS : second) * second_ns + wall_ns % second_ns;
}

char *clock_time_text(char out[CLOCK_TIME_MAX], const struct rec_meta *m, uint64_t moment_ns) {
	unsigned second = (unsigned)(after_midnight(m, moment_ns) / second_ns);
	if (m->wall_start_ns) {
		(void)snprintf(out, CLOCK_TIME_MAX, "%02u:%02u:%02u", second / 3600, second / 60 % 60,
				second % 60);
	} else {
		(void)snprintf(out, CLOCK_TIME_MAX, "?");
	}
	return out;
}

bool clock_time_moment(const struct rec_meta *m, uint64_t after_midnight_ns, uint64_t *moment_ns) {
	const uint64_t day_ns = DAY_SECONDS * second_ns;
	if (!m->wall_start_ns) {
		return false;
	}
	*moment_ns = (after_midnight_ns + day_ns - after_midnight(m, 0)) % day_ns;
	return true;
}
