// SPDX-License-Identifier: MIT
#pragma once

/** On one core, work that is done in parts elsewhere is done in one. */

#include <sched.h>

/** From now on; gives the cores as they were. */
static inline cpu_set_t take_one_core(void) {
	cpu_set_t all, one;
	(void)sched_getaffinity(0, sizeof all, &all);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &one);
		}
	}
	(void)sched_setaffinity(0, sizeof one, &one);
	return all;
}

static inline void take_cores_back(const cpu_set_t *cores) {
	(void)sched_setaffinity(0, sizeof *cores, cores);
}
