// SPDX-License-Identifier: MIT
// A malloc/free loop at a fixed depth: tight DEPTH PAIRS [THREADS]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long pairs;
static int depth;

static void *volatile sink;

__attribute__((noinline)) static long loop(void) {
	for (long i = 0; i < pairs; i++) {
		void *p = malloc(16 + (size_t)(i & 63));
		sink = p;
		free(p);
	}
	return pairs;
}

__attribute__((noinline)) static long descend(int left) {
	long n = left > 1 ? descend(left - 1) : loop();
	__asm__ volatile("" : "+r"(n)); // no tail call: each level is a frame
	return n;
}

static void *run(void *unused) {
	(void)unused;
	descend(depth);
	return NULL;
}

int main(int argc, char **argv) {
	depth = argc > 1 ? atoi(argv[1]) : 10;
	pairs = argc > 2 ? atol(argv[2]) : 1000000;
	int threads = argc > 3 ? atoi(argv[3]) : 1;
	pthread_t ids[64];
	if (threads > 64) {
		return 2;
	}
	for (int i = 1; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, run, NULL) != 0) {
			return 1;
		}
	}
	run(NULL);
	for (int i = 1; i < threads; i++) {
		(void)pthread_join(ids[i], NULL);
	}
	return 0;
}
