// SPDX-License-Identifier: MIT
#include "injector/space.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

// A child allocates, notes what it has in shared memory, and waits: its heap is walked from here.

enum { BLOCKS_MAX = 1 << 17, THREADS = 4 };

struct noted {
	uint64_t address, bytes; // bytes 0: free again
};

struct truth {
	_Atomic uint32_t n;
	struct noted items[BLOCKS_MAX];
};

static struct truth *truth;

static size_t some_size(unsigned *seed) {
	static const size_t most[] = {32, 200, 1000, 5000, 60000};
	return 1 + (unsigned)rand_r(seed) % most[(unsigned)rand_r(seed) % 5];
}

static void note(void *block) {
	uint32_t i = atomic_fetch_add(&truth->n, 1);
	assert_true(i < BLOCKS_MAX);
	truth->items[i] = (struct noted){(uint64_t)(uintptr_t)block, malloc_usable_size(block)};
}

/** Half of the blocks are freed again, in bursts: into fast bins, threads' lists, and merged. */
static void *allocate(void *user) {
	unsigned seed = (unsigned)(uintptr_t)user;
	enum { BURST = 40 };
	void *burst[BURST];
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < BURST; i++) {
			size_t size = some_size(&seed);
			burst[i] = rand_r(&seed) % 10 == 0 ? memalign(64, size) : malloc(size);
			memset(burst[i], rand_r(&seed), size);
		}
		for (int i = 0; i < BURST; i++) {
			if (rand_r(&seed) % 2) {
				free(burst[i]);
			} else {
				note(burst[i]);
			}
		}
	}
	return NULL;
}

static _Atomic int n_ready;

static void *allocate_and_stay(void *user) {
	(void)allocate(user);
	atomic_fetch_add(&n_ready, 1);
	(void)pause();
	return NULL;
}

static void use_nothing(void) {}

static void use_one_thread(void) {
	(void)allocate((void *)7);
}

static void use_threads(void) {
	for (uintptr_t i = 1; i <= THREADS; i++) {
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, allocate_and_stay, (void *)i), 0);
	}
	(void)allocate((void *)99);
	while (atomic_load(&n_ready) < THREADS) {
		(void)usleep(1000);
	}
}

/** More than a heap of 64 MiB holds: the arena gets several. */
static void *fill_heaps(void *user) {
	(void)user;
	for (int i = 0; i < 3000; i++) {
		note(malloc(60000));
	}
	atomic_fetch_add(&n_ready, 1);
	(void)pause();
	return NULL;
}

static void use_several_heaps(void) {
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, fill_heaps, NULL), 0);
	while (atomic_load(&n_ready) < 1) {
		(void)usleep(1000);
	}
}

static void use_mappings(void) {
	static const size_t alignments[] = {16, 64, 256, 4096, 1 << 16, 1 << 20};
	for (size_t i = 0; i < 60; i++) {
		void *block = memalign(alignments[i % 6], (40u << 20) + i * 1000);
		*(char *)block = 1;
		note(block);
		if (i % 10 == 9) {
			truth->items[i - 3].bytes = 0;
			free((void *)(uintptr_t)truth->items[i - 3].address);
		}
	}
}

/** As exim4 does with its configuration: pages in the middle of the heap may not be written. */
static void use_a_part_to_read(void) {
	(void)allocate((void *)7);
	void *block = memalign(4096, 8192);
	note(block);
	(void)allocate((void *)8);
	assert_int_equal(mprotect(block, 8192, PROT_READ), 0);
}

static pid_t start(void (*use)(void)) {
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		use();
		(void)!write(ready[1], "", 1);
		for (;;) {
			(void)pause();
		}
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return child;
}

static int compare(const void *a, const void *b) {
	const struct noted *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static void walk(pid_t child, struct heap_walk *w) {
	assert_true(heap_walk(w, child));
}

/** Each noted block is there with its size, and besides only what the library has for itself. */
static void check_use(void (*use)(void), size_t n_others_max) {
	truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(truth, MAP_FAILED);
	struct heap_walk before, after;
	pid_t idle = start(use_nothing);
	walk(idle, &before); // what this program had when the child was forked
	(void)kill(idle, SIGKILL);
	(void)waitpid(idle, NULL, 0);
	pid_t child = start(use);
	walk(child, &after);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	assert_int_equal(after.n_unsure, 0);
	qsort(truth->items, truth->n, sizeof *truth->items, compare);
	size_t at = 0, n_live = 0;
	for (uint32_t i = 0; i < truth->n; i++) {
		const struct noted *known = &truth->items[i];
		if (known->bytes == 0) {
			continue;
		}
		n_live++;
		while (at < after.blocks.n && after.blocks.items[at].address < known->address) {
			at++;
		}
		assert_true(at < after.blocks.n);
		assert_int_equal(after.blocks.items[at].address, known->address);
		assert_int_equal(after.blocks.items[at].bytes, known->bytes);
	}
	assert_true(after.blocks.n >= before.blocks.n + n_live);
	assert_true(after.blocks.n <= before.blocks.n + n_live + n_others_max);
	heap_walk_finish(&before);
	heap_walk_finish(&after);
	(void)munmap(truth, sizeof *truth);
}

static void one_thread(void **state) {
	(void)state;
	check_use(use_one_thread, 2);
}

static void a_part_to_read(void **state) {
	(void)state;
	check_use(use_a_part_to_read, 2);
}

static void threads_with_arenas(void **state) {
	(void)state;
	check_use(use_threads, 4 * THREADS);
}

static void several_heaps(void **state) {
	(void)state;
	check_use(use_several_heaps, 4);
}

static void mappings(void **state) {
	(void)state;
	check_use(use_mappings, 2);
}

/** Whatever the memory holds, the walk ends and says that it is not sure. */
static void destroyed_heaps_are_left_out(void **state) {
	(void)state;
	truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(truth, MAP_FAILED);
	pid_t child = start(use_one_thread);
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
	int memory = open(path, O_RDWR | O_CLOEXEC);
	assert_true(memory >= 0);
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t nonsense = (uint64_t)rand() << 32 | (uint64_t)rand();
		uint64_t at = truth->items[(uint32_t)rand() % truth->n].address - 8;
		assert_int_equal(pwrite(memory, &nonsense, 8, (off_t)at), 8);
		struct heap_walk w;
		walk(child, &w);
		assert_true(w.n_unsure > 0);
		heap_walk_finish(&w);
	}
	(void)close(memory);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	(void)munmap(truth, sizeof *truth);
}

int main(void) {
#ifdef __SANITIZE_ADDRESS__
	puts("AddressSanitizer's allocator is in the place of glibc's: there is nothing to walk");
	return 77; // skipped, for Meson
#endif
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(one_thread),
			cmocka_unit_test(a_part_to_read),
			cmocka_unit_test(threads_with_arenas),
			cmocka_unit_test(several_heaps),
			cmocka_unit_test(mappings),
			cmocka_unit_test(destroyed_heaps_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
