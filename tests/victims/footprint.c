// SPDX-License-Identifier: MIT

/**
 * How much memory threads that allocate take: footprint THREADS PAIRS. Prints the resident KiB of
 * the process, shared memory included, before there were threads, when each has made its PAIRS of
 * malloc and free and all stand still, and some time after they have ended.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_THREADS_MAX = 4096, STACK_BYTES = 128 << 10, AFTER_US = 1500000 };

static pthread_barrier_t all_done, may_end;
static long n_pairs;

static void *volatile sink;

static void *work(void *unused) {
	(void)unused;
	for (long i = 0; i < n_pairs; i++) {
		void *block = malloc(24 + (size_t)i % 64);
		sink = block;
		free(block);
	}
	pthread_barrier_wait(&all_done);
	pthread_barrier_wait(&may_end);
	return NULL;
}

static long resident_kib(void) {
	char line[256];
	long kib = -1;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	while (f != NULL && kib < 0 && fgets(line, sizeof line, f) != NULL) {
		(void)sscanf(line, "Rss: %ld", &kib);
	}
	if (f != NULL) {
		(void)fclose(f);
	}
	return kib;
}

int main(int argc, char **argv) {
	static pthread_t threads[N_THREADS_MAX];
	int n = argc > 1 ? atoi(argv[1]) : 1;
	n_pairs = argc > 2 ? atol(argv[2]) : 10;
	if (n > N_THREADS_MAX) {
		return 2;
	}
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_barrier_init(&all_done, NULL, (unsigned)n + 1);
	pthread_barrier_init(&may_end, NULL, (unsigned)n + 1);
	long before = resident_kib();
	for (int i = 0; i < n; i++) {
		if (pthread_create(&threads[i], &attributes, work, NULL) != 0) {
			return 1;
		}
	}
	pthread_barrier_wait(&all_done);
	long with = resident_kib();
	pthread_barrier_wait(&may_end);
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
	}
	usleep(AFTER_US);
	printf("%ld %ld %ld\n", before, with, resident_kib());
	return 0;
}
