// SPDX-License-Identifier: MIT
#include "elf/image.h"
#include "symbols/symbols.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

// The module is this test: what its functions are called and where they stand is known here.

extern const char __executable_start[];

static volatile int sink;

enum { VARIABLE_LINE = __LINE__ + 1 };
static volatile int variable;

// Others may call it: clang does not name what is gone around a variable
enum { LOCAL_LINE = __LINE__ + 3 };
__attribute__((noinline)) volatile int *with_local(void);
volatile int *with_local(void) {
	static volatile int local;
	return &local;
}

enum { INLINED_LINE = __LINE__ + 2 };
static inline __attribute__((always_inline)) void inlined(int n) {
	sink += n * 7;
}

enum { OUTER_LINE = __LINE__ + 3 };
__attribute__((noinline)) void outer_function(int n);
void outer_function(int n) {
	inlined(n);
}

static uint64_t address_of(void (*function)(int)) {
	return (uint64_t)(uintptr_t)function - (uint64_t)(uintptr_t)__executable_start;
}

struct asked {
	struct symbols *symbols;
	struct arena arena;
	struct symbols_facts facts;
	struct symbols_answer answer;
};

static void ask(struct asked *a, const struct symbols_options *options,
		const struct symbols_module *module, uint64_t address, bool is_exact) {
	*a = (struct asked){0};
	a->symbols = symbols_create(options);
	const struct symbols_wanted wanted = {address, 0, is_exact};
	symbols_resolve(a->symbols, module, &wanted, 1, &a->answer, &a->facts, &a->arena);
}

static void forget(struct asked *a) {
	symbols_destroy(a->symbols);
	arena_finish(&a->arena);
}

static const struct symbols_module own = {.fd = -1, .path = "/proc/self/exe"};

static const char *base_name(const char *path) {
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}

static void names_and_inlined_calls(void **state) {
	(void)state;
	// Somewhere in the function is code of the inlined one: its first bytes are looked through
	bool found_inlined = false;
	for (uint64_t at = 0; at < 32; at++) {
		struct asked a;
		ask(&a, NULL, &own, address_of(outer_function) + at, true);
		assert_true(a.facts.has_symbols && a.facts.has_lines && !a.facts.is_unresolved);
		const struct symbols_answer *answer = &a.answer;
		if (at == 0) {
			assert_true(answer->n_frames > 0);
			const struct symbols_frame *outer = &answer->frames[answer->n_frames - 1];
			assert_string_equal(outer->function, "outer_function");
			assert_string_equal(base_name(outer->file), "test_symbols.c");
			assert_in_range(outer->line, OUTER_LINE - 1, OUTER_LINE + 1);
		}
		if (answer->n_frames == 2 && strcmp(answer->frames[0].function, "inlined") == 0) {
			found_inlined = true;
			assert_in_range(answer->frames[0].line, INLINED_LINE - 1, INLINED_LINE + 1);
			assert_string_equal(answer->frames[1].function, "outer_function");
			assert_int_equal(answer->frames[1].line, OUTER_LINE);
		}
		forget(&a);
	}
	assert_true(found_inlined);
}

/** Where a variable is declared. */
static struct symbols_frame declare(const struct symbols_module *module, volatile void *address,
		struct asked *a) {
	struct symbols_variable v;
	struct symbols_frame found = {0};
	*a = (struct asked){.symbols = symbols_create(NULL)};
	const uint64_t start = (uint64_t)(uintptr_t)address - (uint64_t)(uintptr_t)__executable_start;
	if (symbols_variable(a->symbols, module, start, &v)) {
		symbols_declared(a->symbols, module, start, &found, &a->arena);
	}
	return found;
}

static void variables_are_declared_somewhere(void **state) {
	(void)state;
	struct asked a;
	struct symbols_frame found = declare(&own, &variable, &a);
	assert_string_equal(found.function, "variable");
	assert_string_equal(base_name(found.file), "test_symbols.c");
	assert_int_equal(found.line, VARIABLE_LINE);
	forget(&a);
	found = declare(&own, with_local(), &a);
	assert_string_equal(found.function, "with_local::local");
	assert_int_equal(found.line, LOCAL_LINE);
	forget(&a);
	found = declare(&own, (volatile char *)&variable + 1, &a); // nothing begins there
	assert_null(found.function);
	forget(&a);
	const struct symbols_module none = {.fd = -1, .path = "/nonexistent/file"};
	found = declare(&none, &variable, &a);
	assert_null(found.function);
	forget(&a);
}

static void a_return_address_means_the_call_before(void **state) {
	(void)state;
	struct asked a;
	uint64_t address = address_of(outer_function);
	ask(&a, NULL, &own, address, false);
	const size_t n = a.answer.n_frames;
	const char *before = n > 0 ? a.answer.frames[n - 1].function : NULL;
	assert_true(!before || strcmp(before, "outer_function") != 0);
	forget(&a);
	ask(&a, NULL, &own, address + 1, false);
	assert_string_equal(a.answer.frames[a.answer.n_frames - 1].function, "outer_function");
	forget(&a);
	ask(&a, NULL, &own, 0, false);
	assert_int_equal(a.answer.n_frames, 0);
	forget(&a);
}

static void what_cannot_be_read_is_a_fact(void **state) {
	(void)state;
	static const char *const paths[] = {"/nonexistent/file", "/dev/null", "/", "/etc/passwd", "",
			NULL};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct asked a;
		struct symbols_module module = {.fd = -1, .path = paths[i]};
		ask(&a, NULL, &module, 0x1000, true);
		assert_int_equal(a.answer.n_frames, 0);
		assert_true(a.facts.is_unresolved);
		forget(&a);
	}
}

static void another_build_id_is_never_used(void **state) {
	(void)state;
	struct asked a;
	struct symbols_module module = own;
	uint8_t id[20] = {1, 2, 3};
	module.build_id = slice_of(id, sizeof id);
	ask(&a, NULL, &module, address_of(outer_function), true);
	assert_int_equal(a.answer.n_frames, 0);
	assert_true(a.facts.is_unresolved);
	forget(&a);
	module.fd = open("/proc/self/exe", O_RDONLY);
	ask(&a, NULL, &module, address_of(outer_function), true);
	assert_true(a.facts.is_unresolved);
	close(module.fd);
	forget(&a);
}

static void answers_do_not_depend_on_company(void **state) {
	(void)state;
	enum { N = 2000 };
	static struct symbols_wanted wanted[N];
	static struct symbols_answer together[N];
	for (size_t i = 0; i < N; i++) {
		wanted[i].address = address_of(outer_function) - N + 2 * i;
		wanted[i].is_exact = i % 3 == 0;
	}
	struct arena arena = {0};
	struct symbols_facts facts;
	struct symbols *s = symbols_create(NULL);
	symbols_resolve(s, &own, wanted, N, together, &facts, &arena);
	for (size_t i = 0; i < N; i += 97) {
		struct symbols_answer alone;
		symbols_resolve(s, &own, &wanted[i], 1, &alone, &facts, &arena);
		assert_int_equal(alone.n_frames, together[i].n_frames);
		for (uint32_t k = 0; k < alone.n_frames; k++) {
			assert_string_equal(alone.frames[k].function ? alone.frames[k].function : "",
					together[i].frames[k].function ? together[i].frames[k].function : "");
			assert_int_equal(alone.frames[k].line, together[i].frames[k].line);
		}
	}
	symbols_resolve(s, &own, NULL, 0, NULL, &facts, &arena);
	symbols_destroy(s);
	symbols_destroy(NULL);
	arena_finish(&arena);
}

static void a_new_file_at_the_path_is_seen(void **state) {
	(void)state;
	char path[] = "/tmp/test_symbols_XXXXXX";
	int fd = mkstemp(path), self = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	assert_true(fd >= 0 && fstat(self, &st) == 0);
	off_t at = 0;
	while (at < st.st_size) {
		assert_true(sendfile(fd, self, &at, (size_t)(st.st_size - at)) > 0);
	}
	struct symbols_module module = {.fd = -1, .path = path}; // no build-id is known
	const struct symbols_wanted wanted = {address_of(outer_function), 0, true};
	struct asked a;
	ask(&a, NULL, &module, wanted.address, wanted.is_exact);
	assert_int_equal(a.answer.n_frames > 0, 1);
	for (int i = 0; i < 2; i++) {
		symbols_resolve(a.symbols, &module, &wanted, 1, &a.answer, &a.facts, &a.arena);
		assert_true(a.answer.n_frames > 0);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/bin/true", path), 0);
	symbols_resolve(a.symbols, &module, &wanted, 1, &a.answer, &a.facts, &a.arena);
	assert_true(
			a.answer.n_frames == 0 || strcmp(a.answer.frames[0].function, "outer_function") != 0);
	unlink(path);
	close(fd);
	close(self);
	forget(&a);
}

/** This test's file with bytes flipped, in a descriptor. */
static int damaged_copy(struct slice whole, unsigned *seed, size_t size) {
	int fd = memfd_create("damaged", 0);
	assert_true(fd >= 0 && write(fd, whole.data, size) == (ssize_t)size);
	for (int i = 0; i < 40; i++) {
		uint8_t byte = (uint8_t)rand_r(seed);
		// The debug data are in the second half; the first 64 bytes are needed to get there
		off_t at = (off_t)(size / 3 + (size_t)rand_r(seed) % (size - size / 3));
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	return fd;
}

static void damage_is_survived(void **state) {
	(void)state;
	int self = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	assert_int_equal(fstat(self, &st), 0);
	struct slice whole = slice_of(mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, self, 0),
			(size_t)st.st_size);
	unsigned seed = 11;
	for (int round = 0; round < 60; round++) {
		size_t size = round % 5 ? whole.size
								: whole.size / 2 + (size_t)rand_r(&seed) % (whole.size / 2);
		struct symbols_module module = {.fd = damaged_copy(whole, &seed, size), .path = ""};
		struct asked a;
		ask(&a, NULL, &module, address_of(outer_function), true);
		forget(&a);
		(void)declare(&module, &variable, &a);
		forget(&a);
		close(module.fd);
	}
	munmap((void *)whole.data, whole.size);
	close(self);
}

static void a_file_cut_short_is_survived(void **state) {
	(void)state;
	int self = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	assert_int_equal(fstat(self, &st), 0);
	int fd = memfd_create("cut", 0);
	off_t at = 0;
	while (at < st.st_size) {
		assert_true(sendfile(fd, self, &at, (size_t)(st.st_size - at)) > 0);
	}
	struct symbols_module module = {.fd = fd, .path = "cut"};
	struct asked a;
	ask(&a, NULL, &module, address_of(outer_function), true);
	assert_string_equal(a.answer.frames[a.answer.n_frames - 1].function, "outer_function");
	// Known by its build-id, it is not opened again: what was mapped is gone but for a page
	forget(&a);
	uint8_t id[20];
	struct elf_image e;
	void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(elf_image_init(&e, slice_of(bytes, (size_t)st.st_size)));
	struct slice build_id = elf_build_id(&e);
	if (build_id.size == sizeof id) {
		memcpy(id, build_id.data, sizeof id);
		module.build_id = slice_of(id, sizeof id);
		ask(&a, NULL, &module, address_of(outer_function), true);
		assert_int_equal(ftruncate(fd, 4096), 0);
		const struct symbols_wanted wanted = {address_of(outer_function) + 1, 0, true};
		symbols_resolve(a.symbols, &module, &wanted, 1, &a.answer, &a.facts, &a.arena);
		forget(&a);
	}
	munmap(bytes, (size_t)st.st_size);
	close(fd);
	close(self);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(names_and_inlined_calls),
			cmocka_unit_test(variables_are_declared_somewhere),
			cmocka_unit_test(a_return_address_means_the_call_before),
			cmocka_unit_test(what_cannot_be_read_is_a_fact),
			cmocka_unit_test(another_build_id_is_never_used),
			cmocka_unit_test(answers_do_not_depend_on_company),
			cmocka_unit_test(a_new_file_at_the_path_is_seen),
			cmocka_unit_test(damage_is_survived),
			cmocka_unit_test(a_file_cut_short_is_survived),
	};
	outer_function(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
