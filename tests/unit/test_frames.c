// SPDX-License-Identifier: MIT

/*
 * Of programs that have unwind tables, without these: what is made from their code must say the same as
 * they do, wherever both say something.
 */

#include "injector/resident/blob.h"
#include "recorder/core/unwind/eh.h"

#include <elf.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { STEP = 5 }; // bytes: shorter than most instructions that matter

struct program {
	uint8_t *bytes, *tables; // the file, its tables hidden; and these
	size_t n, n_tables;
	uint64_t tables_at;
	struct module_code module;
	struct modules_code modules;
};

/** A program of the build; skips the test where there is none. */
static struct program open_program(const char *name) {
	char path[4096];
	struct program p = {0};
	(void)snprintf(path, sizeof path, "%s/tests/attach/%s", getenv("HEAPTRACK_BUILD_ROOT"), name);
	FILE *in = fopen(path, "rb");
	if (!in) {
		skip();
	}
	p.bytes = malloc(64 << 20);
	assert_non_null(p.bytes);
	p.n = fread(p.bytes, 1, 64 << 20, in);
	(void)fclose(in);
	p.module.name = name;
	assert_true(elf_image_init(&p.module.image, slice_of(p.bytes, p.n)));
	return p;
}

static void close_program(struct program *p) {
	free(p->bytes);
	free(p->tables);
}

static void hide_tables(struct program *p) {
	struct elf_section s = elf_section_named(&p->module.image, ".eh_frame");
	struct slice there = s.bytes;
	assert_true(there.size > 0);
	p->n_tables = there.size;
	p->tables_at = s.address;
	p->tables = calloc(1, there.size + 8);
	assert_non_null(p->tables);
	memcpy(p->tables, there.data, there.size);
	memcpy((char *)(uintptr_t)s.name, ".no_frame", 9);
}

static struct buffer make(struct program *p) {
	const struct found_functions none = {0};
	struct buffer made = {0};
	p->modules = (struct modules_code){.items = &p->module, .n = 1};
	frames_make(&made, &p->modules, &none);
	return made;
}

struct tally {
	uint64_t n_bytes, n_told, n_same, n_other;
};

/** Do two rows find the same caller? Of two registers they cannot be compared. */
static void compare(struct tally *t, const struct eh_row *real, const struct eh_row *made,
		uint64_t pc) {
	if (real->cfa_how != EH_CFA_OFFSET || real->cfa_register != made->cfa_register) {
		return;
	}
	// Compilers do not tell that rbp has been popped
	bool is_popped = made->how[REG_BP] == EH_SAME && -real->value[REG_BP] > real->cfa_value;
	bool is_same = real->cfa_value == made->cfa_value &&
			(is_popped ||
					(real->how[REG_BP] == made->how[REG_BP] &&
							real->value[REG_BP] == made->value[REG_BP]));
	t->n_same += is_same;
	t->n_other += !is_same;
	if (!is_same && t->n_other < 10) {
		print_message("0x%" PRIx64 ": CFA + %d, rbp %d at %d; made: %d, %d at %d\n", pc,
				real->cfa_value, real->how[REG_BP], real->value[REG_BP], made->cfa_value,
				made->how[REG_BP], made->value[REG_BP]);
	}
}

static struct tally tally_of(const struct program *p, const struct buffer *made) {
	struct tally t = {0};
	const struct eh_tables ours = {NULL, made->data, (uint64_t)made->data,
			(uint64_t)made->data + made->size};
	// The records count from where they lie
	uint64_t moved = (uint64_t)p->tables - p->tables_at;
	const struct eh_tables real = {NULL, p->tables, 0, INT64_MAX};
	uint64_t low, high;
	assert_true(eh_range(p->tables, &low, &high));
	for (uint64_t pc = low; pc < high;) {
		struct eh_fde fde, other = {0};
		if (!eh_find(&real, pc, &fde)) {
			pc += 16;
			continue;
		}
		for (; pc < fde.end; pc += STEP, t.n_bytes++) {
			struct eh_row row, made_row;
			uint64_t at = pc - moved;
			if ((at - other.start < other.end - other.start || eh_find(&ours, at, &other)) &&
					eh_row(&other, at, &made_row) && eh_row(&fde, pc, &row)) {
				t.n_told++;
				compare(&t, &row, &made_row, at);
			}
		}
	}
	return t;
}

static void test_says_what_tables_say(void **state) {
	(void)state;
	struct program p = open_program("once_static");
	hide_tables(&p);
	struct buffer made = make(&p);
	assert_false(made.failed);
	const struct tally t = tally_of(&p, &made);
	print_message("%" PRIu64 " bytes, %" PRIu64 " told, %" PRIu64 " the same, %" PRIu64 " not\n",
			t.n_bytes, t.n_told, t.n_same, t.n_other);
	assert_true(t.n_told > t.n_bytes * 8 / 10);
	assert_true(t.n_same > t.n_told * 85 / 100);
	assert_true(t.n_other * 500 < t.n_same); // hand-written code, and calls that do not return
	buffer_finish(&made);
	close_program(&p);
}

static void test_nothing_is_made_where_there_are_tables(void **state) {
	(void)state;
	struct program p = open_program("once_static");
	struct buffer made = make(&p);
	assert_int_equal(made.size, 0);
	close_program(&p);
}

static void test_damaged_code_is_survived(void **state) {
	(void)state;
	uint32_t random = 11;
	for (unsigned i = 0; i < 20; i++) {
		struct program p = open_program("once_musl_static");
		struct elf_section text = elf_section_named(&p.module.image, ".text");
		assert_true(text.size > 0);
		for (unsigned k = 0; k < 500; k++) {
			random = random * 1664525u + 1013904223u;
			p.bytes[text.offset + (random >> 8) % text.size] = (uint8_t)random;
		}
		struct buffer made = make(&p);
		assert_false(made.failed);
		uint64_t low, high;
		assert_true(made.size == 0 || eh_range(made.data, &low, &high));
		buffer_finish(&made);
		close_program(&p);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_says_what_tables_say),
			cmocka_unit_test(test_nothing_is_made_where_there_are_tables),
			cmocka_unit_test(test_damaged_code_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
