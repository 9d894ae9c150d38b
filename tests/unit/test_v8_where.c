// SPDX-License-Identifier: MIT

/* What frames of V8's stand for, with a stack, a heap and code made by hand. */

#include "../fake_segment.h"
#include "recorder/core/runtime/v8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum {
	PAGE = 4096,
	FUNCTION = 0, // of a page of the heap
	SHARED = 64,
	SCRIPT = 192,
	CODE = 256, // of the page of code, where a call ends
	BUILTIN = 1024,
	N_RANDOM = 200000,
};

static unsigned char *heap, *code, *stack;
static struct wire_layout layout;
static struct runtime runtime = {&layout, 0, 7};
static uint64_t pages[GUARD_BUSY_PAGES];
static struct guard guard;
static struct window window;
static struct v8_memo memo;
static const struct v8_reader reader = {&runtime, &guard, &window, 1};

static void put(unsigned char *to, uint64_t word) {
	memcpy(to, &word, sizeof word);
}

static void put_layout(bool has_unique_ids) {
	static const int32_t fields[N_V8_FIELDS] = {-8, -16, -32, -40, 24, 52, -1, 40, 32, 53};
	memset(&layout, 0, sizeof layout);
	layout.kind = MODULE_V8;
	layout.is_in_force = 1;
	memcpy(layout.fields, fields, sizeof fields);
	layout.fields[V8_UNIQUE_ID] = has_unique_ids ? 56 : WIRE_NO_FIELD;
	layout.n_ranges = 1;
	layout.ranges[0] = (struct wire_code_range){(uint64_t)code + BUILTIN, (uint64_t)code + PAGE};
	layout.returns[0] = (uint64_t)code + BUILTIN + 64;
}

/** An interpreted function `literal` of script `script`, at `at` of the heap, and a frame of it. */
static void put_function(unsigned char *at, uint32_t script, uint32_t literal, uint32_t offset) {
	const uint32_t ids[2] = {literal, literal + 1000};
	put(at + FUNCTION + 24, (uint64_t)at + SHARED + 1);
	memcpy(at + SHARED + 52, ids, sizeof ids);
	put(at + SHARED + 40, (uint64_t)at + SCRIPT + 1);
	put(at + SCRIPT + 32, (uint64_t)script << 32);
	unsigned char *frame = stack + PAGE / 2;
	put(frame - 8, (uint64_t)heap + 1);
	put(frame - 16, (uint64_t)at + FUNCTION + 1);
	put(frame - 32, (uint64_t)heap + 1);
	put(frame - 40, (uint64_t)(53 + offset) << 32);
}

static uint64_t where(uint64_t pc) {
	guard_begin(&guard);
	return v8_where(&reader, pc, (uint64_t)stack + PAGE / 2, &memo);
}

static uint64_t interpreter(void) {
	return layout.returns[0];
}

static int setup(void **state) {
	(void)state;
	fake_segment(1 << 10, 64);
	segment.units = fake_pages(WIRE_N_UNITS * sizeof(struct wire_unit));
	segment.n_units_open = WIRE_N_UNITS;
	segment.unit_hash = fake_pages(4 * 2 * WIRE_N_UNITS);
	heap = fake_pages(4 * PAGE);
	code = fake_pages(2 * PAGE);
	stack = fake_pages(PAGE);
	memset(code, 0x90, 2 * PAGE);
	memcpy(code + BUILTIN + 62, "\xff\xd1\x4c\x8b\x65\xe0\x44\x8b\x4d\xdc", 10); // call *%rcx ...
	memcpy(code + CODE - 5, "\xe8\1\2\3\4", 5);
	memcpy(code + BUILTIN + 200 - 5, "\xe8\1\2\3\4", 5);
	window = (struct window){(uint64_t)stack, (uint64_t)stack + PAGE};
	guard = (struct guard){.pages = pages, .mask = GUARD_BUSY_PAGES - 1};
	put_layout(false);
	return 0;
}

static const struct wire_unit *unit_of(uint64_t w) {
	assert_int_equal(wire_where_module(w), runtime.module);
	return &segment.units[wire_where_unit(w)];
}

static void functions_are_known_by_their_numbers(void **state) {
	(void)state;
	for (int i = 0; i < 2; i++) {
		put_layout(i == 1);
		memset(&memo, 0, sizeof memo);
		put_function(heap, 5, 9, 3);
		uint64_t first = where(interpreter());
		assert_int_equal(wire_where_position(first), 4);
		assert_int_equal(unit_of(first)->identity[0], i == 1 ? 1009 : 5ull << 32 | 9);
		assert_true(where(interpreter()) == first);
		put_function(heap + PAGE, 5, 9, 3); // the same, moved
		assert_true(where(interpreter()) == first);
		assert_true(unit_of(first)->object == (uint64_t)heap + PAGE + SHARED + 1);
		put_function(heap + PAGE, 5, 10, 3); // another one in its place
		assert_true(wire_where_unit(where(interpreter())) != wire_where_unit(first));
		put_function(heap + PAGE, 5, 9, 8);
		assert_true(where(interpreter()) == first + 5);
	}
}

static void kinds_are_by_the_code(void **state) {
	(void)state;
	put_layout(false);
	put_function(heap, 5, 9, 3);
	uint64_t interpreted = where(interpreter());
	memcpy(code + 512 - 8, (void *)(interpreter() - 8), 16); // a copy of the interpreter's code
	assert_true(where((uint64_t)code + 512) == interpreted);
	uint64_t compiled = where((uint64_t)code + CODE);
	assert_int_equal(unit_of(compiled)->identity[1], (uint64_t)code + CODE);
	assert_int_equal(wire_where_position(compiled), 0);
	code[CODE - 4] ^= 1; // other code there
	assert_true(where((uint64_t)code + CODE) != compiled);
	assert_true(where((uint64_t)code + CODE + 32) == 0);     // behind no call
	assert_true(where((uint64_t)code + BUILTIN + 200) == 0); // a stub
	put_function(heap, 0, UINT32_MAX, 3);
	assert_int_equal(unit_of(where((uint64_t)code + BUILTIN + 200))->identity[1],
			(uint64_t)code + BUILTIN + 200);
	put(stack + PAGE / 2 - 8, 2ull << 1); // a kind of frame in the context's place
	memset(&memo, 0, sizeof memo);
	assert_true(where(interpreter()) == 0);
}

/** Memory that dies is not looked at again, as the frame no longer refers to it. */
static void what_is_dead_is_not_read(void **state) {
	(void)state;
	unsigned char *young = fake_pages(PAGE);
	put_function(young, 5, 11, 3);
	uint64_t first = where(interpreter());
	put_function(heap, 5, 12, 3);
	munmap(young, PAGE); // by another thread, which has not said so yet
	assert_true(where(interpreter()) != first);
	put(stack + PAGE / 2 - 16, (uint64_t)young + 1);
	atomic_fetch_add(&segment.header->unmap_epoch, 1);
	assert_true(where(interpreter()) == 0);
}

static void noise_does_no_harm(void **state) {
	(void)state;
	uint64_t random = 1;
	for (unsigned i = 0; i < N_RANDOM; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		put_layout(random >> 63);
		layout.fields[(random >> 33) % N_V8_FIELDS] = (uint32_t)(random >> (i % 3 * 16)) % 9001 -
				500;
		put_function(heap, 1, 1, 1);
		put(stack + PAGE / 2 - 8 * (1 + (random >> 20) % 5),
				i % 4 == 0 ? random : (uint64_t)heap + (random >> 40) % (5 * PAGE));
		(void)where(i % 5 == 0 ? random >> 17 : i % 2 ? interpreter() : (uint64_t)code + CODE);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(functions_are_known_by_their_numbers),
			cmocka_unit_test(kinds_are_by_the_code),
			cmocka_unit_test(what_is_dead_is_not_read),
			cmocka_unit_test(noise_does_no_harm),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
