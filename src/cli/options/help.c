// SPDX-License-Identifier: MIT
/*
 * The help of a command, from its table: "  -o, --output FILE     text", the texts one below the
 * other, broken at the width of a page.
 */
#include "cli/options/table.h"

#include <string.h>

enum { TEXT_AT = 26, PAGE_WIDTH = 98 };

/** The option as it is written; how many columns that takes. */
static int put_names(const struct option_row *row, FILE *to) {
	int n = row->letter ? fprintf(to, "  -%c, --%s", row->letter, row->name)
						: fprintf(to, "      --%s", row->name);
	switch (row->value) {
	case VALUE_NONE: // the operand that belongs to it
		return row->value_name ? n + fprintf(to, " %s", row->value_name) : n;
	case VALUE_SWITCH: return n;
	case VALUE_NEEDED: return n + fprintf(to, " %s", row->value_name);
	case VALUE_SEVERAL: return n + fprintf(to, " %s...", row->value_name);
	case VALUE_OPTIONAL: return n + fprintf(to, "[=%s]", row->value_name);
	}
	return n;
}

/** The next word of a text, and whether a line ends before it. */
static const char *next_word(const char *text, size_t *n, bool *is_new_line) {
	*is_new_line = false;
	for (; *text == ' ' || *text == '\n'; text++) {
		*is_new_line |= *text == '\n';
	}
	*n = strcspn(text, " \n");
	return text;
}

/** Put a text from a column on, the cursor being at `at`. */
static void put_text(const char *text, int column, int at, FILE *to) {
	size_t n;
	bool is_new_line, is_first = true;
	while (text = next_word(text, &n, &is_new_line), n > 0) {
		if (at >= column && is_first) {
			(void)fprintf(to, "\n%*s", column, "");
			at = column;
		} else if (is_first) {
			at += fprintf(to, "%*s", column - at, "");
		} else if (is_new_line || at + 1 + (int)n > PAGE_WIDTH) {
			(void)fprintf(to, "\n%*s", column, "");
			at = column;
		} else {
			at += fprintf(to, " ");
		}
		at += fprintf(to, "%.*s", (int)n, text);
		text += n;
		is_first = false;
	}
	(void)fputc('\n', to);
}

void options_put_help(const struct option_table *table, FILE *to) {
	(void)fputs(table->head, to);
	for (size_t i = 0; i < table->n_sections; i++) {
		const struct option_section *section = &table->sections[i];
		(void)fprintf(to, "\n%s%s", section->title ? section->title : "",
				section->title ? "\n" : "");
		for (size_t k = 0; k < section->n_rows; k++) {
			const struct option_row *row = &section->rows[k];
			if (row->help) {
				put_text(row->help, TEXT_AT, put_names(row, to), to);
			}
		}
		if (section->foot) {
			(void)fprintf(to, "\n%s", section->foot);
		}
	}
}
