// SPDX-License-Identifier: MIT
/* Parses a command line with getopt, by a table of options, and prints the help from it. */
#include "cli/options/table.h"

#include <getopt.h>

enum {
	ROWS_MAX = 96,
	FIRST_ROW = 256, // getopt's number of row 0: behind all letters
};

/** A table as getopt wants it. */
struct prepared {
	const struct option_row *rows[ROWS_MAX];
	struct option names[ROWS_MAX + 1];
	char letters[2 + 3 * ROWS_MAX];
	int n;
};

static void prepare(struct prepared *p, const struct option_table *table) {
	char *letter = p->letters;
	if (table->operands == OPERANDS_PROGRAM) {
		*letter++ = '+';
	}
	*letter++ = ':'; // values that are missing are told apart from options that are unknown
	p->n = 0;
	EACH_OF_THAT(row, table->rows, table->n_rows, row->name) {
		check(p->n < ROWS_MAX);
		bool is_optional = row->value == VALUE_OPTIONAL || row->value == VALUE_SWITCH;
		int kind = row->value == VALUE_NONE ? no_argument
				: is_optional               ? optional_argument
											: required_argument;
		p->names[p->n] = (struct option){row->name, kind, NULL, FIRST_ROW + p->n};
		p->rows[p->n++] = row;
		if (row->letter) {
			*letter++ = row->letter;
			for (int n = kind; n > 0; n--) { // required ':', optional '::'
				*letter++ = ':';
			}
		}
	}
	*letter = '\0';
	p->names[p->n] = (struct option){0};
}

static const struct option_row *find_row(const struct prepared *p, int c) {
	if (c >= FIRST_ROW && c < FIRST_ROW + p->n) {
		return p->rows[c - FIRST_ROW];
	}
	const struct option_row *const *row = FIND(r, p->rows, (size_t)p->n,
			(*r)->letter && (*r)->letter == c);
	return row ? *row : NULL;
}

// ---- what is wrong

/** An abbreviation of several. */
static bool say_ambiguous(const struct prepared *p, const char *word, size_t n, struct err *err) {
	SCOPED(buffer) names = {0};
	int n_found = 0;
	EACH_NUMBER(i, p->n, p->rows[i]->help && strncmp(p->rows[i]->name, word + 2, n) == 0) {
		buffer_printf(&names, "%s--%s", n_found++ ? ", " : "", p->rows[i]->name);
	}
	if (n_found > 1) {
		(void)err_usage(err, "option \"%s\" is ambiguous: %.*s", word,
				SLICE_ARG(buffer_view(&names)));
	}
	return n_found > 1;
}

static bool say_unknown(const struct prepared *p, const struct option_table *table,
		const char *word, struct err *err) {
	if (optopt >= FIRST_ROW) {
		return err_usage(err, "option \"--%s\" takes no value", find_row(p, optopt)->name);
	}
	if (optopt) {
		return err_usage(err, "unknown option \"-%c\"; see %s --help", optopt, table->command);
	}
	size_t n = strcspn(word + 2, "=");
	if (say_ambiguous(p, word, n, err)) {
		return false;
	}
	struct nearest nearest = nearest_init(slice_of(word + 2, n));
	EACH_NUMBER(i, p->n, p->rows[i]->help) {
		nearest_try(&nearest, p->rows[i]->name);
	}
	if (nearest.name) {
		return err_usage(err, "unknown option \"%.*s\"; did you mean \"--%s\"?", (int)n + 2, word,
				nearest.name);
	}
	return err_usage(err, "unknown option \"%.*s\"; see %s --help", (int)n + 2, word,
			table->command);
}

static bool say_missing(const struct prepared *p, struct err *err) {
	const struct option_row *row = find_row(p, optopt);
	if (!row) {
		return err_usage(err, "option \"-%c\" needs a value", optopt);
	}
	return err_usage(err, "option \"--%s\" needs a value: --%s %s", row->name, row->name,
			row->value_name);
}

// ---- one option

/** The value of a switch may stand in the next word. */
static const char *switch_value(char **argv) {
	const char *next = argv[optind];
	if (!optarg && next && (strcmp(next, "0") == 0 || strcmp(next, "1") == 0)) {
		optind++;
		return next;
	}
	return optarg;
}

static bool take_row(struct option_given *g, int argc, char **argv) {
	const struct option_row *row = g->row;
	g->value = row->value == VALUE_SWITCH ? switch_value(argv) : optarg;
	return row->take(g) &&
			EVERY(row->value == VALUE_SEVERAL && optind < argc && argv[optind][0] != '-',
					(g->value = argv[optind++], row->take(g)));
}

bool options_parse(const struct option_table *table, void *options, int argc, char **argv,
		int *operands, struct err *err) {
	struct prepared p;
	prepare(&p, table);
	opterr = 0;
	optind = 0; // getopt begins anew: one command may have handed over to another
	int c;
	bool goes_on = true;
	while (goes_on && (c = getopt_long(argc, argv, p.letters, p.names, NULL)) != -1) {
		struct option_given given = {table, options, find_row(&p, c), NULL, err};
		if (!given.row) {
			return c == ':' ? say_missing(&p, err) : say_unknown(&p, table, argv[optind - 1], err);
		}
		if (!take_row(&given, argc, argv)) {
			return false;
		}
		goes_on = !given.row->ends;
	}
	*operands = optind;
	return true;
}

// ---- values

bool option_take_flag(const struct option_given *g) {
	*(bool *)option_field(g) = true;
	return true;
}

bool option_take_switch(const struct option_given *g) {
	if (g->value && strcmp(g->value, "0") != 0 && strcmp(g->value, "1") != 0) {
		return err_usage(g->err, "--%s: invalid value \"%s\"; use 0 or 1", g->row->name, g->value);
	}
	*(bool *)option_field(g) = !g->value || *g->value == '1';
	return true;
}

bool option_take_text(const struct option_given *g) {
	*(const char **)option_field(g) = g->value;
	return true;
}

bool option_take_choice(const struct option_given *g) {
	*(int *)option_field(g) = g->row->arg;
	return true;
}

bool option_number(const char *text, uint64_t most, uint64_t *out) {
	struct slice rest = slice_of_text(text);
	return take_decimal(&rest, out) && rest.size == 0 && *out <= most;
}

bool option_take_number(const struct option_given *g) {
	uint64_t n;
	if (!option_number(g->value, UINT32_MAX, &n)) {
		return err_usage(g->err, "--%s: invalid number \"%s\"", g->row->name, g->value);
	}
	*(uint32_t *)option_field(g) = (uint32_t)n;
	return true;
}

bool option_take_size(const struct option_given *g) {
	static const char units[] = "kMGT";
	struct slice rest = slice_of_text(g->value);
	uint64_t n;
	bool ok = take_decimal(&rest, &n);
	const char *unit = rest.size ? strchr(units, *rest.data == 'K' ? 'k' : *rest.data) : NULL;
	for (const char *u = units; ok && unit && u <= unit; u++) {
		ok = !__builtin_mul_overflow(n, 1000u, &n);
	}
	rest = unit ? slice_from(rest, 1) : rest;
	(void)take_prefix(&rest, "B");
	if (!ok || rest.size > 0) {
		return err_usage(g->err, "--%s: invalid size \"%s\"; use e.g. 256M or 2G", g->row->name,
				g->value);
	}
	*(uint64_t *)option_field(g) = n;
	return true;
}

bool option_take_time(const struct option_given *g) {
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 0.001}, {"m", 60}, {"min", 60}, {"h", 3600}};
	char *end;
	double n = strtod(g->value, &end);
	EACH_NUMBER(i, N_OF(units),
			isdigit((unsigned char)g->value[0]) && strcmp(end, units[i].name) == 0 &&
					n * units[i].seconds < 1e9 && n > 0) {
		*(uint64_t *)option_field(g) = (uint64_t)(n * units[i].seconds * 1e9);
		return true;
	}
	return err_usage(g->err, "--%s: invalid time \"%s\"; use e.g. 90s or 5m", g->row->name,
			g->value);
}

// ---- the help: "  -o, --output FILE     text", the texts one below the other, broken

enum { TEXT_AT = 26, PAGE_WIDTH = 98 };

/** The option as it is written. */
static void put_names(struct buffer *out, const struct option_row *row) {
	buffer_text(out, row->letter ? FORMAT(8, "  -%c, ", row->letter) : "      ");
	buffer_printf(out, "--%s", row->name);
	if (row->value == VALUE_OPTIONAL) {
		buffer_printf(out, "[=%s]", row->value_name);
	} else if (row->value != VALUE_SWITCH &&
			row->value_name) { // a flag's: the operand it goes with
		buffer_printf(out, " %s%s", row->value_name, row->value == VALUE_SEVERAL ? "..." : "");
	}
}

void options_put_help(const struct option_table *table, FILE *to) {
	SCOPED(buffer) out = {0};
	buffer_printf(&out, "%s%s", table->head, table->rows[0].section ? "" : "\n");
	EACH_OF(row, table->rows, table->n_rows) {
		if (row->section) {
			buffer_printf(&out, "\n%s\n", row->section);
		} else if (row->help) {
			SCOPED(buffer) names = {0};
			put_names(&names, row);
			bool fits = names.size < TEXT_AT;
			if (!fits)
				buffer_printf(&out, "%.*s\n", SLICE_ARG(buffer_view(&names)));
			visible_wrap(&out,
					FORMAT(TEXT_AT + 1, "%-*.*s", TEXT_AT, fits ? (int)names.size : 0,
							(const char *)names.data),
					TEXT_AT, row->help, PAGE_WIDTH);
		}
	}
	if (table->foot) {
		buffer_printf(&out, "\n%s", table->foot);
	}
	(void)fwrite(out.data, 1, out.size, to);
}

// ---- what a command says of itself

bool option_take_help(const struct option_given *g) {
	options_put_help(g->table, stdout);
	exit(EXIT_SUCCESS);
}

bool option_take_version(const struct option_given *g) {
	(void)printf("%s " CLI_VERSION "\n", g->table->command);
	if (g->table->shows_page && page_is_there()) {
		(void)printf("the web page includes:\n%s", page_licences());
	}
	exit(EXIT_SUCCESS);
}
