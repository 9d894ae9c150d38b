// SPDX-License-Identifier: MIT

/**
 * Threads that allocate as fast as they can and keep count, until the process ends by one of many
 * ways: counted FILE HOW MILLISECONDS [AT_A_TIME]
 *
 *   HOW   return, exit, _exit, abort, segv: after so long, in the middle of the work
 *         finish: the threads stop first, and the file says "done" (bit 1 of the last word)
 *   AT_A_TIME   rest a millisecond after so many calls, so that others get their share of the machine
 *
 * FILE, mapped and shared, holds the truth: for thread k, whose every block comes from below
 * worker_k, struct count k; then one word, 1 once all threads run. It outlives any death. A count is
 * raised right after the call that it counts, so it is at most one behind.
 */

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { N_THREADS = 4, N_KEPT = 500, DEPTH_MAX = 12 };

struct count {
	_Atomic uint64_t allocations, allocated_bytes, frees, freed_bytes;
};
static struct {
	struct count threads[N_THREADS];
	_Atomic uint64_t state;
} * truth;

struct worker {
	struct count *count;
	uint32_t random;
	struct {
		void *ptr;
		size_t size;
	} kept[N_KEPT];
};

static pthread_barrier_t barrier;
static atomic_bool stops;
static long at_a_time;

static uint32_t next_random(struct worker *w) {
	w->random = w->random * 1664525 + 1013904223;
	return w->random >> 8;
}

static void count_block(struct worker *w, size_t size) {
	atomic_fetch_add(&w->count->allocations, 1);
	atomic_fetch_add(&w->count->allocated_bytes, size);
}

static void count_free(struct worker *w, size_t size) {
	atomic_fetch_add(&w->count->frees, 1);
	atomic_fetch_add(&w->count->freed_bytes, size);
}

static void replace_block(struct worker *w) {
	uint32_t i = next_random(w) % N_KEPT;
	size_t size = 1 + next_random(w) % 1000;
	if (w->kept[i].ptr && next_random(w) % 4 == 0) {
		w->kept[i].ptr = realloc(w->kept[i].ptr, size);
		count_free(w, w->kept[i].size);
	} else {
		if (w->kept[i].ptr) {
			free(w->kept[i].ptr);
			count_free(w, w->kept[i].size);
		}
		w->kept[i].ptr = malloc(size);
	}
	count_block(w, size);
	w->kept[i].size = size;
}

static void descend_left(struct worker *w, uint32_t path, int depth);

static void descend_right(struct worker *w, uint32_t path, int depth) {
	if (depth == 0) {
		replace_block(w);
	} else if (path & 1) {
		descend_left(w, path >> 1, depth - 1);
	} else {
		descend_right(w, path >> 1, depth - 1);
	}
	__asm__ volatile(""); // no tail calls: the callers shall be on the stack
}

static void descend_left(struct worker *w, uint32_t path, int depth) {
	descend_right(w, path, depth);
	__asm__ volatile("");
}

static void *work(int k) {
	struct worker *w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	w->count = &truth->threads[k];
	w->random = (uint32_t)k * 77777 + (uint32_t)getpid();
	pthread_barrier_wait(&barrier);
	for (long i = 1; !atomic_load(&stops); i++) {
		descend_right(w, next_random(w) % 16, (int)(next_random(w) % DEPTH_MAX));
		if (at_a_time && i % at_a_time == 0) {
			nanosleep(&(struct timespec){0, 1000000}, NULL);
		}
	}
	return NULL;
}

// One name per thread, to tell them apart in the stacks
static void *worker_0(void *arg) {
	void *result = work(0);
	__asm__ volatile("");
	(void)arg;
	return result;
}

static void *worker_1(void *arg) {
	void *result = work(1);
	__asm__ volatile("");
	(void)arg;
	return result;
}

static void *worker_2(void *arg) {
	void *result = work(2);
	__asm__ volatile("");
	(void)arg;
	return result;
}

static void *worker_3(void *arg) {
	void *result = work(3);
	__asm__ volatile("");
	(void)arg;
	return result;
}

static void *(*const workers[N_THREADS])(void *) = {worker_0, worker_1, worker_2, worker_3};
static pthread_t threads[N_THREADS];

static void map_truth(const char *path) {
	int fd = open(path, O_RDWR | O_CREAT, 0666);
	if (fd < 0 || ftruncate(fd, sizeof *truth) != 0) {
		_exit(3);
	}
	truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
}

static void finish(void) {
	atomic_store(&stops, true);
	for (int k = 0; k < N_THREADS; k++) {
		pthread_join(threads[k], NULL);
	}
	atomic_fetch_or(&truth->state, 2);
}

static int end(const char *how) {
	if (strcmp(how, "finish") == 0) {
		finish();
	} else if (strcmp(how, "exit") == 0) {
		exit(5);
	} else if (strcmp(how, "_exit") == 0) {
		_exit(6);
	} else if (strcmp(how, "abort") == 0) {
		abort();
	} else if (strcmp(how, "segv") == 0) {
		*(volatile char *)16 = 1;
	}
	return 7;
}

int main(int argc, char **argv) {
	if (argc < 4) {
		return 2;
	}
	at_a_time = argc > 4 ? atol(argv[4]) : 0;
	map_truth(argv[1]);
	pthread_barrier_init(&barrier, NULL, N_THREADS + 1);
	for (int k = 0; k < N_THREADS; k++) {
		pthread_create(&threads[k], NULL, workers[k], NULL);
	}
	pthread_barrier_wait(&barrier);
	atomic_store(&truth->state, 1);
	long ms = atol(argv[3]);
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&t, NULL);
	return end(argv[2]);
}
