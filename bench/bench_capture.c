// SPDX-License-Identifier: MIT

/*
 * What a capture costs, per depth, with the stack unchanged between captures and with its
 * innermost frames churned; beside it libunwind's unw_backtrace. All columns are measured in
 * turns, many rounds, and the least of each is shown: the machine's moods hit all alike.
 *
 *   bench_capture [rounds]
 */

#include "../tests/fake_segment.h"
#include "recorder/core/capture/capture.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_DEPTHS = 6, FRAMES_MAX = 1024, CONTEXT_BYTES = 1 << 20 };

static const unsigned depths[N_DEPTHS] = {5, 10, 20, 40, 60, 200};

enum method { NOTHING, INCREMENTAL, FULL, LIBUNWIND, N_METHODS };

static struct capture *context, *full_context;
static int (*unw_backtrace)(void **frames, int n);
static void *frames[FRAMES_MAX];
static volatile uint32_t sink;
static uint64_t random_state = 88172645463325252ull;

static uint32_t random_below(uint32_t n) {
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 32) * n >> 32);
}

static double now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/** As a hook of the recorder: it has a frame pointer, its caller has none. */
static __attribute__((noinline)) void hook(enum method method) {
	const uint64_t *frame = __builtin_frame_address(0);
	const struct capture_regs regs = {frame[1], (uint64_t)(frame + 2), frame[0]};
	switch (method) {
	case INCREMENTAL: sink += capture_stack(context, &regs, 0).node; break;
	case FULL:
		capture_forget(full_context);
		sink += capture_stack(full_context, &regs, 0).node;
		break;
	case LIBUNWIND: sink += (uint32_t)unw_backtrace(frames, FRAMES_MAX); break;
	default: sink += (uint32_t)regs.sp;
	}
}

static double unchanged(enum method method, unsigned n) {
	double start = now_ns();
	for (unsigned i = 0; i < n; i++) {
		hook(method);
	}
	return (now_ns() - start) / n;
}

static __attribute__((noinline)) void churn_c(enum method method) {
	hook(method);
	__asm__ volatile("");
}

static __attribute__((noinline)) void churn_d(enum method method) {
	hook(method);
	__asm__ volatile("");
}

static __attribute__((noinline)) void churn_a(enum method method) {
	(random_below(2) != 0 ? churn_c : churn_d)(method);
	__asm__ volatile("");
}

static __attribute__((noinline)) void churn_b(enum method method) {
	(random_below(2) != 0 ? churn_c : churn_d)(method);
	__asm__ volatile("");
}

static double churned(enum method method, unsigned n) {
	double start = now_ns();
	for (unsigned i = 0; i < n; i++) {
		(random_below(2) != 0 ? churn_a : churn_b)(method);
	}
	return (now_ns() - start) / n;
}

static double best[2][N_METHODS][N_DEPTHS];

static void least(double *best_ns, double ns) {
	*best_ns = *best_ns == 0 || ns < *best_ns ? ns : *best_ns;
}

static __attribute__((noinline)) void measure(unsigned d) {
	for (unsigned m = 0; m < N_METHODS; m++) {
		unsigned n = m <= INCREMENTAL ? 20000 : 2000;
		hook((enum method)m);
		least(&best[0][m][d], unchanged((enum method)m, n));
		least(&best[1][m][d], churned((enum method)m, n));
	}
}

// Frames of different sizes, in turns
#define LEVEL(NAME, NEXT, BYTES)                                            \
	static __attribute__((noinline)) void NAME(unsigned left, unsigned d) { \
		char room[BYTES];                                                   \
		__asm__ volatile("" : : "r"(room) : "memory");                      \
		if (left == 0) {                                                    \
			measure(d);                                                     \
		} else {                                                            \
			NEXT(left - 1, d);                                              \
		}                                                                   \
		__asm__ volatile("" : : "r"(room) : "memory");                      \
	}

static void level_0(unsigned left, unsigned d);
LEVEL(level_2, level_0, 200)
LEVEL(level_1, level_2, 24)
LEVEL(level_0, level_1, 72)

static void print_table(const char *title, const double (*table)[N_DEPTHS]) {
	static const char *const names[N_METHODS] = {"no capture", "incremental", "full", "libunwind"};
	printf("%s\n%-12s", title, "ns, depth");
	for (unsigned d = 0; d < N_DEPTHS; d++) {
		printf("%8u", depths[d]);
	}
	for (unsigned m = 0; m < N_METHODS; m++) {
		printf("\n%-12s", names[m]);
		for (unsigned d = 0; d < N_DEPTHS; d++) {
			printf("%8.1f", table[m][d]);
		}
	}
	printf("\n%-12s", "ratio");
	for (unsigned d = 0; d < N_DEPTHS; d++) {
		printf("%8.1f", table[LIBUNWIND][d] / table[INCREMENTAL][d]);
	}
	printf("\n\n");
}

int main(int argc, char **argv) {
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 15;
	void *unwinder = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	*(void **)&unw_backtrace = unwinder != NULL ? dlsym(unwinder, "unw_backtrace") : NULL;
	fake_segment(1 << 20, 64);
	extern void *__libc_stack_end;
	if (unw_backtrace == NULL || !capture_setup()) {
		fprintf(stderr, "bench_capture: libunwind.so.8 is needed\n");
		return 1;
	}
	uint64_t end = (uint64_t)__libc_stack_end;
	context = capture_init(fake_pages(CONTEXT_BYTES), CONTEXT_BYTES, end, 1);
	full_context = capture_init(fake_pages(CONTEXT_BYTES), CONTEXT_BYTES, end, 1);
	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned d = 0; d < N_DEPTHS; d++) {
			level_0(depths[d] - 2, d);
		}
	}
	print_table("unchanged stack", (const double(*)[N_DEPTHS])best[0]);
	print_table("two innermost callers churned (with the calls themselves)",
			(const double(*)[N_DEPTHS])best[1]);
	return 0;
}
