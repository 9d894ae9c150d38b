// SPDX-License-Identifier: MIT
/* Turns registry.def into rows that can be listed. */
#include "registry.h"

#include "trace/tables/tables.h"

#define TABLE(number, name, ...) static const struct registry_column name##_columns[] = {
#define COLUMN(number, way, letter, field, meaning) \
	{number, number, #field, letter, NULL, sizeof(((ROW *)0)->field), NULL, meaning},
#define COLUMN_BY(number, way, letter, field, other, meaning) \
	{number, number, #field, letter, #other, sizeof(((ROW *)0)->field), NULL, meaning},
#define MANY(first, last, name, width, meaning) \
	{first, last, #name, "P", NULL, width, NULL, meaning},
#define OWN(number, constant, name, letter, meaning) \
	{number, number, #name, letter, NULL, 0, NULL, meaning},
#define TAKEN(first, last, name, user, meaning) {first, last, #name, "", NULL, 0, user, meaning},
#define END(...) \
	}            \
	;
#define TABLE_OWN(number, constant, name, ...) TABLE(number, name, )
#define END_OWN                                END()
#define SAME(...)
#define TABLES_TAKEN(...)
#define TABLES_FREE(...)
#include "trace/tables/registry.def"

#undef TABLE
#undef COLUMN
#undef COLUMN_BY
#undef MANY
#undef OWN
#undef TAKEN
#undef END
#undef TABLE_OWN
#undef END_OWN
#undef SAME
#undef TABLES_TAKEN
#undef TABLES_FREE

#define ROW_OF(number, name, part, columns, as, meaning)                       \
	{number, number, #name, REGISTRY_##part, NULL, meaning, columns##_columns, \
			sizeof columns##_columns / sizeof *columns##_columns, as},
#define TABLE(number, name, part, meaning) ROW_OF(number, name, part, name, NULL, meaning)
#define TABLE_OWN(number, constant, name, part, meaning) \
	ROW_OF(number, name, part, name, NULL, meaning)
#define SAME(number, name, part, as, meaning) ROW_OF(number, name, part, as, #as, meaning)
#define TABLES_TAKEN(first, last, name, part, user, meaning) \
	{first, last, #name, REGISTRY_##part, user, meaning, NULL, 0, NULL},
#define TABLES_FREE(first, last, part) \
	{first, last, NULL, REGISTRY_##part, NULL, "", NULL, 0, NULL},
#define COLUMN(...)
#define COLUMN_BY(...)
#define MANY(...)
#define OWN(...)
#define TAKEN(...)
#define END(...)
#define END_OWN
const struct registry_table registry_tables[] = {
#include "trace/tables/registry.def"
};
const size_t n_registry_tables = sizeof registry_tables / sizeof *registry_tables;
