// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "sys/file.h"

#include <stdio.h>
#include <string.h>

// One binary, four commands: it looks at its name.
//
//   heaptrack            record.c     options -> collector/run.h (or on to the others, for -a)
//   heaptrack_print      print.c      session -> report
//   heaptrack_gui        gui.c
//   heaptrack_interpret  interpret.c  a raw stream in, one with names out
int main(int argc, char **argv) {
	const char *name = argc > 0 ? file_base_name(argv[0]) : "heaptrack";
	if (strcmp(name, "heaptrack_print") == 0) {
		return cli_print(argc, argv);
	}
	if (strcmp(name, "heaptrack_interpret") == 0) {
		return cli_interpret(argc, argv);
	}
	if (strcmp(name, "heaptrack_gui") == 0) {
		return cli_gui(argc, argv);
	}
	return cli_heaptrack(argc, argv);
}
