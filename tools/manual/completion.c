// SPDX-License-Identifier: MIT
/*
 * What shells complete, from the tables of options: `heaptrack-completion bash|zsh|fish`. The build
 * runs it, `make install` and packages carry what it prints: a function per command for bash, an
 * _arguments call per command for zsh, a `complete` line per option for fish. What a value is shows
 * in its name: FILE, OUT and BASE are files, DIR a folder, PID a process; row->words lists what else
 * there is.
 */
#include "cli/options/table.h"

static const struct option_table *const tables[] = {&heaptrack_option_table, &print_option_table,
		&gui_option_table, &interpret_option_table};
enum { N_TABLES = sizeof tables / sizeof *tables };

#define FILES "compgen -f", "_files", " -r -F"

/** How each shell completes a value, by its name in the help. */
static const struct completer {
	const char *name, *bash, *zsh, *fish;
} completers[] = {{"FILE", FILES}, {"OUT", FILES}, {"BASE", FILES}, {"PATH", FILES},
		{"DIR", "compgen -d", "_files -/", " -x -a '(__fish_complete_directories)'"},
		{"PID", "compgen -W \"$(cd /proc && echo [0-9]*)\"", "_pids",
				" -x -a '(__fish_complete_pids)'"}};

static bool has_value(const struct option_row *row) {
	return row->value != VALUE_NONE && row->value != VALUE_SWITCH;
}

/** NULL: not at all, or by its words. */
static const struct completer *completer_of(const struct option_row *row) {
	const size_t n = row->value_name && !row->words ? sizeof completers / sizeof *completers : 0;
	return FIND(c, completers, n, strcmp(row->value_name, c->name) == 0);
}

/** Each option of a table that the help mentions. */
#define EACH_ROW(row, table)                                                                  \
	for (const struct option_row *row = (table)->rows; row < (table)->rows + (table)->n_rows; \
			row++)                                                                            \
		if (row->help)

/** The help's first words, without what would end a quoted text. */
static void put_brief(const struct option_row *row, FILE *to) {
	for (const char *c = row->help; *c && *c != '\n' && *c != ';'; c++) {
		if (strchr("'\"[]:\\`$", *c) == NULL) {
			(void)fputc(*c, to);
		}
	}
}

// ---- bash

static void put_bash_value(const struct option_row *row, FILE *to) {
	if ((!has_value(row) && !row->words) || row->value == VALUE_OPTIONAL) {
		return;
	}
	(void)fputs("\t", to);
	if (row->letter) {
		(void)fprintf(to, "-%c|", row->letter);
	}
	(void)fprintf(to, "--%s) COMPREPLY=(", row->name);
	const struct completer *completer = completer_of(row);
	if (row->words) {
		(void)fprintf(to, "$(compgen -W \"%s\" -- \"$cur\")", row->words);
	} else if (completer) {
		(void)fprintf(to, "$(%s -- \"$cur\")", completer->bash);
	}
	(void)fputs("); return ;;\n", to);
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
	EACH_ROW(row, table) {
		(void)fprintf(to, " --%s%s", row->name, row->value == VALUE_OPTIONAL ? "=" : "");
	}
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
		EACH_ROW(row, table) {
			put_bash_value(row, to);
		}
		(void)fputs("\tesac\n", to);
		put_bash_operand(table, to);
		(void)fprintf(to, "}\ncomplete -o filenames -F _complete_%s %s\n", table->command,
				table->command);
	}
}

// ---- zsh

static void put_zsh_row(const struct option_row *row, FILE *to) {
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
	const struct completer *completer = completer_of(row);
	if (has_value(row)) {
		(void)fprintf(to, "%s%s:", row->value == VALUE_OPTIONAL ? "::" : ":", row->value_name);
		(void)fprintf(to, row->words ? "(%s)" : "%s",
				row->words          ? row->words
						: completer ? completer->zsh
									: " ");
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
		EACH_ROW(row, tables[i]) {
			put_zsh_row(row, to);
		}
		(void)fprintf(to, " \\\n\t\t%s\n\t;;\n", operands[tables[i]->operands]);
	}
	(void)fputs("esac\n", to);
}

// ---- fish

static void put_fish_row(const struct option_table *table, const struct option_row *row, FILE *to) {
	(void)fprintf(to, "complete -c %s", table->command);
	if (table->operands == OPERANDS_PROGRAM) {
		(void)fputs(" -n '__fish_is_first_token'", to); // behind the program stand its own
	}
	if (row->letter) {
		(void)fprintf(to, " -s %c", row->letter);
	}
	(void)fprintf(to, " -l %s", row->name);
	const struct completer *completer = completer_of(row);
	if (has_value(row) && row->words) {
		(void)fprintf(to, " -x -a '%s'", row->words);
	} else if (has_value(row) && row->value != VALUE_OPTIONAL) {
		(void)fputs(completer ? completer->fish : " -x", to);
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
		EACH_ROW(row, tables[i]) {
			put_fish_row(tables[i], row, to);
		}
	}
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		void (*put)(FILE *to);
	} shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
	__auto_type known = FIND(s, shells, sizeof shells / sizeof *shells,
			argc == 2 && strcmp(s->name, argv[1]) == 0);
	if (!known) {
		(void)fprintf(stderr, "usage: heaptrack-completion bash|zsh|fish\n");
		return 2;
	}
	known->put(stdout);
	return 0;
}
