// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

// The page does not exist yet: say so, and what does the work meanwhile.
int cli_gui(int argc, char **argv) {
	const char *file = argc > 1 && argv[argc - 1][0] != '-' ? argv[argc - 1] : "FILE";
	if (argc > 1 && (strcmp(argv[1], "-v") == 0 || strcmp(argv[1], "--version") == 0)) {
		(void)puts("heaptrack_gui " HEAPTRACK_VERSION);
		return 0;
	}
	(void)fprintf(stderr,
			"heaptrack_gui: this version has no graphical view yet; the text report has all "
			"figures:\n  heaptrack_print \"%s\"\n",
			file);
	return 1;
}
