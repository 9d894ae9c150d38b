// SPDX-License-Identifier: MIT

/**
 * The truth of a random program (generate.py), counted by the program itself: every call of the
 * allocation functions goes through a w_*() of this file, which notes the block, the thread and the
 * chain of generated functions that led there. shadow_write() writes it all as JSON.
 *
 * Each generated function is entered and left by hand (ENTER, LEAVE), so the chain of calls is known
 * without unwinding. The memory of the shadow is static: nothing here allocates on its own.
 *
 * In an ordered program (ORDERED) the lock is held around the allocator's call as well, so there is
 * one order of all calls and the peak is one number. Else the calls of threads overlap as they like
 * and the peak lies between two sums: `low` counts a block while it is surely alive, `high` while it
 * may be.
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { N_NODES = 1 << 16, N_BLOCKS = 1 << 16, N_THREADS = 1 << 13, N_NAMES = 16 };
enum lock_kind { LOCK_MUTEX, LOCK_SPIN, LOCK_PIPE, LOCK_SEMAPHORE };

#define NOINLINE __attribute__((noinline))

struct shadow_node {
	uint32_t parent, function, child, sibling;
	uint64_t at_peak; // number of the peak that peak_* are of
	uint64_t allocations, bytes, temporary, live_blocks, live_bytes, peak_blocks, peak_bytes;
};

struct shadow_block {
	void *p;
	size_t size;
	uint32_t node, thread, next;
	uint64_t number; // of its thread's allocations, from 1
};

/** Nodes below N_NAMES are the roots of threads: one per name. */
static struct shadow_node shadow_nodes[N_NODES];
static struct shadow_block shadow_blocks[N_BLOCKS]; // 0 is none
static uint32_t shadow_heads[N_BLOCKS], shadow_unused;
static char shadow_names[N_NAMES][16];
static uint64_t shadow_made_by[N_THREADS];
static uint32_t shadow_n_nodes = N_NAMES, shadow_n_blocks = 1, shadow_n_names, shadow_n_threads = 1;
static uint64_t shadow_live, shadow_peak, shadow_peaks, shadow_high, shadow_highest;
static uint64_t shadow_allocations, shadow_frees, shadow_failed, shadow_forks, shadow_overflows;
static __thread uint32_t shadow_current, shadow_thread;
static __thread int shadow_depth;

// ---- one order: a lock that its thread may take again

static pthread_mutex_t shadow_mutex = PTHREAD_MUTEX_INITIALIZER;
static int shadow_spin, shadow_pipe[2];
static sem_t shadow_semaphore;

static void shadow_acquire(void) {
	char token;
	switch (LOCK) {
	case LOCK_MUTEX: pthread_mutex_lock(&shadow_mutex); break;
	case LOCK_SPIN:
		while (__atomic_exchange_n(&shadow_spin, 1, __ATOMIC_ACQUIRE)) {
			sched_yield();
		}
		break;
	case LOCK_PIPE:
		while (read(shadow_pipe[0], &token, 1) != 1) {}
		break;
	case LOCK_SEMAPHORE:
		while (sem_wait(&shadow_semaphore) != 0) {}
		break;
	}
}

static void shadow_give_back(void) {
	switch (LOCK) {
	case LOCK_MUTEX: pthread_mutex_unlock(&shadow_mutex); break;
	case LOCK_SPIN: __atomic_store_n(&shadow_spin, 0, __ATOMIC_RELEASE); break;
	case LOCK_PIPE:
		while (write(shadow_pipe[1], "", 1) != 1) {}
		break;
	case LOCK_SEMAPHORE: sem_post(&shadow_semaphore); break;
	}
}

static NOINLINE void hold(void) {
	if (shadow_depth++ == 0) {
		shadow_acquire();
	}
}

static NOINLINE void release(void) {
	if (--shadow_depth == 0) {
		shadow_give_back();
	}
}

// ---- where the thread is

/** Not inlined, as are all that touch thread-local memory: a coroutine may keep no address of it. */
static NOINLINE uint32_t shadow_here(void) {
	return shadow_current;
}

static NOINLINE void shadow_back(uint32_t node) {
	shadow_current = node;
}

static uint32_t shadow_child(uint32_t parent, uint32_t function) {
	hold();
	uint32_t node = shadow_nodes[parent].child;
	while (node && shadow_nodes[node].function != function) {
		node = shadow_nodes[node].sibling;
	}
	if (!node && shadow_n_nodes < N_NODES) {
		node = shadow_n_nodes++;
		shadow_nodes[node].parent = parent;
		shadow_nodes[node].function = function;
		shadow_nodes[node].sibling = shadow_nodes[parent].child;
		shadow_nodes[parent].child = node;
	}
	shadow_overflows += !node;
	release();
	return node;
}

static NOINLINE uint32_t shadow_enter(uint32_t function) {
	uint32_t before = shadow_current;
	shadow_current = shadow_child(before, function);
	return before;
}

/** The root of the stacks of this thread: where its coroutines begin. */
static NOINLINE uint32_t shadow_root(void) {
	uint32_t node = shadow_current;
	while (node >= N_NAMES) {
		node = shadow_nodes[node].parent;
	}
	return node;
}

#define ENTER(function) uint32_t shadow_before_ = shadow_enter(function)
#define LEAVE()         shadow_back(shadow_before_)

/** Begin a thread under a name, which others may have as well. */
static void shadow_begin(const char *name) {
	hold();
	uint32_t i = 0;
	while (i < shadow_n_names && strcmp(shadow_names[i], name) != 0) {
		i++;
	}
	if (i == shadow_n_names) {
		strcpy(shadow_names[shadow_n_names++], name);
	}
	shadow_thread = shadow_n_threads++;
	shadow_overflows += shadow_n_threads >= N_THREADS;
	shadow_current = i;
	release();
}

static void shadow_start(const char *name) {
	sem_init(&shadow_semaphore, 0, 1);
	shadow_overflows += pipe(shadow_pipe) != 0 || write(shadow_pipe[1], "", 1) != 1;
	if (LOCK == LOCK_MUTEX) {
		pthread_mutex_init(&shadow_mutex, NULL);
	}
	shadow_begin(name); // the name that the kernel gave it
}

// ---- blocks; all with the lock held

/** What a node held at the newest peak is what it holds until it changes for the first time. */
static struct shadow_node *shadow_settle(uint32_t node) {
	struct shadow_node *n = &shadow_nodes[node];
	if (n->at_peak < shadow_peaks) {
		n->at_peak = shadow_peaks;
		n->peak_blocks = n->live_blocks;
		n->peak_bytes = n->live_bytes;
	}
	return n;
}

static uint32_t *shadow_head(const void *p) {
	return &shadow_heads[((uintptr_t)p * 0x9e3779b97f4a7c15u >> 32) % N_BLOCKS];
}

static void shadow_note(void *p, size_t size) {
	uint32_t id = shadow_unused;
	if (id) {
		shadow_unused = shadow_blocks[id].next;
	} else if (shadow_n_blocks < N_BLOCKS) {
		id = shadow_n_blocks++;
	} else {
		shadow_overflows++;
	}

	struct shadow_block *b = &shadow_blocks[id];
	uint32_t *head = shadow_head(p);
	b->p = p, b->size = size, b->node = shadow_current, b->thread = shadow_thread, b->next = *head;
	b->number = ++shadow_made_by[shadow_thread];
	*head = id;

	struct shadow_node *n = shadow_settle(b->node);
	n->allocations++, n->bytes += size, n->live_blocks++, n->live_bytes += size;
	shadow_allocations++;
	shadow_live += size;
	if (shadow_live > shadow_peak) {
		shadow_peak = shadow_live;
		shadow_peaks++;
	}
}

/** Forget a block; its size. */
static size_t shadow_forget(void *p, bool is_realloc) {
	uint32_t *link = shadow_head(p);
	while (*link && shadow_blocks[*link].p != p) {
		link = &shadow_blocks[*link].next;
	}
	uint32_t id = *link;
	shadow_overflows += !id;
	struct shadow_block *b = &shadow_blocks[id];
	*link = b->next;
	b->next = shadow_unused;
	shadow_unused = id;

	struct shadow_node *n = shadow_settle(b->node);
	n->live_blocks--, n->live_bytes -= b->size;
	n->temporary += !is_realloc && b->number == shadow_made_by[b->thread];
	shadow_live -= b->size;
	shadow_frees++;
	return b->size;
}

static void shadow_raise_high(size_t size) {
	shadow_high += size;
	if (shadow_high > shadow_highest) {
		shadow_highest = shadow_high;
	}
}

static NOINLINE void shadow_before(size_t size) {
	hold();
	shadow_raise_high(size);
	if (!ORDERED) {
		release();
	}
}

static NOINLINE void *shadow_after(void *p, size_t size) {
	if (!ORDERED) {
		hold();
	}
	if (p) {
		shadow_note(p, size);
	} else {
		shadow_high -= size;
		shadow_failed++;
	}
	release();
	return p;
}

static NOINLINE size_t shadow_before_free(void *p, bool is_realloc) {
	hold();
	size_t size = shadow_forget(p, is_realloc);
	if (!ORDERED) {
		release();
	}
	return size;
}

static NOINLINE void shadow_after_free(size_t size) {
	if (!ORDERED) {
		hold();
	}
	shadow_high -= size;
	release();
}

// ---- the functions to call; stacks are compared above them

#define WRAP(name, parameters, size, call)                              \
	static NOINLINE __attribute__((unused)) void *w_##name parameters { \
		shadow_before(size);                                            \
		return shadow_after((void *)(call), size);                      \
	}

static void *shadow_posix_memalign(size_t alignment, size_t n) {
	void *p = NULL;
	return posix_memalign(&p, alignment, n) == 0 ? p : NULL;
}

WRAP(malloc, (size_t n), n, malloc(n))
WRAP(calloc, (size_t n), n, calloc(n % 7 == 0 ? 7 : 1, n % 7 == 0 ? n / 7 : n))
WRAP(posix_memalign, (size_t n), n, shadow_posix_memalign(64, n))
WRAP(aligned_alloc, (size_t n), n, aligned_alloc(32, n))
WRAP(memalign, (size_t n), n, memalign(256, n))
WRAP(strdup, (const char *s), strlen(s) + 1, strdup(s))
WRAP(strndup, (const char *s, size_t n), n + 1, strndup(s, n)) // n <= strlen(s)

static NOINLINE __attribute__((unused)) void w_free(void *p) {
	if (p) {
		size_t size = shadow_before_free(p, false);
		free(p);
		shadow_after_free(size);
	} else {
		free(NULL);
	}
}

static NOINLINE __attribute__((unused)) void *w_realloc(void *p, size_t n) {
	size_t old = p ? shadow_before_free(p, true) : 0;
	shadow_before(n);
	void *moved = n % 2 ? realloc(p, n) : reallocarray(p, 2, n / 2);
	shadow_after(moved, n);
	if (p) {
		shadow_after_free(old);
	}
	return moved;
}

/** Calls that no allocator can answer. */
static NOINLINE __attribute__((unused)) void w_fail(void) {
	volatile size_t much = SIZE_MAX / 2 - 100;
	shadow_before(0);
	shadow_after(malloc(much), 0);
	shadow_before(0);
	shadow_after(calloc(much, 16), 0);
}

#ifdef __cplusplus
#include <new>

WRAP(new, (size_t n), n, operator new(n))
WRAP(new_array, (size_t n), n, operator new[](n))
WRAP(new_nothrow, (size_t n), n, operator new(n, std::nothrow))
WRAP(new_aligned, (size_t n), n, operator new(n, std::align_val_t(64)))

#define UNWRAP(name, call)                                           \
	static NOINLINE __attribute__((unused)) void w_##name(void *p) { \
		size_t size = shadow_before_free(p, false);                  \
		call;                                                        \
		shadow_after_free(size);                                     \
	}

UNWRAP(delete, operator delete(p))
UNWRAP(delete_array, operator delete[](p))
UNWRAP(delete_aligned, operator delete(p, std::align_val_t(64)))

/**
 * An exception's memory is taken by the C++ runtime: the object and a header of 128 bytes. Only in
 * ordered programs, with the lock held from before the try block until after it.
 */
static NOINLINE __attribute__((unused)) uintptr_t shadow_throw(size_t size) {
	static uintptr_t n_thrown;
	hold();
	uintptr_t key = 2 * ++n_thrown + 1;
	shadow_raise_high(size + 128);
	shadow_note((void *)key, size + 128);
	release();
	return key;
}

static NOINLINE __attribute__((unused)) void shadow_caught(uintptr_t key) {
	hold();
	shadow_high -= shadow_forget((void *)key, false);
	release();
}
#endif

// ---- to the file

static char shadow_text[1 << 16];
static size_t shadow_text_size;
static int shadow_file = -1;

/** snprintf allocates nothing for what is asked of it here; stdio's streams would. */
__attribute__((format(printf, 1, 2))) static void shadow_say(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	int n = vsnprintf(shadow_text + shadow_text_size, 4096, format, arguments);
	va_end(arguments);
	shadow_text_size += (size_t)n;
	if (shadow_text_size > sizeof(shadow_text) - 4096 || n == 0) {
		shadow_overflows += write(shadow_file, shadow_text, shadow_text_size) < 0;
		shadow_text_size = 0;
	}
}

static void shadow_say_numbers(const char *word, const uint64_t *numbers, int n) {
	shadow_say("\"%s\":[", word);
	for (int i = 0; i < n; i++) {
		shadow_say("%s%llu", i ? "," : "", (unsigned long long)numbers[i]);
	}
	shadow_say("]");
}

static void shadow_say_node(uint32_t node) {
	const struct shadow_node *n = shadow_settle(node);
	const uint64_t costs[] = {n->allocations, n->bytes, n->temporary, n->live_blocks, n->live_bytes,
			n->peak_blocks, n->peak_bytes};
	shadow_say(",\n{");
	shadow_say_numbers("costs", costs, 7);
	shadow_say(",\"functions\":[");
	for (const char *comma = ""; node >= N_NAMES; node = shadow_nodes[node].parent) {
		shadow_say("%s%u", comma, shadow_nodes[node].function);
		comma = ",";
	}
	shadow_say("],\"thread\":\"%s\"}", shadow_names[node]);
}

/** Write the truth to a file. No other thread may allocate any more, nor this one afterwards. */
static void shadow_write(const char *path) {
	if (shadow_high > 0 && shadow_high != shadow_live) {
		shadow_overflows++;
	}
	shadow_file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const uint64_t totals[] = {shadow_allocations, shadow_frees, shadow_failed, shadow_forks,
			shadow_peak, shadow_highest, shadow_live, shadow_overflows};
	shadow_say("{");
	shadow_say_numbers("totals", totals, 8);
	shadow_say(",\"nodes\":[{}");
	for (uint32_t i = 0; i < shadow_n_nodes; i++) {
		if (shadow_nodes[i].allocations) {
			shadow_say_node(i);
		}
	}
	shadow_say("]}\n");
	shadow_say("%s", "");
	close(shadow_file);
}
