// SPDX-License-Identifier: MIT
/*
 * The list of options in a command's manual page, as roff, from its table: `heaptrack-manual
 * COMMAND`; the metrics in docs/lens.md: `heaptrack-manual metrics`. tools/docs puts them into man/
 * and docs/.
 */
#include "cli/options/table.h"
#include "engine/metrics.h"
#include "export/export.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_COLUMNS = 96 };

static const struct {
	const char *command, *option, *text;
} manuals[] = {
#define MANUAL(command, option, text) {#command, option, text},
#include "options.def"
#undef MANUAL
};

static void put_char(char c) {
	switch (c) {
	case '-': (void)fputs("\\-", stdout); break;
	case '\'': (void)fputs("\\(aq", stdout); break;
	case '\\': (void)fputs("\\e", stdout); break;
	default: (void)putchar(c); break;
	}
}

static void put_chars(const char *text, size_t n) {
	for (size_t i = 0; i < n; i++) {
		put_char(text[i]);
	}
}

/** A word: the option's value in italics, another page's name in bold. */
static void put_word(const char *word, size_t n, const char *value_name) {
	size_t n_value = value_name ? strlen(value_name) : 0;
	size_t n_name = strcspn(word, "(");
	if (n_value && n >= n_value && strncmp(word, value_name, n_value) == 0 &&
			!isalnum((unsigned char)word[n_value])) {
		(void)printf("\\fI%s\\fR", value_name);
		put_chars(word + n_value, n - n_value);
	} else if (n_name > 0 && n_name + 2 < n && isdigit((unsigned char)word[n_name + 1])) {
		(void)fputs("\\fB", stdout);
		put_chars(word, n_name);
		(void)fputs("\\fR", stdout);
		put_chars(word + n_name, n - n_name);
	} else {
		put_chars(word, n);
	}
}

/** Words, on lines of the usual length; "\n" begins a paragraph. A help text becomes a sentence. */
static void put_text(const char *text, bool is_sentence, const char *value_name) {
	size_t column = 0;
	for (bool is_first = true; *text; is_first = false) {
		if (*text == '\n') {
			(void)fputs("\n.IP", stdout);
			column = LINE_MAX_COLUMNS;
		}
		text += strspn(text, " \n");
		size_t n = strcspn(text, " \n");
		if (column + n + 1 > LINE_MAX_COLUMNS) {
			(void)putchar('\n');
			column = 0;
		}
		column += n + (column > 0);
		if (column > n) {
			(void)putchar(' ');
		} else if (*text == '.') {
			(void)fputs("\\&", stdout);
		}
		bool is_plain = is_first && !is_sentence && islower((unsigned char)text[0]);
		if (is_plain) {
			(void)putchar(toupper((unsigned char)text[0]));
		}
		put_word(text + is_plain, n - is_plain, value_name);
		text += n;
	}
	(void)puts(is_sentence ? "" : ".");
}

static void put_row(const char *command, const struct option_row *row) {
	__auto_type manual = FIND(m, manuals, sizeof manuals / sizeof *manuals,
			strcmp(m->command, command) == 0 && strcmp(m->option, row->name) == 0);
	(void)puts(".TP");
	if (row->letter) {
		(void)printf("\\fB\\-%c\\fR, ", row->letter);
	}
	(void)fputs("\\fB\\-\\-", stdout);
	put_chars(row->name, strlen(row->name));
	(void)fputs("\\fR", stdout);
	if (row->value_name) {
		(void)fputs(row->value == VALUE_OPTIONAL ? "[=\\fI" : " \\fI", stdout);
		put_chars(row->value_name, strlen(row->value_name));
		(void)fputs(row->value == VALUE_OPTIONAL      ? "\\fR]"
						: row->value == VALUE_SEVERAL ? "\\fR..."
													  : "\\fR",
				stdout);
	}
	(void)putchar('\n');
	put_text(manual ? manual->text : row->help, manual != NULL, row->value_name);
}

static void put_metrics(void) {
	(void)puts("| | sorts by | within a range | |\n|---|---|---|---|");
	for (enum lens_metric i = 0; i < N_LENS_METRICS; i++) {
		const struct metric *m = &lens_metrics[i];
		(void)printf("| `%s` | %s | %s | %s |\n", lens_metric_names[i],
				m->is_counted ? "blocks" : "bytes", metric_rule_texts[m->rule].help, m->help);
	}
}

int main(int argc, char **argv) {
	const struct option_table *const tables[] = {&heaptrack_option_table, &print_option_table,
			&gui_option_table, &interpret_option_table};
	if (argc == 2 && strcmp(argv[1], "metrics") == 0) {
		put_metrics();
		return EXIT_SUCCESS;
	}
	for (size_t i = 0; argc == 2 && i < sizeof tables / sizeof *tables; i++) {
		if (strcmp(argv[1], tables[i]->command) != 0) {
			continue;
		}
		for (size_t k = 0; k < tables[i]->n_rows; k++) {
			const struct option_row *row = &tables[i]->rows[k];
			if (row->section) {
				(void)fputs(".SS ", stdout);
				put_chars(row->section, strlen(row->section) - 1); // without its ':'
				(void)putchar('\n');
			} else if (row->help) {
				put_row(tables[i]->command, row);
			}
		}
		return EXIT_SUCCESS;
	}
	(void)fputs("usage: heaptrack-manual COMMAND|metrics\n", stderr);
	return EXIT_FAILURE;
}
