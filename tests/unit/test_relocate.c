// SPDX-License-Identifier: MIT

// Moved beginnings are run: the processor says whether they do what the originals do.

#include "injector/arch/x86_64/decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { JUMP_BYTES = 5, PAGE = 4096, TARGET_AT = 2 * PAGE, FUNCTION_AT = 64, VARIABLE_AT = PAGE };

static uint8_t *memory; // a page of code, one of data, one for what is moved

static int set_up(void **state) {
	(void)state;
	memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	return memory == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state) {
	(void)state;
	return munmap(memory, 3 * PAGE);
}

static struct function_code put_function(const uint8_t *bytes, size_t n) {
	memset(memory, 0xcc, PAGE);
	memcpy(memory + FUNCTION_AT, bytes, n);
	return (struct function_code){memory + FUNCTION_AT, n + 64, n, (uint64_t)memory + FUNCTION_AT};
}

static long call(const uint8_t *at, long argument) {
	long (*function)(long);
	memcpy(&function, &at, sizeof at);
	return function(argument);
}

/** Move it, then replace the original's beginning by something fatal, and compare. */
static void check_moved(const uint8_t *bytes, size_t n, size_t n_taken) {
	static const long arguments[] = {0, 1, 2, -5, 1000};
	long wanted[sizeof arguments / sizeof *arguments];
	struct function_code f = put_function(bytes, n);
	for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
		wanted[i] = call(f.bytes, arguments[i]);
	}
	struct relocated moved;
	const char *why_not = relocate(&moved, &f, (uint64_t)memory + TARGET_AT);
	if (why_not) {
		fail_msg("%s", why_not);
	}
	assert_int_equal(moved.n_taken, n_taken);
	memcpy(memory + TARGET_AT, moved.code, moved.n_code);
	memset(memory + (moved.patch_at - (uint64_t)memory), 0x06,
			JUMP_BYTES); // no instruction
	for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
		assert_int_equal(call(memory + TARGET_AT, arguments[i]), wanted[i]);
	}
	for (unsigned i = 0; i < moved.n_steps; i++) {
		assert_true(moved.from[i] < moved.n_taken && moved.to[i] < moved.n_code);
	}
}

static void check_refused(const uint8_t *bytes, size_t n, size_t size, const char *why) {
	struct function_code f = put_function(bytes, n);
	struct relocated moved;
	f.size = size;
	const char *why_not = relocate(&moved, &f, (uint64_t)memory + TARGET_AT);
	assert_non_null(why_not);
	assert_non_null(strstr(why_not, why));
}

#define MOVED(n_taken, ...)                          \
	do {                                             \
		static const uint8_t code[] = {__VA_ARGS__}; \
		check_moved(code, sizeof code, n_taken);     \
	} while (0)
#define REFUSED(why, ...)                                   \
	do {                                                    \
		static const uint8_t code[] = {__VA_ARGS__};        \
		check_refused(code, sizeof code, sizeof code, why); \
	} while (0)

static void test_plain(void **state) {
	(void)state;
	// push %rbx; mov %rdi,%rbx; lea 3(%rbx),%rax; pop %rbx; ret
	MOVED(8, 0x53, 0x48, 0x89, 0xfb, 0x48, 0x8d, 0x43, 0x03, 0x5b, 0xc3);
	// endbr64 stays: mov %edi,%eax; add $7,%eax; ret
	MOVED(5, 0xf3, 0x0f, 0x1e, 0xfa, 0x89, 0xf8, 0x83, 0xc0, 0x07, 0xc3);
}

static void test_branches(void **state) {
	(void)state;
	// test %rdi,%rdi; je +3; mov %edi,%eax; ret; xor %eax,%eax; ret (as free begins)
	MOVED(5, 0x48, 0x85, 0xff, 0x74, 0x03, 0x89, 0xf8, 0xc3, 0x31, 0xc0, 0xc3);
	// the same with a jump of 4 bytes' distance
	MOVED(9, 0x48, 0x85, 0xff, 0x0f, 0x84, 0x03, 0, 0, 0, 0x89, 0xf8, 0xc3, 0x31, 0xc0, 0xc3);
	// jmp +0, to what follows: lea 1(%rdi),%rax; ret (as musl's malloc is one jump)
	MOVED(5, 0xe9, 0, 0, 0, 0, 0x48, 0x8d, 0x47, 0x01, 0xc3);
	// call +4; ret; nop...: lea 2(%rdi),%rax; ret
	MOVED(5, 0xe8, 0x04, 0, 0, 0, 0xc3, 0x90, 0x90, 0x90, 0x48, 0x8d, 0x47, 0x02, 0xc3);
}

static void test_addressed_by_its_own_place(void **state) {
	(void)state;
	const int32_t distance = VARIABLE_AT - (FUNCTION_AT + 7);
	uint8_t code[] = {0x48, 0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x01, 0xf8, 0xc3}; // mov var,%rax; add
	memcpy(code + 3, &distance, sizeof distance);
	memcpy(memory + VARIABLE_AT, "\x39\x30\0\0\0\0\0\0", 8);
	check_moved(code, sizeof code, 7);
	assert_int_equal(call(memory + TARGET_AT, 1), 12346);
}

static void test_short_with_padding(void **state) {
	(void)state;
	// xor %eax,%eax; ret; int3 behind it
	struct function_code f = put_function((const uint8_t *)"\x31\xc0\xc3", 3);
	struct relocated moved;
	assert_null(relocate(&moved, &f, (uint64_t)memory + TARGET_AT));
	memcpy(memory + TARGET_AT, moved.code, moved.n_code);
	assert_int_equal(call(memory + TARGET_AT, 1), 0);
}

static void test_refusals(void **state) {
	(void)state;
	// add $1,%edi; dec %edi; jnz back into the first five bytes; ret
	REFUSED("jumps into its own beginning", 0x83, 0xc7, 0x01, 0xff, 0xcf, 0x75, 0xfc, 0xc3);
	REFUSED("cannot be moved", 0x89, 0xf9, 0xe2, 0xfc, 0x31, 0xc0, 0xc3); // loop
	REFUSED("cannot be decoded", 0x06, 0x06, 0x06, 0x06, 0x06, 0xc3);
	// another function right behind: no room
	check_refused((const uint8_t *)"\x31\xc0\xc3\x55\x48\x89\xe5", 7, 3, "too short");
	check_refused((const uint8_t *)"\x31\xc0\xc3", 3, 0, "size is unknown");
}

static void test_out_of_reach(void **state) {
	(void)state;
	static const uint8_t code[] = {0x8b, 0x05, 0, 0, 0, 0, 0xc3}; // mov 0(%rip),%eax
	struct function_code f = put_function(code, sizeof code);
	struct relocated moved;
	assert_non_null(relocate(&moved, &f, f.address + (1ull << 33)));
}

static bool reads_second(const char *code, size_t n) {
	const struct function_code f = {(const uint8_t *)code, n, n, 0x1000};
	return code_reads_second(f);
}

static void test_second_argument(void **state) {
	(void)state;
	assert_true(reads_second("\x48\x89\xf0\xc3", 4));                 // mov %rsi,%rax
	assert_true(reads_second("\x55\x48\x83\xff\x01\x89\xf3\xc3", 8)); // push, cmp, mov %esi,%ebx
	assert_true(reads_second("\x48\x8b\x06\xc3", 4));                 // mov (%rsi),%rax
	assert_true(reads_second("\x48\x83\xc6\x10\xc3", 5));             // add $16,%rsi
	assert_false(reads_second("\x31\xf6\x89\xf0\xc3", 5));            // xor %esi,%esi first
	assert_false(reads_second("\x48\x89\xfe\x89\xf0\xc3", 6));        // mov %rdi,%rsi first
	assert_false(reads_second("\xe8\0\0\0\0\x89\xf0\xc3", 8));        // behind a call
	assert_false(reads_second("\x48\x89\xf8\xc3\x89\xf0", 6));        // behind the end
}

// ---- instructions of AVX-512, of which packages know the length alone

/** A linear congruential generator's high bits. */
static uint8_t random_byte(uint64_t *state) {
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint8_t)(*state >> 56);
}

static void test_lengths_of_evex(void **state) {
	(void)state;
	ZydisDecoder decoder;
	ZydisDecodedInstruction known;
	(void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	uint64_t random = 1;
	unsigned n_known = 0;
	for (unsigned i = 0; i < 1000000; i++) {
		uint8_t code[15];
		for (size_t k = 0; k < sizeof code; k++) {
			code[k] = random_byte(&random);
		}
		size_t at = i % 8 == 0;
		code[0] = (uint8_t) "\x64\x65\x67\x2e"[i / 8 % 4];
		code[at] = 0x62;
		size_t n = i % 4 == 0 ? sizeof code : 6 + i % 7;
		bool is_known = ZYAN_SUCCESS(
				ZydisDecoderDecodeInstruction(&decoder, NULL, code, n, &known));
		if (is_known && known.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
			n_known++;
			assert_int_equal(evex_bytes(code, n), known.length);
			assert_int_equal(evex_bytes(code, known.length - 1u), 0);
		}
	}
	assert_true(n_known > 1000);
}

static void test_opaque_is_not_moved(void **state) {
	(void)state;
	// vpternlogd $0xff,%zmm16,%zmm16,%zmm16 with a map that nothing has: Zydis does not know it either
	static const uint8_t unknown[] = {0x62, 0xa6, 0x7d, 0x40, 0x25, 0xc0, 0xc3};
	assert_int_equal(evex_bytes(unknown, sizeof unknown), 6);
	check_refused(unknown, sizeof unknown, sizeof unknown, "cannot be moved");
	assert_false(reads_second("\x62\xa6\x7d\x40\x25\xc0\x89\xf0\xc3", 9));
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(test_plain, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_branches, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_addressed_by_its_own_place, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_short_with_padding, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_out_of_reach, set_up, tear_down),
			cmocka_unit_test(test_second_argument),
			cmocka_unit_test(test_lengths_of_evex),
			cmocka_unit_test_setup_teardown(test_opaque_is_not_moved, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
