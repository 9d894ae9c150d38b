// SPDX-License-Identifier: MIT

/*
 * Allocates a known number of blocks when it is told to, and nothing else:
 *
 *   exact [threads]
 *
 * Says "ready". At SIGUSR1 each thread makes CALLS blocks of each kind, by functions with names of
 * their own, frees half of them, and main says "done". At SIGTERM it ends.
 */

#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 1000, THREADS_MAX = 64 };

static void *kept[THREADS_MAX][CALLS];
static void *before[CALLS];
static pthread_barrier_t barrier;

void *by_malloc(size_t n);
void *by_calloc(size_t n);
void *by_realloc(size_t n);
void *by_memalign(size_t n);
void *deeper(unsigned depth, size_t n);

void *by_malloc(size_t n) {
	return malloc(n);
}

void *by_calloc(size_t n) {
	return calloc(n / 8, 8);
}

void *by_realloc(size_t n) {
	return realloc(malloc(16), n);
}

void *by_memalign(size_t n) {
	void *at = NULL;
	return posix_memalign(&at, 64, n) == 0 ? at : NULL;
}

void *deeper(unsigned depth, size_t n) {
	void *at = depth == 0 ? by_malloc(n) : deeper(depth - 1, n);
	__asm__ volatile("" : : : "memory"); // no tail call
	return at;
}

static void use(unsigned thread) {
	for (unsigned i = 0; i < CALLS; i++) {
		kept[thread][i] = by_malloc(100);
	}
	for (unsigned i = 0; i < CALLS; i++) {
		free(by_calloc(64));
		free(by_realloc(200));
		free(by_memalign(300));
		free(deeper(100, 40));
	}
}

static void *run(void *argument) {
	pthread_barrier_wait(&barrier);
	use((unsigned)(size_t)argument);
	pthread_barrier_wait(&barrier);
	pause();
	return NULL;
}

static void say(const char *text) {
	(void)!write(1, text, strlen(text));
}

int main(int argc, char **argv) {
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	sigset_t set;
	int signal;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_barrier_init(&barrier, NULL, n);
	for (unsigned i = 0; i < CALLS; i++) {
		before[i] = malloc(50);
	}
	for (unsigned i = 1; i < n; i++) {
		pthread_t thread;
		(void)pthread_create(&thread, NULL, run, (void *)(size_t)i);
	}
	say("ready\n");
	(void)sigwait(&set, &signal);
	pthread_barrier_wait(&barrier);
	use(0);
	for (unsigned i = 0; i < CALLS; i++) {
		free(before[i]);
	}
	pthread_barrier_wait(&barrier);
	say("done\n");
	while (sigwait(&set, &signal) == 0 && signal != SIGTERM) {}
	_exit(0);
}
