// SPDX-License-Identifier: MIT

/* Odd stacks. That ordinary ones are right is shown by tests/differential. */

#include "../fake_segment.h"
#include "recorder/core/capture/context.h"
#include "recorder/core/segment.h"
#include "recorder/core/unwind/modules.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>
#include <cmocka.h>

enum { PAGE = 4096, CONTEXT_BYTES = 16 << 20, STACK_BYTES = 64 << 10 };

static struct capture *context;
static struct capture_result result; // of the last capture

static uint64_t stack_end(void) {
	extern void *__libc_stack_end;
	return (uint64_t)__libc_stack_end;
}

static int setup(void **state) {
	(void)state;
	fake_segment(4 << 20, 64);
	context = capture_init(fake_pages(CONTEXT_BYTES), CONTEXT_BYTES, stack_end(), 1);
	return context != NULL && capture_setup() ? 0 : 1;
}

/** Capture the stack of the caller, as a hook does. */
static __attribute__((noinline)) struct capture_regs capture_with(struct capture *c,
		uint64_t stop_sp) {
	const uint64_t *frame = __builtin_frame_address(0);
	const struct capture_regs regs = {frame[1], (uint64_t)(frame + 2), frame[0]};
	result = capture_stack(c, &regs, stop_sp);
	return regs;
}

static __attribute__((noinline)) void capture_here(void) {
	(void)capture_with(context, 0);
	__asm__ volatile("");
}

static unsigned depth_of(uint32_t node) {
	unsigned n = 0;
	for (; node != 0; node = segment.nodes[node].parent) {
		n++;
	}
	return n;
}

static uint64_t outermost_of(uint32_t node) {
	uint64_t where = 0;
	for (; node != 0; node = segment.nodes[node].parent) {
		where = atomic_load(&segment.nodes[node].where);
	}
	return where;
}

/** Is there a frame in [low, low + bytes)? */
static bool has_frame_in(uint32_t node, const void *low, size_t bytes) {
	for (; node != 0; node = segment.nodes[node].parent) {
		uint64_t pc = wire_where_pc(atomic_load(&segment.nodes[node].where));
		if (pc - (uint64_t)low < bytes) {
			return true;
		}
	}
	return false;
}

static void assert_whole(void) {
	assert_int_not_equal(result.node, 0);
	assert_false(result.is_truncated);
	assert_true(outermost_of(result.node) != WIRE_PC_TRUNCATED);
}

static void assert_cut(void) {
	assert_int_not_equal(result.node, 0);
	assert_true(result.is_truncated);
	assert_true(outermost_of(result.node) == WIRE_PC_TRUNCATED);
}

// ---- depth

static __attribute__((noinline)) void recurse(unsigned left, struct capture *c) {
	if (left == 0) {
		(void)capture_with(c, 0);
	} else {
		recurse(left - 1, c);
	}
	__asm__ volatile("");
}

static void test_deep_recursion(void **state) {
	(void)state;
	capture_here();
	unsigned here = depth_of(result.node);
	const unsigned depths[] = {10000, 100000, 10000, 100};
	for (unsigned i = 0; i < 4; i++) {
		recurse(depths[i], context);
		assert_whole();
		assert_int_equal(depth_of(result.node), here + depths[i] + 0);
	}
}

static void test_too_deep_for_the_context(void **state) {
	(void)state;
	enum { SMALL = 4 * CAPTURE_SMALL_BYTES };
	struct capture *small = capture_init(fake_pages(SMALL), SMALL, stack_end(), 1);
	assert_non_null(small);
	recurse(5000, small);
	assert_cut();
	assert_true(depth_of(result.node) > 200);
	recurse(100, small);
	assert_whole();
	assert_null(capture_init(small, CAPTURE_SMALL_BYTES - 1, stack_end(), 1));
}

// ---- signals

static uint64_t hook_sp;
static bool has_crossed[2];

static void on_signal(int number) {
	(void)number;
	(void)capture_with(context, hook_sp);
	has_crossed[0] = result.crossed_signal;
	assert_whole();
	(void)capture_with(context, 0);
	has_crossed[1] = result.crossed_signal;
}

static __attribute__((noinline)) void nested_hook(void) {
	(void)capture_with(context, hook_sp);
	__asm__ volatile("");
}

static void raise_in_hook(int flags) {
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
	sigaction(SIGUSR1, &action, NULL);
	hook_sp = capture_with(context, 0).sp;
	raise(SIGUSR1);
	assert_true(has_crossed[0]);
	assert_false(has_crossed[1]); // nobody asked
	nested_hook();
	assert_false(result.crossed_signal);
	assert_whole();
}

static void test_crossed_signal(void **state) {
	(void)state;
	raise_in_hook(0);
	const stack_t stack = {.ss_sp = fake_pages(STACK_BYTES), .ss_size = STACK_BYTES};
	const stack_t none = {.ss_flags = SS_DISABLE};
	sigaltstack(&stack, NULL);
	raise_in_hook(SA_ONSTACK);
	sigaltstack(&none, NULL);
	// A signal stack inside of the thread's own: addresses no longer say who called whom
	char inside[STACK_BYTES];
	const stack_t odd = {.ss_sp = inside, .ss_size = sizeof(inside)};
	sigaltstack(&odd, NULL);
	raise_in_hook(SA_ONSTACK);
	sigaltstack(&none, NULL);
}

// ---- code without tables, and with odd ones

void call_with_bp(void (*function)(void), uint64_t bp);
void call_with_frame(void (*function)(void));
void call_with_rbx(void (*function)(void));
void call_on_stack(void (*function)(void), void *top);
extern char asm_start[], asm_end[];
__asm__(".text\n"
		".globl call_with_bp, call_with_frame, call_with_rbx, call_on_stack, asm_start, asm_end\n"
		"asm_start:\n"
		"call_with_bp:\n" // no tables, no frame pointer
		"	push %rbp\n"
		"	mov %rsi, %rbp\n"
		"	call *%rdi\n"
		"	pop %rbp\n"
		"	ret\n"
		"	nop\n"
		"call_with_frame:\n" // no tables, but a frame pointer
		"	push %rbp\n"
		"	mov %rsp, %rbp\n"
		"	sub $48, %rsp\n"
		"	call *%rdi\n"
		"	leave\n"
		"	ret\n"
		"	nop\n"
		"call_with_rbx:\n" // as ld.so's lazy binding has it
		"	.cfi_startproc\n"
		"	push %rbx\n"
		"	.cfi_adjust_cfa_offset 8\n"
		"	.cfi_rel_offset rbx, 0\n"
		"	mov %rsp, %rbx\n"
		"	.cfi_def_cfa_register rbx\n"
		"	and $-64, %rsp\n"
		"	sub $128, %rsp\n"
		"	call *%rdi\n"
		"	mov %rbx, %rsp\n"
		"	.cfi_def_cfa_register rsp\n"
		"	pop %rbx\n"
		"	.cfi_adjust_cfa_offset -8\n"
		"	.cfi_restore rbx\n"
		"	ret\n"
		"	.cfi_endproc\n"
		"call_on_stack:\n" // as segmented stacks do: the frame pointer leads back
		"	.cfi_startproc\n"
		"	push %rbp\n"
		"	.cfi_adjust_cfa_offset 8\n"
		"	.cfi_rel_offset rbp, 0\n"
		"	mov %rsp, %rbp\n"
		"	.cfi_def_cfa_register rbp\n"
		"	mov %rsi, %rsp\n"
		"	call *%rdi\n"
		"	leave\n"
		"	.cfi_def_cfa rsp, 8\n"
		"	ret\n"
		"	.cfi_endproc\n"
		"asm_end:\n");

static void test_frame_pointers(void **state) {
	(void)state;
	call_with_frame(capture_here);
	assert_whole();
	assert_true(has_frame_in(result.node, asm_start, (size_t)(asm_end - asm_start)));
	call_with_frame(capture_here);
	assert_whole();
}

static void test_slow_rows(void **state) {
	(void)state;
	capture_here();
	unsigned here = depth_of(result.node);
	for (unsigned i = 0; i < 3; i++) {
		call_with_rbx(capture_here);
		assert_whole();
		assert_int_equal(depth_of(result.node), here + 1);
		assert_true(has_frame_in(result.node, asm_start, (size_t)(asm_end - asm_start)));
	}
}

static const uint64_t wild[] = {1, 8, 4096, 0x7fffffffffff, 1ull << 47, UINT64_MAX, UINT64_MAX - 7,
		0x123456789abcdef0, 0xffff800000000000};

static void capture_through_wild_frames(void) {
	for (unsigned i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		call_with_bp(capture_here, wild[i]);
		assert_cut();
	}
	uint64_t sp = (uint64_t)__builtin_frame_address(0);
	for (int64_t offset = -512; offset < 4 * PAGE; offset += 4) {
		call_with_bp(capture_here, sp + (uint64_t)offset); // whatever it says, it ends
		assert_int_not_equal(result.node, 0);
	}
}

static void test_wild_frame_pointers(void **state) {
	(void)state;
	capture_through_wild_frames();
	call_with_bp(capture_here, stack_end() - 8);
	assert_int_not_equal(result.node, 0);
	call_with_bp(capture_here, stack_end());
	assert_cut();
}

/** A word that is taken for a return address may point at anything that can be read. */
static void test_return_into_data(void **state) {
	(void)state;
	static const char data[9] = {'H'}; // AddressSanitizer guards what is behind
	for (unsigned i = 0; i < 64; i++) {
		volatile uint64_t frame[2] = {0, (uint64_t)(data + i)};
		call_with_bp(capture_here, (uint64_t)frame);
		assert_int_not_equal(result.node, 0);
	}
}

// ---- other stacks, with nothing readable behind them

static void test_wild_on_another_stack(void **state) {
	(void)state;
	char *stack = fake_pages(STACK_BYTES + PAGE);
	assert_int_equal(mprotect(stack + STACK_BYTES, PAGE, PROT_NONE), 0);
	for (unsigned room = 0; room < 3 * PAGE; room += PAGE / 2) {
		memset(stack + STACK_BYTES - room, 0x5a, room);
		call_on_stack(capture_through_wild_frames, stack + STACK_BYTES - room);
		call_on_stack(capture_here, stack + STACK_BYTES - room);
		assert_whole();
	}
	assert_int_equal(munmap(stack, STACK_BYTES + PAGE), 0);
}

static ucontext_t back, there;

static void captures_there(void) {
	capture_here();
	capture_here();
	capture_through_wild_frames();
	capture_here();
}

// The same addresses again and again, each time with less behind them
static void test_stack_that_shrinks(void **state) {
	(void)state;
	char *volatile pages = fake_pages(STACK_BYTES); // getcontext returns more than once
	for (size_t bytes = STACK_BYTES; bytes >= 4 * PAGE; bytes -= PAGE) {
		getcontext(&there);
		there.uc_stack.ss_sp = pages;
		there.uc_stack.ss_size = bytes;
		there.uc_link = &back;
		makecontext(&there, captures_there, 0);
		swapcontext(&back, &there);
		assert_int_not_equal(result.node, 0);
		assert_int_equal(munmap(pages + bytes - PAGE, PAGE), 0);
	}
	capture_here();
	assert_whole();
}

static void test_unknown_thread_stack(void **state) {
	(void)state;
	struct capture *blind = capture_init(fake_pages(1 << 20), 1 << 20, 0, 1);
	recurse(300, blind);
	assert_whole();
	unsigned depth = depth_of(result.node);
	recurse(300, context);
	assert_int_equal(depth_of(result.node), depth);
}

// ---- generated code

/** sub $24, %rsp; call *%rdi; add $24, %rsp; ret: no frame pointer, so tables are needed. */
static const uint8_t generated[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x18,
		0xc3};

static void put(uint8_t **at, const void *bytes, size_t n) {
	memcpy(*at, bytes, n);
	*at += n;
}

/** An .eh_frame for `code`, as a JIT compiler writes it. */
static void write_tables(uint8_t *at, const void *code) {
	const uint64_t range[2] = {(uint64_t)code, sizeof(generated)};
	put(&at, "\x14\0\0\0\0\0\0\0\1zR\0\1\x78\x10\1\0\x0c\7\x08\x90\1\0\0", 24);
	put(&at, "\x1c\0\0\0\x1c\0\0\0", 8);
	put(&at, range, sizeof(range));
	put(&at, "\0\x44\x0e\x20\x46\x0e\x08\0\0\0\0\0", 12);
	*at = 0;
}

static void test_registered_frames(void **state) {
	(void)state;
	static _Alignas(8) uint8_t tables[128];
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	assert_true(code != MAP_FAILED);
	memcpy(code, generated, sizeof(generated));
	void (*call)(void (*function)(void));
	memcpy(&call, &code, sizeof(call));

	capture_here();
	unsigned here = depth_of(result.node);
	write_tables(tables, code);
	for (unsigned i = 0; i < 3; i++) {
		registered_add(tables);
		call(capture_here);
		assert_whole();
		assert_int_equal(depth_of(result.node), here + 1);
		assert_true(has_frame_in(result.node, code, sizeof(generated)));
		registered_remove(tables);
	}
	munmap(code, PAGE);
}

// ---- budget

static __attribute__((noinline)) void other_place(void) {
	recurse(50, context);
	__asm__ volatile("");
}

// Last, for the budget stays used up
/** A handler that jumps out of a capture leaves it half done: rules with another's step, a torn window. */
static void test_what_a_jump_leaves(void **state) {
	(void)state;
	uint32_t known = 0;
	for (unsigned i = 0; i < 2; i++) {
		recurse(20, context);
		assert_whole();
		assert_true(i == 0 || result.node == known);
		known = result.node;
		for (uint64_t k = 0; k >> (64 - context->rule_shift) == 0; k++) {
			context->rules[k].step = rule_step(RULE_SP, 8, RULE_BP_SAME);
		}
		context->foreign = (struct window){0, stack_end()};
		capture_forget(context);
	}
	assert_true(context->foreign.high == 0);
}

static void test_budget_folds(void **state) {
	(void)state;
	uint32_t known = 0;
	uint32_t folded = 0;
	for (unsigned i = 0; i < 4; i++) {
		recurse(20, context); // what is known stays whole
		assert_whole();
		assert_true(i == 0 || result.node == known);
		known = result.node;
		if (i == 0) {
			segment.n_nodes_open = atomic_load(&segment.header->n_nodes) + 10;
		}
		other_place();
		assert_int_not_equal(result.node, 0);
		assert_true(result.is_truncated);
		assert_true(depth_of(result.node) < depth_of(known) + 11);
		assert_true(i == 0 || result.node == folded);
		folded = result.node;
		capture_forget(context);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_deep_recursion),
			cmocka_unit_test(test_too_deep_for_the_context),
			cmocka_unit_test(test_crossed_signal),
			cmocka_unit_test(test_frame_pointers),
			cmocka_unit_test(test_slow_rows),
			cmocka_unit_test(test_wild_frame_pointers),
			cmocka_unit_test(test_return_into_data),
			cmocka_unit_test(test_wild_on_another_stack),
			cmocka_unit_test(test_stack_that_shrinks),
			cmocka_unit_test(test_unknown_thread_stack),
			cmocka_unit_test(test_registered_frames),
			cmocka_unit_test(test_what_a_jump_leaves),
			cmocka_unit_test(test_budget_folds),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
