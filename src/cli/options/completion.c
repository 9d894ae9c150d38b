// SPDX-License-Identifier: MIT
/*
 * What shells complete, from the same tables: a function per command for bash, an _arguments call
 * per command for zsh, a `complete` line per option for fish. What a value is shows in its name:
 * FILE, OUT and BASE are files, DIR a folder, PID a process; row->words lists what else there is.
 */
#include "cli/options/table.h"

static const struct option_table *const tables[] = {&heaptrack_option_table, &print_option_table,
		&gui_option_table, &interpret_option_table};
enum { N_TABLES = sizeof tables / sizeof *tables };

enum completes {
	COMPLETES_NOTHING,
	COMPLETES_WORDS,
	COMPLETES_FILES,
	COMPLETES_FOLDERS,
	COMPLETES_PROCESSES
};

static bool has_value(const struct option_row *row) {
	return row->value != VALUE_NONE && row->value != VALUE_SWITCH;
}

static enum completes what_completes(const struct option_row *row) {
	static const struct {
		const char *name;
		enum completes what;
	} names[] = {{"FILE", COMPLETES_FILES}, {"OUT", COMPLETES_FILES}, {"BASE", COMPLETES_FILES},
			{"PATH", COMPLETES_FILES}, {"DIR", COMPLETES_FOLDERS}, {"PID", COMPLETES_PROCESSES}};
	if (row->words) {
		return COMPLETES_WORDS;
	}
	const size_t n = row->value_name ? sizeof names / sizeof *names : 0;
	__auto_type known = FIND(item, names, n, strcmp(row->value_name, item->name) == 0);
	return known ? known->what : COMPLETES_NOTHING;
}

/** Call `put` for each option of a table that the help mentions. */
static void each_row(const struct option_table *table, FILE *to,
		void (*put)(const struct option_table *, const struct option_row *, FILE *)) {
	for (size_t i = 0; i < table->n_rows; i++) {
		if (table->rows[i].help) {
			put(table, &table->rows[i], to);
		}
	}
}

/** The help's first words, without what would end a quoted text. */
static void put_brief(const struct option_row *row, FILE *to) {
	for (const char *c = row->help; *c && *c != '\n' && *c != ';'; c++) {
		if (strchr("'\"[]:\\`$", *c) == NULL) {
			(void)fputc(*c, to);
		}
	}
}

// ---- bash

static void put_bash_name(const struct option_table *table, const struct option_row *row,
		FILE *to) {
	(void)table;
	(void)fprintf(to, " --%s%s", row->name, row->value == VALUE_OPTIONAL ? "=" : "");
}

static void put_bash_value(const struct option_table *table, const struct option_row *row,
		FILE *to) {
	(void)table;
	static const char *const answers[] = {[COMPLETES_NOTHING] = "COMPREPLY=()",
			[COMPLETES_FILES] = "COMPREPLY=($(compgen -f -- \"$cur\"))",
			[COMPLETES_FOLDERS] = "COMPREPLY=($(compgen -d -- \"$cur\"))",
			[COMPLETES_PROCESSES] =
					"COMPREPLY=($(compgen -W \"$(cd /proc && echo [0-9]*)\" -- \"$cur\"))"};
	if ((!has_value(row) && !row->words) || row->value == VALUE_OPTIONAL) {
		return;
	}
	(void)fputs("\t", to);
	if (row->letter) {
		(void)fprintf(to, "-%c|", row->letter);
	}
	(void)fprintf(to, "--%s) ", row->name);
	enum completes what = what_completes(row);
	if (what == COMPLETES_WORDS) {
		(void)fprintf(to, "COMPREPLY=($(compgen -W \"%s\" -- \"$cur\"))", row->words);
	} else {
		(void)fputs(answers[what], to);
	}
	(void)fputs("; return ;;\n", to);
}

/** What a word stands for that is no option. */
static void put_bash_operand(const struct option_table *table, FILE *to) {
	if (table->operands == OPERANDS_PROGRAM) {
		// Its own options are its own business: hand over where the bash-completion package is
		// there
		(void)fputs("\tlocal i\n"
					"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
					"\t\tcase \"${COMP_WORDS[i]}\" in\n"
					"\t\t-o|--output|--duration|-p|--pid) i=$((i + 1)) ;;\n"
					"\t\t-a|--analyze|-i|--interpret|--ctl) break ;;\n"
					"\t\t-*) ;;\n"
					"\t\t*) if declare -F _command_offset >/dev/null; then _command_offset $i; "
					"else COMPREPLY=($(compgen -f -- \"$cur\")); fi; return ;;\n"
					"\t\tesac\n"
					"\tdone\n",
				to);
	}
	(void)fprintf(to, "\tif [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"");
	each_row(table, to, put_bash_name);
	(void)fputs("\" -- \"$cur\")); return; fi\n", to);
	if (table->operands == OPERANDS_PROGRAM) {
		(void)fputs("\tCOMPREPLY=($(compgen -c -f -- \"$cur\"))\n", to);
	} else if (table->operands == OPERANDS_FILES) {
		(void)fputs("\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n", to);
	}
}

static void put_bash(FILE *to) {
	(void)fputs("# bash completion for heaptrack\n", to);
	for (size_t i = 0; i < N_TABLES; i++) {
		const struct option_table *table = tables[i];
		(void)fprintf(to,
				"_complete_%s() {\n"
				"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
				"\tif [[ $cur == = ]]; then cur=; prev==; fi\n" // --name=: three words
				"\tif [[ $prev == = ]]; then "
				"prev=${COMP_WORDS[COMP_CWORD - (2 - (${#cur} == 0))]}; fi\n"
				"\tcase \"$prev\" in\n",
				table->command);
		each_row(table, to, put_bash_value);
		(void)fputs("\tesac\n", to);
		put_bash_operand(table, to);
		(void)fprintf(to, "}\ncomplete -o filenames -F _complete_%s %s\n", table->command,
				table->command);
	}
}

// ---- zsh

static void put_zsh_row(const struct option_table *table, const struct option_row *row, FILE *to) {
	(void)table;
	static const char *const actions[] = {[COMPLETES_NOTHING] = " ",
			[COMPLETES_FILES] = "_files",
			[COMPLETES_FOLDERS] = "_files -/",
			[COMPLETES_PROCESSES] = "_pids"};
	const char *equals = row->value == VALUE_NEEDED || row->value == VALUE_SEVERAL ? "=" : "=-";
	(void)fputs(" \\\n\t\t", to);
	if (row->letter) {
		(void)fprintf(to, "{-%c,--%s%s}", row->letter, row->name, has_value(row) ? equals : "");
	} else {
		(void)fprintf(to, "--%s%s", row->name, has_value(row) ? equals : "");
	}
	(void)fputs("'[", to);
	put_brief(row, to);
	(void)fputs("]", to);
	enum completes what = what_completes(row);
	if (has_value(row)) {
		(void)fprintf(to, "%s%s:", row->value == VALUE_OPTIONAL ? "::" : ":", row->value_name);
		if (what == COMPLETES_WORDS) {
			(void)fprintf(to, "(%s)", row->words);
		} else {
			(void)fputs(actions[what], to);
		}
	}
	(void)fputs("'", to);
}

static void put_zsh(FILE *to) {
	static const char *const operands[] = {[OPERANDS_FILES] = "'*:recording:_files'",
			[OPERANDS_PROGRAM] = "'(-)1:program:_command_names -e' '*::arguments:_normal'",
			[OPERANDS_NONE] = ""};
	(void)fputs("#compdef", to);
	for (size_t i = 0; i < N_TABLES; i++) {
		(void)fprintf(to, " %s", tables[i]->command);
	}
	(void)fputs("\ncase \"$service\" in\n", to);
	for (size_t i = 0; i < N_TABLES; i++) {
		(void)fprintf(to, "%s)\n\t_arguments -s -S", tables[i]->command);
		each_row(tables[i], to, put_zsh_row);
		(void)fprintf(to, " \\\n\t\t%s\n\t;;\n", operands[tables[i]->operands]);
	}
	(void)fputs("esac\n", to);
}

// ---- fish

static void put_fish_row(const struct option_table *table, const struct option_row *row, FILE *to) {
	static const char *const arguments[] = {[COMPLETES_NOTHING] = " -x",
			[COMPLETES_FILES] = " -r -F",
			[COMPLETES_FOLDERS] = " -x -a '(__fish_complete_directories)'",
			[COMPLETES_PROCESSES] = " -x -a '(__fish_complete_pids)'"};
	(void)fprintf(to, "complete -c %s", table->command);
	if (table->operands == OPERANDS_PROGRAM) {
		(void)fputs(" -n '__fish_is_first_token'", to); // behind the program stand its own
	}
	if (row->letter) {
		(void)fprintf(to, " -s %c", row->letter);
	}
	(void)fprintf(to, " -l %s", row->name);
	enum completes what = what_completes(row);
	if (has_value(row) && what == COMPLETES_WORDS) {
		(void)fprintf(to, " -x -a '%s'", row->words);
	} else if (has_value(row) && row->value != VALUE_OPTIONAL) {
		(void)fputs(arguments[what], to);
	}
	(void)fputs(" -d '", to);
	put_brief(row, to);
	(void)fputs("'\n", to);
}

static void put_fish(FILE *to) {
	(void)fputs("# fish completion for heaptrack\n", to);
	for (size_t i = 0; i < N_TABLES; i++) {
		if (tables[i]->operands == OPERANDS_PROGRAM) {
			(void)fprintf(to, "complete -c %s -x -a '(__fish_complete_subcommand)'\n",
					tables[i]->command);
		}
		each_row(tables[i], to, put_fish_row);
	}
}

bool options_put_completion(const char *shell, FILE *to, struct err *err) {
	static const struct {
		const char *name;
		void (*put)(FILE *to);
	} shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
	__auto_type known = FIND(s, shells, sizeof shells / sizeof *shells,
			strcmp(s->name, shell) == 0);
	if (known) {
		known->put(to);
	}
	return known ||
			err_set(err, ERR_USAGE, "--completion: unknown shell \"%s\"; use bash, zsh or fish",
					shell);
}
