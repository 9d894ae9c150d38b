// SPDX-License-Identifier: MIT
/* The command heaptrack_gui: serves the page of a recording, or lists the recordings that exist. */
#include "base/human.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/gui/options.h"
#include "cli/options/table.h"
#include "cli/say.h"
#include "session/session.h"
#include "web/page.h"

#include <stdio.h>
#include <time.h>

enum { NAME_SHOWN_MAX = 1024 };

static void complain(const struct err *err) {
	say_problem("heaptrack_gui", "%s", err->text);
}

static void put_listed(const struct listed *one) {
	char size[HUMAN_MAX];
	char when[32] = "";
	time_t seconds = (time_t)(one->written_ns / 1000000000);
	struct tm tm;
	if (localtime_r(&seconds, &tm)) {
		(void)strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
	}
	char name[NAME_SHOWN_MAX];
	say(stdout, "  %s  %9s  %s\n", when, human_bytes(size, one->size_bytes),
			visible_name(name, sizeof name, one->name));
}

static int list(void) {
	struct arena arena = {0};
	struct listing found;
	struct err err = {0};
	int status = EXIT_SUCCESS;
	if (!list_recordings(".", &arena, &found, &err)) {
		complain(&err);
		status = EXIT_FAILURE;
	} else if (found.n == 0) {
		(void)puts("No recordings in this folder. To make one: heaptrack PROGRAM");
	} else {
		(void)puts("Recordings in this folder, newest first:");
		for (size_t i = 0; i < found.n; i++) {
			put_listed(&found.items[i]);
		}
		char name[NAME_SHOWN_MAX];
		say(stdout, "To view the newest: heaptrack_gui \"%s\"\n",
				visible_name(name, sizeof name, found.items[0].name));
	}
	vec_finish(&found);
	arena_finish(&arena);
	return status;
}

int cli_gui(int argc, char **argv) {
	struct gui_options o;
	struct err err = {0};
	if (!gui_options_parse(&o, argc, argv, &err)) {
		say_problem("heaptrack_gui", "%s", err.text);
		return EXIT_FAILURE;
	}
	if (o.wants_help) {
		options_put_help(&gui_option_table, stdout);
		return EXIT_SUCCESS;
	}
	if (o.wants_version) {
		(void)puts("heaptrack_gui " CLI_VERSION);
		if (page_is_there()) {
			(void)printf("the web page includes:\n%s", page_licences());
		}
		return EXIT_SUCCESS;
	}
	if (!o.file) {
		return list();
	}
	if (!show(&o, &err)) {
		complain(&err);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
