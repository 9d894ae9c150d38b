// SPDX-License-Identifier: MIT
#pragma once

/**
 * The numbers of tables and columns, as rows that can be listed.
 *
 * For the lists in docs/trace-format.md and for the test that no number is given twice. No code
 * reads or writes files by it.
 */

#include <stddef.h>
#include <stdint.h>

/** A number, or several in a row that are one thing. */
struct registry_column {
	uint32_t first, last;
	const char *name, *way, *other; // other: the field that it is told from, or NULL
	uint32_t width;                 // bytes of the field; 0: of its own kind
	const char *reserved_for;       // NULL: it is in files
	const char *meaning;
};

enum registry_part { REGISTRY_LOG, REGISTRY_STATE, REGISTRY_EVENTS, REGISTRY_NONE };

struct registry_table {
	uint32_t first, last;
	const char *name; // NULL: free
	enum registry_part part;
	const char *reserved_for, *meaning;
	const struct registry_column *columns;
	size_t n_columns;
	const char *as; // the table whose columns it has, or NULL
};

extern const struct registry_table registry_tables[];
extern const size_t n_registry_tables;
