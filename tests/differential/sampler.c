// SPDX-License-Identifier: MIT

/*
 * Preloaded into a real program: captures the stack of every allocation, and compares every 17th
 * with libunwind's segment. At the end one line goes to the file that SAMPLER_LOG names:
 *   <captures> captures, <n> compared, <n> differ, <n> cut short
 * and the first few that differ, frame by frame. What ours knows beyond the end of theirs does not
 * count as a difference; what it lacks does.
 */

#include "fake_segment.h"
#include "machine.h"
#include "recorder/core/capture/capture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FRAMES_MAX = 1000, CONTEXT_BYTES = 1 << 20, N_SHOWN = 5, EVERY = 17 };

static int (*unw_backtrace)(void **frames, int n);
static _Atomic int state; // 0: nothing yet, 1: being set up, 2: ready
static _Atomic uint64_t n_captures, n_compared, n_differ, n_cut;
static _Atomic int log_fd = -1;

static _Thread_local bool is_inside;
static _Thread_local struct capture *context;

static void finish(void) {
	is_inside = true;
	dprintf(log_fd,
			"%" PRIu64 " captures, %" PRIu64 " compared, %" PRIu64 " differ, %" PRIu64
			" cut short\n",
			n_captures, n_compared, n_differ, n_cut);
}

static void set_up(void) {
	int none = 0;
	if (!atomic_compare_exchange_strong(&state, &none, 1)) {
		return;
	}
	const char *log = getenv("SAMPLER_LOG");
	void *unwinder = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	*(void **)&unw_backtrace = unwinder != NULL ? dlsym(unwinder, "unw_backtrace") : NULL;
	fake_segment(64 << 20, 4096);
	if (log == NULL || unw_backtrace == NULL || !capture_setup()) {
		return;
	}
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 500); // out of the program's way
	close(fd);
	atexit(finish);
	atomic_store(&state, 2);
}

static uint64_t stack_end(void) {
	extern void *__libc_stack_end;
	return gettid() == getpid() ? (uint64_t)__libc_stack_end : machine_thread_pointer();
}

static void show(uint32_t node, void **frames, int n) {
	if (atomic_fetch_add(&n_differ, 1) >= N_SHOWN) {
		return;
	}
	for (int i = 0; node != 0 || i < n; i++) {
		uint64_t where = node != 0 ? atomic_load(&segment.nodes[node].where) : 0;
		uint64_t module = wire_where_module(where);
		dprintf(log_fd, "%12" PRIx64 " %12p %.60s\n", wire_where_pc(where),
				i < n ? frames[i] : NULL, module != 0 ? segment.modules[module].path : "");
		node = node != 0 ? segment.nodes[node].parent : 0;
	}
	dprintf(log_fd, "\n");
}

static bool is_same(uint32_t node, void **frames, int n) {
	for (int i = 0; i < n; i++, node = segment.nodes[node].parent) {
		uint64_t where = atomic_load(&segment.nodes[node].where);
		if (node == 0 ||
				(wire_where_pc(where) != (uint64_t)frames[i] &&
						!(where == WIRE_PC_TRUNCATED && i == n - 1))) {
			return false;
		}
	}
	return true;
}

static __attribute__((noinline)) void sample(const struct capture_regs *regs) {
	void *frames[FRAMES_MAX];
	if (context == NULL) {
		context = capture_init(fake_pages(CONTEXT_BYTES), CONTEXT_BYTES, stack_end(), 1);
	}
	struct capture_result result = capture_stack(context, regs, 0);
	n_cut += result.is_truncated;
	if (atomic_fetch_add(&n_captures, 1) % EVERY != 0) {
		return;
	}
	int n = unw_backtrace(frames, FRAMES_MAX);
	int first = 0; // our own frames come first
	while (first < n && (uint64_t)frames[first] != regs->pc) {
		first++;
	}
	n_compared++;
	if (n < FRAMES_MAX && !is_same(result.node, frames + first, n - first)) {
		show(result.node, frames + first, n - first);
	}
}

#define SAMPLE()                                               \
	if (!is_inside) {                                          \
		is_inside = true;                                      \
		if (atomic_load(&state) == 2) {                        \
			const struct capture_regs regs = MACHINE_CALLER(); \
			sample(&regs);                                     \
		} else {                                               \
			set_up();                                          \
		}                                                      \
		is_inside = false;                                     \
	}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size) {
	SAMPLE();
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
	SAMPLE();
	return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size) {
	SAMPLE();
	return __libc_realloc(block, size);
}
