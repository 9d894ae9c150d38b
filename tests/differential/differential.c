// SPDX-License-Identifier: MIT

/*
 * Captures stacks in random call trees and compares each, frame by frame, with libunwind's view and
 * with a full unwinding of our own that remembers nothing.
 *
 *   differential [captures [seed [scenario]]]
 *
 * Scenarios: trees (alloca, over-aligned frames, tail calls, setjmp, throw), deep, coroutines,
 * signals, altstack; default: a share of each. Exit status 0: no capture differs from either, at
 * most 0.01 % could not be compared, and the mean depth is at least 18.
 *
 * libunwind is loaded by dlopen, so that it does not replace the C++ run-time's unwinder.
 */

#include "fake_segment.h"
#include "recorder/core/capture/capture.h"
#include "tree.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	N_COROUTINES = 16,
	COROUTINE_STACK_BYTES = 256 << 10,
	FRAMES_MAX = 4096,
	CONTEXT_BYTES = 1 << 20,
	SIGNAL_STACK_BYTES = 256 << 10,
	N_REPORTS_MAX = 10,
};

static tree_function *tree_functions[TREE_N_LIBRARIES * TREE_N_FUNCTIONS];

static tree_function *const *const libraries[TREE_N_LIBRARIES] = {tree_library_0, tree_library_1,
		tree_library_2, tree_library_3, tree_library_4, tree_library_5};

/** Contexts of one level: the thread itself, or its signal handler. */
struct level {
	struct capture *incremental;
	struct capture *full;
	void *frames[FRAMES_MAX];
};

static struct level levels[2];
static int (*unw_backtrace)(void **frames, int n);

static uint64_t n_captures, n_compared, n_skipped, n_signals, n_cut;
static uint64_t n_full_differs, n_reference_differs;
static uint64_t depth_sum, depth_max;
static volatile sig_atomic_t is_checking; // a handler must not enter the reference again

// ---- the reference

static sigjmp_buf escape;
static volatile sig_atomic_t is_in_reference;

/** libunwind reads wherever an interrupted instruction's rule points it to. */
static void on_fault(int number) {
	if (is_in_reference) {
		siglongjmp(escape, 1);
	}
	(void)signal(number, SIG_DFL);
}

/** The frames from this one on; 0: it failed. */
static __attribute__((noinline)) int ask_reference(void **frames) {
	int n = 0;
	if (sigsetjmp(escape, 1) == 0) {
		is_in_reference = 1;
		n = unw_backtrace(frames, FRAMES_MAX);
	}
	is_in_reference = 0;
	return n;
}

// ---- comparing

static void report(const char *what, uint32_t node, void **frames, int n) {
	if (n_full_differs + n_reference_differs > N_REPORTS_MAX) {
		return;
	}
	fprintf(stderr, "differs from %s, capture %" PRIu64 ":\n", what, n_captures);
	for (int i = 0; node != 0 || i < n; i++) {
		uint64_t where = node != 0 ? segment.nodes[node].where : 0;
		void *theirs = i < n ? frames[i] : NULL;
		Dl_info info = {0};
		(void)dladdr((void *)wire_where_pc(where), &info);
		const char *file = info.dli_fname != NULL ? strrchr(info.dli_fname, '/') : NULL;
		fprintf(stderr, "  %c %12" PRIx64 "%s %12p %s %s+%" PRIx64 "\n",
				wire_where_pc(where) == (uint64_t)theirs ? ' ' : '!', wire_where_pc(where),
				where & WIRE_EXACT_PC ? "*" : " ", theirs,
				info.dli_sname != NULL ? info.dli_sname : "?", file != NULL ? file + 1 : "?",
				wire_where_pc(where) - (uint64_t)info.dli_fbase);
		node = node != 0 ? segment.nodes[node].parent : 0;
	}
}

/** Is the stack of `node`, but for the mark of a cut one, the `n` program counters of `frames`? */
static bool is_same(uint32_t node, void **frames, int n) {
	int i = 0;
	for (; node != 0; node = segment.nodes[node].parent, i++) {
		uint64_t where = atomic_load(&segment.nodes[node].where);
		if (where == WIRE_PC_TRUNCATED) {
			break;
		}
		if (i >= n || wire_where_pc(where) != (uint64_t)frames[i]) {
			return false;
		}
	}
	return i == n;
}

/** Capture our caller's stack in every way. */
static __attribute__((noinline)) void check_here(struct level *level) {
	const uint64_t *frame = __builtin_frame_address(0);
	const struct capture_regs regs = {frame[1], (uint64_t)(frame + 2), frame[0]};
	is_checking++;
	struct capture_result result = capture_stack(level->incremental, &regs, 0);
	capture_forget(level->full);
	struct capture_result full = capture_stack(level->full, &regs, 0);
	// The first two are the places of these very calls
	int n = ask_reference(level->frames) - 2;
	void **frames = level->frames + 2;

	n_captures++;
	n_cut += result.is_truncated;
	if (result.is_truncated && n_cut <= N_REPORTS_MAX && getenv("DIFFERENTIAL_SHOW_CUT") != NULL) {
		report("what should be (cut short)", result.node, frames, n);
	}
	if (result.node != full.node || result.is_truncated != full.is_truncated) {
		n_full_differs++;
		report("a full unwinding", result.node, frames, n);
	}
	if (n <= 0 || n >= FRAMES_MAX - 2) {
		n_skipped++;
	} else {
		n_compared++;
		depth_sum += (uint64_t)n;
		depth_max = (uint64_t)n > depth_max ? (uint64_t)n : depth_max;
		if (!is_same(result.node, frames, n)) {
			n_reference_differs++;
			report("libunwind", result.node, frames, n);
		}
	}
	is_checking--;
}

// ---- scenarios

struct scenario {
	const char *name;
	unsigned share; // percent of all captures
	void (*run)(int64_t n_captures, uint64_t seed);
};

static void visit(struct tree *t) {
	t->n_left--;
	check_here(&levels[0]);
	__asm__ volatile("" : : : "memory"); // no tail call
}

static uint32_t pick_limit(struct tree *t, bool is_deep) {
	if (is_deep) {
		return 60 + tree_random(t, 80);
	}
	return tree_random(t, 50) == 0 ? 100 : 10 + tree_random(t, 25);
}

static void grow_trees(struct tree *t, int64_t n, bool is_deep) {
	for (int64_t left = n; left > 0;) {
		t->limit = pick_limit(t, is_deep);
		t->n_left = left < 500 ? left : 500;
		left -= t->n_left;
		t->depth = 0;
		while (t->n_left > 0) {
			tree_pick(t)(t);
		}
		left += t->n_left < 0 ? 0 : t->n_left;
	}
}

static void run_trees(int64_t n, uint64_t seed) {
	struct tree t = {.functions = tree_functions, .random = seed, .may_leave = 1, .visit = visit};
	grow_trees(&t, n, false);
}

static void run_deep(int64_t n, uint64_t seed) {
	struct tree t = {.functions = tree_functions, .random = seed, .may_leave = 1, .visit = visit};
	grow_trees(&t, n, true);
}

static struct {
	ucontext_t contexts[N_COROUTINES], scheduler;
	struct tree trees[N_COROUTINES];
	unsigned current;
	int64_t n_left;
} co;

static void switch_to(unsigned next) {
	unsigned current = co.current;
	co.current = next;
	if (next != current) {
		swapcontext(&co.contexts[current], &co.contexts[next]);
	}
}

static void visit_coroutine(struct tree *t) {
	visit(t);
	co.n_left--;
	if (co.n_left <= 0) {
		setcontext(&co.scheduler);
	}
	if (!t->is_catching && tree_random(t, 8) == 0) {
		unsigned next = tree_random(t, N_COROUTINES);
		if (!co.trees[next].is_catching) {
			switch_to(next);
		}
	}
}

static void coroutine(void) {
	struct tree *t = &co.trees[co.current];
	for (;;) {
		grow_trees(t, 500, false);
	}
}

static void prepare_coroutine(unsigned i) {
	ucontext_t *context = &co.contexts[i];
	getcontext(context);
	// Half of them in pages of their own, half in the middle of the heap
	context->uc_stack.ss_sp = i % 2 == 0 ? fake_pages(COROUTINE_STACK_BYTES)
										 : malloc(COROUTINE_STACK_BYTES);
	context->uc_stack.ss_size = COROUTINE_STACK_BYTES;
	context->uc_link = NULL;
	makecontext(context, coroutine, 0);
}

static void run_coroutines(int64_t n, uint64_t seed) {
	for (unsigned i = 0; i < N_COROUTINES; i++) {
		co.trees[i] = (struct tree){.functions = tree_functions,
				.random = seed + 77 * i,
				.may_leave = 1,
				.visit = visit_coroutine};
		prepare_coroutine(i);
	}
	co.n_left = n;
	co.current = 0;
	swapcontext(&co.scheduler, &co.contexts[0]);
}

static volatile sig_atomic_t is_armed;

static void on_signal(int number) {
	(void)number;
	int saved = errno;
	is_armed = 0;
	if (!is_checking) {
		n_signals++;
		check_here(&levels[1]);
	}
	errno = saved;
}

/** Visit, and see that a signal comes soon. One at a time: a slow handler must not starve us. */
static void visit_interrupted(struct tree *t) {
	if (!is_armed) {
		const struct itimerval soon = {{0, 0}, {0, 5 + tree_random(t, 40)}};
		is_armed = 1;
		setitimer(ITIMER_REAL, &soon, NULL);
	}
	visit(t);
	for (volatile uint32_t i = tree_random(t, 1000); i > 0; i--) {}
}

/** Trees with a signal every few visits. Nothing throws: libunwind cannot follow a throw. */
static void run_interrupted(int64_t n, uint64_t seed, int flags) {
	struct tree t = {.functions = tree_functions, .random = seed, .visit = visit_interrupted};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | flags};
	const struct itimerval never = {{0, 0}, {0, 0}};
	sigaction(SIGALRM, &action, NULL);
	grow_trees(&t, n, false);
	setitimer(ITIMER_REAL, &never, NULL);
}

static void run_signals(int64_t n, uint64_t seed) {
	run_interrupted(n, seed, 0);
}

static void run_altstack(int64_t n, uint64_t seed) {
	const stack_t stack = {.ss_sp = fake_pages(SIGNAL_STACK_BYTES), .ss_size = SIGNAL_STACK_BYTES};
	const stack_t none = {.ss_flags = SS_DISABLE};
	sigaltstack(&stack, NULL);
	run_interrupted(n, seed, SA_ONSTACK);
	sigaltstack(&none, NULL);
	munmap(stack.ss_sp, stack.ss_size);
}

static const struct scenario scenarios[] = {
		{"trees", 55, run_trees},
		{"deep", 10, run_deep},
		{"coroutines", 15, run_coroutines},
		{"signals", 10, run_signals},
		{"altstack", 10, run_altstack},
};

// ---- the whole

static bool set_up(void) {
	void *unwinder = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	*(void **)&unw_backtrace = unwinder != NULL ? dlsym(unwinder, "unw_backtrace") : NULL;
	if (unw_backtrace == NULL) {
		fprintf(stderr, "differential: no libunwind: %s\n", dlerror());
		return false;
	}
	for (unsigned i = 0; i < TREE_N_LIBRARIES * TREE_N_FUNCTIONS; i++) {
		tree_functions[i] = libraries[i / TREE_N_FUNCTIONS][i % TREE_N_FUNCTIONS];
	}
	fake_segment(256 << 20, 256);
	extern void *__libc_stack_end;
	for (unsigned i = 0; i < 2; i++) {
		levels[i].incremental = capture_init(fake_pages(CONTEXT_BYTES), CONTEXT_BYTES,
				(uint64_t)__libc_stack_end, 1);
		levels[i].full = capture_init(fake_pages(CONTEXT_BYTES), CONTEXT_BYTES,
				(uint64_t)__libc_stack_end, 1);
	}
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	return capture_setup();
}

static bool is_good(void) {
	double mean = n_compared > 0 ? (double)depth_sum / (double)n_compared : 0;
	printf("%" PRIu64 " captures (%" PRIu64
		   " in signal handlers), mean depth %.1f, deepest %" PRIu64 ", %u nodes\n"
		   "%" PRIu64 " differ from a full unwinding, %" PRIu64 " from libunwind, %" PRIu64
		   " not compared; %" PRIu64 " cut short by all\n",
			n_captures, n_signals, mean, depth_max, atomic_load(&segment.header->n_nodes),
			n_full_differs, n_reference_differs, n_skipped, n_cut);
	return n_full_differs == 0 && n_reference_differs == 0 && n_skipped * 10000 <= n_captures &&
			mean >= 18;
}

int main(int argc, char **argv) {
	int64_t n = argc > 1 ? atoll(argv[1]) : 300000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	const char *only = argc > 3 ? argv[3] : NULL;
	if (!set_up()) {
		return 1;
	}
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		const struct scenario *s = &scenarios[i];
		if (only == NULL || strcmp(only, s->name) == 0) {
			s->run(only != NULL ? n : n * s->share / 100, seed * 0x9E3779B97F4A7C15ull + i + 1);
		}
	}
	return is_good() ? 0 : 1;
}
