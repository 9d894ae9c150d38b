// SPDX-License-Identifier: MIT
// A malloc/free loop at a fixed depth: tight DEPTH PAIRS [THREADS [TURN]]
// With TURN one thread runs at a time, for so many pairs, as under an interpreter's lock
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long pairs;
static int depth;

static long turn; // pairs; 0: all run at once
static int n_threads, whose;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;

static void *volatile sink;

/** To the next thread, and wait until it is mine again. */
static void pass_turn(int mine) {
	pthread_mutex_lock(&lock);
	if (whose == mine) {
		whose = (mine + 1) % n_threads;
		pthread_cond_broadcast(&passed);
	}
	while (whose != mine) {
		pthread_cond_wait(&passed, &lock);
	}
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static long loop(int mine) {
	for (long i = 0; i < pairs; i++) {
		if (turn > 0 && i % turn == 0) {
			pass_turn(mine);
		}
		void *p = malloc(16 + (size_t)(i & 63));
		sink = p;
		free(p);
	}
	return pairs;
}

__attribute__((noinline)) static long descend(int left, int mine) {
	long n = left > 1 ? descend(left - 1, mine) : loop(mine);
	__asm__ volatile("" : "+r"(n)); // no tail call: each level is a frame
	return n;
}

static void *run(void *number) {
	int mine = (int)(long)number;
	descend(depth, mine);
	if (turn > 0) { // the others' turns come without this one's
		pthread_mutex_lock(&lock);
		whose = (mine + 1) % n_threads;
		pthread_cond_broadcast(&passed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv) {
	depth = argc > 1 ? atoi(argv[1]) : 10;
	pairs = argc > 2 ? atol(argv[2]) : 1000000;
	int threads = n_threads = argc > 3 ? atoi(argv[3]) : 1;
	turn = argc > 4 ? atol(argv[4]) : 0;
	pthread_t ids[64];
	if (threads > 64) {
		return 2;
	}
	for (int i = 1; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, run, (void *)(long)i) != 0) {
			return 1;
		}
	}
	run(NULL);
	for (int i = 1; i < threads; i++) {
		(void)pthread_join(ids[i], NULL);
	}
	return 0;
}
