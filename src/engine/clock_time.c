// SPDX-License-Identifier: MIT
#include "engine/clock_time.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static const uint64_t second_ns = 1000000000;

static bool clock_of(const struct rec_meta *m, uint64_t moment_ns, struct tm *tm) {
	time_t seconds = (time_t)((m->wall_start_ns + moment_ns) / second_ns);
	return m->wall_start_ns && localtime_r(&seconds, tm);
}

char *clock_time_text(char out[CLOCK_TIME_MAX], const struct rec_meta *m, uint64_t moment_ns) {
	struct tm tm;
	if (!clock_of(m, moment_ns, &tm) || !strftime(out, CLOCK_TIME_MAX, "%H:%M:%S", &tm)) {
		(void)snprintf(out, CLOCK_TIME_MAX, "?");
	}
	return out;
}

bool clock_time_moment(const struct rec_meta *m, uint64_t after_midnight_ns, uint64_t *moment_ns) {
	const uint64_t day_ns = DAY_SECONDS * second_ns;
	struct tm tm;
	if (!clock_of(m, 0, &tm)) {
		return false;
	}
	uint64_t began = (uint64_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) * second_ns +
			m->wall_start_ns % second_ns;
	*moment_ns = (after_midnight_ns + day_ns - began) % day_ns;
	return true;
}
