// SPDX-License-Identifier: MIT
#pragma once
/** What benchmarks with rounds share. */

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/** CPU time of all threads so far. */
static inline double cpu_ms(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/** The number that a benchmark was given, or another one. */
static inline uint64_t argument(int argc, char **argv, int i, uint64_t otherwise) {
	return argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
}

/** For qsort of doubles. */
static inline int by_size(const void *x, const void *y) {
	const double *a = x, *b = y;
	return (*a > *b) - (*a < *b);
}
