// SPDX-License-Identifier: MIT

/**
 * Threads: many_threads MODE N
 *   at-once   N threads alive together, each 100 blocks of 10 bytes, one kept
 *   short     N threads one after another (8 at a time), one block of 10 bytes each, freed
 *   exchange  8 threads hand N blocks each to each other through shared places, half by realloc
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t barrier;
static long n_each;

static void *be_one_of_many(void *arg) {
	void *kept = malloc(10);
	for (int i = 0; i < 99; i++) {
		free(malloc(10));
	}
	pthread_barrier_wait(&barrier);
	*(void **)arg = kept;
	return NULL;
}

static void at_once(long n) {
	pthread_t *threads = calloc((size_t)n, sizeof *threads);
	void **kept = calloc((size_t)n, sizeof *kept);
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&barrier, NULL, (unsigned)n);
	for (long i = 0; i < n; i++) {
		if (pthread_create(&threads[i], &small, be_one_of_many, &kept[i]) != 0) {
			abort();
		}
	}
	for (long i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
	}
}

static void *be_short(void *arg) {
	free(malloc(10));
	return arg;
}

static void short_ones(long n) {
	enum { AT_A_TIME = 8 };
	pthread_t threads[AT_A_TIME];
	for (long i = 0; i < n; i += AT_A_TIME) {
		for (int k = 0; k < AT_A_TIME; k++) {
			if (pthread_create(&threads[k], NULL, be_short, NULL) != 0) {
				abort();
			}
		}
		for (int k = 0; k < AT_A_TIME; k++) {
			pthread_join(threads[k], NULL);
		}
	}
}

enum { N_PLACES = 64 };
static _Atomic(void *) places[N_PLACES];

static void *exchange(void *arg) {
	unsigned long random = (unsigned long)arg * 0x9E3779B97F4A7C15ul + 1;
	for (long i = 0; i < n_each; i++) {
		random = random * 6364136223846793005ul + 1442695040888963407ul;
		void *mine = malloc(16 + (random >> 60) * 16);
		void *theirs = atomic_exchange(&places[random >> 40 & (N_PLACES - 1)], mine);
		if ((random >> 50 & 1) != 0 && theirs != NULL) {
			theirs = realloc(theirs, 16 + (random >> 30 & 255));
		}
		free(theirs);
	}
	return NULL;
}

static void exchange_all(void) {
	pthread_t threads[8];
	for (unsigned long i = 0; i < 8; i++) {
		pthread_create(&threads[i], NULL, exchange, (void *)(i + 1));
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < N_PLACES; i++) {
		free(places[i]);
	}
}

int main(int argc, char **argv) {
	n_each = argc > 2 ? atol(argv[2]) : 0;
	if (strcmp(argv[1], "at-once") == 0) {
		at_once(n_each);
	} else if (strcmp(argv[1], "short") == 0) {
		short_ones(n_each);
	} else {
		exchange_all();
	}
	return 0;
}
