// SPDX-License-Identifier: MIT
/* Frames of our own stack, against those that libgcc's unwinder finds. */
#include "collector/looks/looks.h"
#include "sys/sys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>
#include <cmocka.h>

enum { MOST = 64, WORD_BYTES = 8, OPEN_FILES = 16 };

/** By libgcc: a frame's program counter, and from where on it uses the stack. */
static struct {
	uint64_t pcs[MOST], starts[MOST];
	size_t n;
} slow;

static struct graph_thread thread;
static int n_compared;

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *unused) {
	(void)unused;
	if (slow.n < MOST) {
		slow.pcs[slow.n] = _Unwind_GetIP(context);
		slow.starts[slow.n++] = _Unwind_GetCFA(context);
	}
	return _URC_NO_REASON;
}

/** One frame after the other, as long as none is behind the word. */
static size_t slow_frame(uint64_t at) {
	size_t i = 0;
	while (i + 1 < slow.n && at >= slow.starts[i + 1]) {
		i++;
	}
	return i;
}

static void compare(struct root_names *n) {
	root_names_find_frames(n, 0, &thread);
	assert_in_range(n->frames.n, 6, slow.n);
	for (size_t i = 0; i < n->frames.n; i++) {
		const struct stack_frame *f = &n->frames.items[i];
		assert_int_equal(f->start, slow.starts[i]);
		assert_true(i == 0 || f->pc + 1 == slow.pcs[i]);
	}
	for (uint64_t at = thread.sp; at < n->frames.items[n->frames.n - 1].caller.called_end;
			at += WORD_BYTES) {
		const struct stack_frame *f = &n->frames.items[slow_frame(at)];
		const uint32_t found = root_names_frame(n, at);
		if (map_get(&n->saved, at) == 0) {
			const char *name = n->frames.items[f->outermost - 1].named.function;
			assert_int_equal(found, name ? f->outermost : 0);
			n_compared += found != 0;
		}
	}
}

/** Its own frame is the innermost one. */
static __attribute__((noinline)) void look(void) {
	static const int by_number_in_dwarf[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
			REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
			REG_RIP};
	ucontext_t context;
	assert_int_equal(getcontext(&context), 0);
	slow.n = 0;
	(void)_Unwind_Backtrace(take_frame, NULL);
	for (size_t i = 0; i < N_OF(by_number_in_dwarf); i++) {
		thread.words[i] = (uint64_t)context.uc_mcontext.gregs[by_number_in_dwarf[i]];
	}
	thread.sp = (uint64_t)context.uc_mcontext.gregs[REG_RSP];

	struct smaps areas = {0};
	struct texts texts = {0};
	struct modules modules;
	modules_init(&modules, &texts, getpid(), NULL, OPEN_FILES);
	assert_true(smaps_read(&areas, getpid(), "maps"));
	struct root_names n = {.areas = &areas,
			.modules = &modules,
			.symbols = symbols_create(NULL),
			.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC),
			.pid = getpid(),
			.area = UINT32_MAX};
	compare(&n);
	file_close(n.memory);
	symbols_destroy(n.symbols);
	vec_finish(&n.frames);
	map_finish(&n.saved);
	arena_finish(&n.arena);
	modules_finish(&modules);
	smaps_finish(&areas);
	texts_finish(&texts);
}

/** A frame whose size is known only now, and one that must be aligned. */
static __attribute__((noinline)) void recurse(int depth) {
	_Alignas(64) volatile char aligned[64];
	volatile char *room = __builtin_alloca((size_t)depth * 40 + 8);
	aligned[0] = room[0] = (char)depth;
	if (depth > 0) {
		recurse(depth - 1);
	} else {
		look();
	}
	assert_int_equal(aligned[0] + room[0], 2 * depth);
}

static int called_by_a_library(const void *a, const void *b) {
	static bool was_called;
	if (!was_called) {
		was_called = true;
		recurse(5);
	}
	return (a > b) - (a < b);
}

static void frames_are_the_slow_versions(void **state) {
	(void)state;
	int numbers[] = {3, 1, 2};
	look();
	recurse(3);
	qsort(numbers, N_OF(numbers), sizeof *numbers, called_by_a_library);
	assert_in_range(n_compared, 300, INT32_MAX);
}

/** Of a function that calls itself, all frames are one. */
static void one_function_is_one(void **state) {
	(void)state;
	struct root_names n = {0};
	for (uint32_t i = 0; i < 3; i++) {
		const struct stack_frame f = {.caller.called_end = 100 * (i + 1),
				.start = 100 * i,
				.outermost = i == 1 ? 2 : 3,
				.is_asked = true,
				.named.function = "f"};
		assert_true(vec_add(&n.frames, f));
	}
	assert_true(map_put(&n.saved, 8, 1 + 2) && map_put(&n.saved, 16, 1));
	static const uint32_t want[][2] = {{0, 3}, {8, 2}, {16, 0}, {24, 3}, {99, 3}, {100, 2},
			{200, 3}, {300, 0}};
	for (size_t i = 0; i < N_OF(want); i++) {
		assert_int_equal(root_names_frame(&n, want[i][0]), want[i][1]);
	}
	vec_finish(&n.frames);
	map_finish(&n.saved);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(frames_are_the_slow_versions),
			cmocka_unit_test(one_function_is_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
