// SPDX-License-Identifier: MIT

/**
 * Ends in every way: ends MODE FILE [THREADS [N]]
 *   return, exit, _exit, abort, segv   after N rounds per thread
 *   kill                               never: wait for it
 * Each thread counts its rounds (two blocks, one freed) in FILE, which is mapped: a row of 64-bit
 * words, one per thread and cache line.
 */

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS_MAX = 64 };
struct counter {
	_Alignas(64) _Atomic uint64_t n_rounds;
};
static struct counter *counters;
static uint64_t n_wanted;
static void *volatile kept;

static void *work(void *arg) {
	struct counter *mine = arg;
	while (mine->n_rounds < n_wanted) {
		kept = malloc(24);
		free(malloc(40));
		mine->n_rounds++;
	}
	return NULL;
}

static void end(const char *mode) {
	if (strcmp(mode, "exit") == 0) {
		exit(7);
	} else if (strcmp(mode, "_exit") == 0) {
		_exit(7);
	} else if (strcmp(mode, "abort") == 0) {
		abort();
	} else if (strcmp(mode, "segv") == 0) {
		*(volatile int *)8 = 1;
	}
}

int main(int argc, char **argv) {
	const char *mode = argv[1];
	int n_threads = argc > 3 ? atoi(argv[3]) : 1;
	n_wanted = strcmp(mode, "kill") == 0 ? UINT64_MAX : argc > 4 ? (uint64_t)atoll(argv[4]) : 1000;
	int fd = open(argv[2], O_RDWR | O_CREAT, 0600);
	if (n_threads > THREADS_MAX || ftruncate(fd, THREADS_MAX * sizeof *counters) != 0) {
		return 99;
	}
	counters = mmap(NULL, THREADS_MAX * sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			0);
	pthread_t threads[THREADS_MAX];
	for (int i = 1; i < n_threads; i++) {
		pthread_create(&threads[i], NULL, work, &counters[i]);
	}
	work(&counters[0]);
	for (int i = 1; i < n_threads; i++) {
		pthread_join(threads[i], NULL);
	}
	end(mode);
	return 7;
}
