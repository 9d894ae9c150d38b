// SPDX-License-Identifier: MIT
#pragma once
/**
 * Command lines as tables of options. Each option is a row, from which everything else is
 * generated: the parser (based on getopt_long, so names can be abbreviated), the help, shell
 * completions, and the list of options in the manual page (tools/manual/options.c, which has longer
 * texts for some in its own options.def).
 */

#include "cli/cli.h"

enum option_value {
	VALUE_NONE,
	VALUE_NEEDED,
	VALUE_OPTIONAL, // only as --name=VALUE
	VALUE_SWITCH,   // KDE's: -l, -l1, -l 0, --print-leaks=1
	VALUE_SEVERAL,  // the next word, and all up to the next option: taken one by one
};

struct option_row;
struct option_table;

/** An option as it was given: where what it says goes, its row, its value (NULL: none). */
struct option_given {
	const struct option_table *table;
	void *options;
	const struct option_row *row;
	const char *value;
	struct err *err;
};

/** Take a value. False: `err` says what is wrong with it. */
typedef bool option_taker(const struct option_given *g);

struct option_row {
	const char *name; // without the dashes; NULL: no option, but a section of the help begins
	char letter;      // 0: none
	enum option_value value;
	bool ends;              // what follows is another command's
	const char *value_name; // "FILE", "DIR", "PID" are completed as such
	const char *words;      // values to complete, separated by spaces; NULL: none
	const char *help;       // NULL: accepted, but not mentioned

	option_taker *take;
	size_t at; // of the field that it fills
	int arg;   // for those of the command

	const char *section; // title, ends with ':'
};

enum option_operands { OPERANDS_FILES, OPERANDS_PROGRAM, OPERANDS_NONE };

struct option_table {
	const char *command;
	const char *head; // of the help: usage, and what it does
	const struct option_row *rows;
	size_t n_rows;
	const char *foot;              // of the help; NULL: none
	bool shows_page;               // --version tells what the web page includes
	enum option_operands operands; // PROGRAM: what follows its name is the program's own
};
// The rows of a command stand in its .def: OPTION(name, letter, kind, .help = ...)
#define OPTION(...)        {__VA_ARGS__},
#define SECTION(title)     {.section = (title)},
#define FLAG(field)        .take = option_take_flag, AT(field) // AT: an offset in its own struct
#define TEXT(name, field)  VALUE_NEEDED, .value_name = (name), .take = option_take_text, AT(field)
#define OPTION_ROWS(array) .rows = (array), .n_rows = N_OF(array)

extern const struct option_table heaptrack_option_table, print_option_table, gui_option_table,
		interpret_option_table;

/**
 * Take all options. *operands: the index of the first word that is none; they have been moved
 * behind the options unless the table says PROGRAM. False: `err` says what is wrong, with the word
 * that is. --help and --version print and end the process.
 */
bool options_parse(const struct option_table *table, void *options, int argc, char **argv,
		int *operands, struct err *err);

void options_put_help(const struct option_table *table, FILE *to);

/** A decimal number of at most `most`, and nothing behind it. */
bool option_number(const char *text, uint64_t most, uint64_t *out);

static inline void *option_field(const struct option_given *g) {
	return (char *)g->options + g->row->at;
}

// ---- take: what is stored in the field

option_taker option_take_flag;   // bool: true
option_taker option_take_switch; // bool
option_taker option_take_text;   // const char *
option_taker option_take_number; // uint32_t
option_taker option_take_size;   // uint64_t, bytes: "500M", "2G", "123k", "4096", decimal units
option_taker option_take_time;   // uint64_t, ns: "90", "90s", "1.5m", "2h", "300ms"
option_taker option_take_choice; // int: row->arg

// ---- take: what ends the process, having printed what the table says

option_taker option_take_help, option_take_version;
#define OPTION_HELP OPTION("help", 'h', .take = option_take_help, .help = "print this help")
#define OPTION_VERSION \
	OPTION("version", 'v', .take = option_take_version, .help = "print the version")
