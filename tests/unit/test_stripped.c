// SPDX-License-Identifier: MIT
#include "base/vec.h"
#include "injector/find/functions.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static struct {
	uint8_t *bytes;
	size_t n;
} file;

/** A program of the build that has its symbols; skips the test where there is none. */
static struct module_code open_program(const char *name) {
	char path[4096];
	(void)snprintf(path, sizeof path, "%s/tests/attach/%s", getenv("HEAPTRACK_BUILD_ROOT"), name);
	FILE *in = fopen(path, "rb");
	if (!in) {
		skip();
	}
	file.bytes = malloc(64 << 20);
	assert_non_null(file.bytes);
	file.n = fread(file.bytes, 1, 64 << 20, in);
	(void)fclose(in);
	struct module_code module = {.name = name};
	assert_true(elf_image_init(&module.image, slice_of(file.bytes, file.n)));
	return module;
}

static uint64_t address_of(const struct module_code *module, const char *name) {
	struct elf_symbols symbols = elf_symbols_of(&module->image, SHT_SYMTAB);
	struct elf_symbol symbol;
	assert_true(symbols.n > 0);
	while (elf_symbols_next(&symbols, &symbol)) {
		if (strcmp(symbol.name, name) == 0) {
			return symbol.address;
		}
	}
	return 0;
}

static uint64_t found_at(const struct found_functions *found, const char *name) {
	for (size_t i = 0; i < found->n; i++) {
		if (strcmp(found->items[i].name, name) == 0) {
			return found->items[i].address;
		}
	}
	return 0;
}

/** The symbols that it was not shown say where they are. */
static void finds_what_symbols_tell(const char *program) {
	static const char *const names[] = {"malloc", "free", "calloc", "realloc", "execve"};
	const struct module_code module = open_program(program);
	struct found_functions found = {0};
	assert_true(stripped_find(&found, &module));
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		uint64_t there = address_of(&module, names[i]);
		assert_true(there != 0);
		assert_int_equal(found_at(&found, names[i]), there);
	}
	// The one that memalign, posix_memalign and the others share, which compilers name as they like
	uint64_t shared = address_of(&module, "_mid_memalign");
	shared = shared ? shared : address_of(&module, "_mid_memalign.constprop.0");
	assert_true(shared != 0);
	assert_int_equal(found_at(&found, "memalign"), shared);
	vec_finish(&found);
	free(file.bytes);
}

static void test_static(void **state) {
	(void)state;
	finds_what_symbols_tell("pattern_static");
}

static void test_static_pie(void **state) {
	(void)state;
	finds_what_symbols_tell("pattern_static_pie");
}

static void finds_nothing(const struct module_code *module) {
	struct found_functions found = {0};
	assert_true(stripped_find(&found, module));
	assert_int_equal(found.n, 0);
	vec_finish(&found);
}

static void test_others_are_left_alone(void **state) {
	(void)state;
	const struct module_code module = open_program("pattern_musl_static");
	finds_nothing(&module);
	free(file.bytes);
}

/** One sentence another than expected, and nothing is sure any more. */
static void test_doubt_leaves_all_alone(void **state) {
	(void)state;
	static const char *const texts[] = {"free(): invalid pointer", "realloc(): invalid pointer",
			"realloc(): invalid old size", "munmap_chunk(): invalid pointer",
			"malloc(): smallbin double linked list corrupted"};
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		const struct module_code module = open_program("pattern_static");
		uint8_t *at = memmem(file.bytes, file.n, texts[i], strlen(texts[i]) + 1);
		assert_non_null(at);
		*at ^= 0x20;
		finds_nothing(&module);
		free(file.bytes);
	}
}

/** Found where they are, or not at all, whatever has become of the code. */
static void test_damage_finds_nothing_wrong(void **state) {
	(void)state;
	uint32_t random = 7;
	const struct module_code module = open_program("pattern_static");
	uint64_t there = address_of(&module, "malloc");
	struct elf_section text = elf_section_named(&module.image, ".text");
	assert_true(text.bytes.size > 0);
	uint8_t *code = file.bytes + text.offset + (there - text.address);
	for (unsigned i = 0; i < 50; i++) {
		random = random * 1664525u + 1013904223u;
		uint8_t *byte = code + (int)(random >> 8) % 0x4000;
		uint8_t before = *byte;
		*byte = (uint8_t)random;
		struct found_functions found = {0};
		assert_true(stripped_find(&found, &module));
		uint64_t at = found_at(&found, "malloc");
		assert_true(at == 0 || at == there);
		vec_finish(&found);
		*byte = before;
	}
	free(file.bytes);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_static),
			cmocka_unit_test(test_static_pie),
			cmocka_unit_test(test_others_are_left_alone),
			cmocka_unit_test(test_doubt_leaves_all_alone),
			cmocka_unit_test(test_damage_finds_nothing_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
