// SPDX-License-Identifier: MIT

/*
 * Pairs of malloc and free at a depth of 10, a million each time that a line comes in; then it says what
 * CPU time an event took, in ns. For costs in one process with and without a recorder.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 1000000, DEPTH = 10 };

void descend(unsigned depth);

__attribute__((noinline)) void descend(unsigned depth) {
	if (depth > 0) {
		descend(depth - 1);
	} else {
		for (unsigned i = 0; i < PAIRS; i++) {
			void *volatile at = malloc(64);
			free(at);
		}
	}
	__asm__ volatile("" : : : "memory"); // no tail call
}

static double cpu_ns(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void) {
	char line[16];
	descend(DEPTH);
	(void)puts("ready");
	(void)fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		double start = cpu_ns();
		descend(DEPTH);
		(void)printf("%.2f\n", (cpu_ns() - start) / (2.0 * PAIRS));
		(void)fflush(stdout);
	}
	return 0;
}
