// SPDX-License-Identifier: MIT
/* Runs one of the four commands, depending on the name that the program was called by. */
#include "cli/cli.h"
#include "sys/spawn.h"

#include <sys/auxv.h>

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
		{"heaptrack", cli_heaptrack},           // record/record.c: options -> collector/run.h
		{"heaptrack_print", cli_print},         // print/print.c: session -> report
		{"heaptrack_gui", cli_gui},             // gui/gui.c
		{"heaptrack_interpret", cli_interpret}, // interpret.c: a raw stream in, one with names out
};

enum { LINKS_MAX = 40 };

static const struct command *find_command(const char *path) {
	const char *name = path_base_name(path);
	return FIND(item, commands, N_OF(commands), strcmp(name, item->name) == 0);
}

/** A link of another name is the command that it leads to. `path`: what was executed. */
static const struct command *follow_links(const char *path) {
	SCOPED(arena) arena = {0};
	const struct command *found = NULL;
	for (int i = 0; i < LINKS_MAX && path && !(found = find_command(path)); i++) {
		path = file_link_next(path, &arena);
	}
	return found ? found : &commands[0];
}

int main(int argc, char **argv) {
	own_limits_raise();
	const struct command *command = (argc > 0 ? find_command(argv[0]) : NULL)
			?: follow_links((const char *)(uintptr_t)getauxval(AT_EXECFN));
	return command->run(argc, argv);
}
