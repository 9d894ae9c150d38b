// SPDX-License-Identifier: MIT
/*
 * The lists of tables in docs/trace-format.md: `trace-manual log|state|events|reserved`. tools/docs
 * puts them there.
 */
#include "registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_numbers(uint32_t first, uint32_t last) {
	(void)printf("| %u", first);
	if (last > first) {
		(void)printf(" .. %u", last);
	}
}

static void put_table(const struct registry_table *t) {
	(void)printf("\n**%u %s.** %s.", t->first, t->name, t->meaning);
	if (t->as) {
		(void)printf(" Columns as of %s.\n", t->as);
		return;
	}
	(void)puts("\n\n| | | way | bytes | |\n|---|---|---|---|---|");
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct registry_column *c = &t->columns[i];
		if (c->reserved_for) {
			continue;
		}
		put_numbers(c->first, c->last);
		(void)printf(" | %s | %s", c->name, c->way);
		if (c->other) {
			(void)printf("(%s)", c->other);
		}
		(void)(c->width ? printf(" | %u", c->width) : printf(" |"));
		(void)printf(" | %s |\n", c->meaning);
	}
}

static void put_part(enum registry_part part) {
	for (size_t i = 0; i < n_registry_tables; i++) {
		const struct registry_table *t = &registry_tables[i];
		if (t->part == part && t->name && !t->reserved_for) {
			put_table(t);
		}
	}
	(void)putchar('\n');
}

static void put_reserved(void) {
	(void)puts("| table | column | | for | |\n|---|---|---|---|---|");
	for (size_t i = 0; i < n_registry_tables; i++) {
		const struct registry_table *t = &registry_tables[i];
		for (size_t k = 0; k < (t->as ? 0 : t->n_columns); k++) {
			const struct registry_column *c = &t->columns[k];
			if (c->reserved_for) {
				(void)printf("| %u %s ", t->first, t->name);
				put_numbers(c->first, c->last);
				(void)printf(" | %s | %s | %s |\n", c->name, c->reserved_for, c->meaning);
			}
		}
		if (t->reserved_for || !t->name) {
			put_numbers(t->first, t->last);
			(void)printf(" | | %s | %s | %s |\n", t->name ? t->name : "free",
					t->name ? t->reserved_for : "", t->meaning);
		}
	}
}

int main(int argc, char **argv) {
	static const char *const parts[] = {
			[REGISTRY_LOG] = "log",
			[REGISTRY_STATE] = "state",
			[REGISTRY_EVENTS] = "events",
	};
	for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; i++) {
		if (strcmp(argv[1], parts[i]) == 0) {
			put_part((enum registry_part)i);
			return EXIT_SUCCESS;
		}
	}
	if (argc == 2 && strcmp(argv[1], "reserved") == 0) {
		put_reserved();
		return EXIT_SUCCESS;
	}
	(void)fputs("usage: trace-manual log|state|events|reserved\n", stderr);
	return EXIT_FAILURE;
}
