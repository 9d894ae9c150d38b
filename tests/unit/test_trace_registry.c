// SPDX-License-Identifier: MIT

// Numbers of tables and columns: none is given twice, none is lost

#include "registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static char complaint[200];

#define COMPLAIN(...) ((void)snprintf(complaint, sizeof complaint, __VA_ARGS__), complaint)
#define N(array)      (sizeof(array) / sizeof *(array))

// Columns go from 1 on without a gap, but before a row of several that are one thing
static const char *find_fault_of_columns(const struct registry_table *t) {
	uint32_t before = 0;
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct registry_column *c = &t->columns[i];
		if (c->first <= before) {
			return COMPLAIN("%s: column %u twice or out of order", t->name, c->first);
		}
		if (c->first != before + 1 && c->last == c->first) {
			return COMPLAIN("%s: column %u is lost", t->name, before + 1);
		}
		if (c->last < c->first || !c->name[0]) {
			return COMPLAIN("%s: column %u is nothing", t->name, c->first);
		}
		bool is_there = !c->other;
		for (size_t k = 0; k < i; k++) {
			is_there |= c->other && strcmp(t->columns[k].name, c->other) == 0;
		}
		// Only the length of an id has no column of its own
		if (!is_there && strcmp(c->way, "I") != 0) {
			return COMPLAIN("%s: column %u is told from one behind it", t->name, c->first);
		}
		before = c->last;
	}
	return NULL;
}

static enum registry_part part_of(uint32_t table) {
	return table <= 15                   ? REGISTRY_LOG
			: table <= 47 || table >= 64 ? REGISTRY_STATE
			: table <= 55                ? REGISTRY_EVENTS
										 : REGISTRY_NONE;
}

/** What is wrong with a list of tables; NULL: nothing. */
static const char *find_fault(const struct registry_table *tables, size_t n) {
	uint32_t before = 0;
	for (size_t i = 0; i < n; i++) {
		const struct registry_table *t = &tables[i];
		if (t->first <= before) {
			return COMPLAIN("table %u twice or out of order", t->first);
		}
		if (t->first != before + 1 || t->last < t->first) {
			return COMPLAIN("table %u is lost", before + 1);
		}
		if (t->part != part_of(t->first) || t->part != part_of(t->last)) {
			return COMPLAIN("table %u is of another part", t->first);
		}
		for (size_t k = 0; t->name && k < i; k++) {
			if (tables[k].name && strcmp(tables[k].name, t->name) == 0) {
				return COMPLAIN("two tables are called %s", t->name);
			}
		}
		const char *fault = find_fault_of_columns(t);
		if (fault) {
			return fault;
		}
		before = t->last;
	}
	return NULL;
}

static void test_no_number_twice(void **state) {
	(void)state;
	const char *fault = find_fault(registry_tables, n_registry_tables);
	if (fault) {
		fail_msg("%s", fault);
	}
	assert_true(n_registry_tables > 40);
}

#define PLAIN(number) \
	{ number, number, "x", "P", NULL, 4, NULL, "" }
#define AFTER(number, of) \
	{ number, number, "y", "A", of, 4, NULL, "" }
#define LOG(number, name, columns) \
	{ number, number, name, REGISTRY_LOG, NULL, "", columns, N(columns), NULL }

static void expect(const struct registry_table *tables, size_t n, const char *words) {
	const char *fault = find_fault(tables, n);
	assert_non_null(fault);
	if (!strstr(fault, words)) {
		fail_msg("\"%s\" does not say \"%s\"", fault, words);
	}
}

// The test of the test: each fault is seen
static void test_faults_are_seen(void **state) {
	(void)state;
	const struct registry_column good[] = {PLAIN(1), AFTER(2, "x"),
			{32, 47, "z", "P", NULL, 4, NULL, ""}};
	const struct registry_column twice[] = {PLAIN(1), PLAIN(1)};
	const struct registry_column gap[] = {PLAIN(1), PLAIN(3)};
	const struct registry_column late[] = {AFTER(1, "x"), PLAIN(2)};
	const struct registry_table is_good[] = {LOG(1, "a", good), LOG(2, "b", good)};
	const struct registry_table is_twice[] = {LOG(1, "a", good), LOG(1, "b", good)};
	const struct registry_table has_gap[] = {LOG(1, "a", good), LOG(3, "b", good)};
	const struct registry_table same_name[] = {LOG(1, "a", good), LOG(2, "a", good)};
	const struct registry_table column_twice[] = {LOG(1, "a", twice)};
	const struct registry_table column_gap[] = {LOG(1, "a", gap)};
	const struct registry_table column_late[] = {LOG(1, "a", late)};
	const struct registry_table other_part[] = {
			{1, 16, "a", REGISTRY_LOG, NULL, "", good, N(good), NULL}};
	assert_null(find_fault(is_good, N(is_good)));
	expect(is_twice, N(is_twice), "table 1 twice");
	expect(has_gap, N(has_gap), "table 2 is lost");
	expect(same_name, N(same_name), "two tables are called a");
	expect(column_twice, N(column_twice), "column 1 twice");
	expect(column_gap, N(column_gap), "column 2 is lost");
	expect(column_late, N(column_late), "column 1 is told from one behind it");
	expect(other_part, N(other_part), "another part");
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_no_number_twice),
			cmocka_unit_test(test_faults_are_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
