// SPDX-License-Identifier: MIT

/** A loop of malloc and free, DEPTH calls deep: tight N DEPTH. Prints the ns of CPU time per pair. */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *volatile kept;

static double loop(long n) {
	struct timespec a, b;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (long i = 0; i < n; i++) {
		kept = malloc(64);
		free(kept);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)n;
}

static double deeper(long n, int depth) {
	double ns = depth > 0 ? deeper(n, depth - 1) : loop(n);
	__asm__ volatile("" ::: "memory");
	return ns;
}

int main(int argc, char **argv) {
	long n = argc > 1 ? atol(argv[1]) : 10000000;
	printf("%.1f\n", deeper(n, argc > 2 ? atoi(argv[2]) - 1 : 9));
	return 0;
}
