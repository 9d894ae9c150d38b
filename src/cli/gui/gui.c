// SPDX-License-Identifier: MIT
/* The command heaptrack_gui: serves the page of a recording, or lists the recordings that exist. */
#include "base/human.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/gui/show.h"
#include "cli/options/table.h"
#include "cli/say.h"
#include "session/session.h"
#include "web/page.h"

#include <stdio.h>
#include <time.h>

// ---- options

static bool take_port(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	uint64_t port;
	if (!option_number(value, 65535, &port) || port == 0) {
		return err_set(err, ERR_USAGE, "--%s: invalid port \"%s\"; use 1 to 65535", row->name,
				value);
	}
	((struct gui_options *)options)->port = (uint16_t)port;
	return true;
}

#define AT(field)   .at = offsetof(struct gui_options, field)
#define FLAG(field) .take = option_take_flag, AT(field)

static const struct option_row rows[] = {
		{"diff", 'd', VALUE_NEEDED, .value_name = "BASE", .take = option_take_text, AT(base),
				.help = "compare with BASE, an earlier recording; same as BASE FILE",
				.manual =
						"Compare with BASE, an earlier recording: totals, functions, and both call "
						"trees as one flame graph coloured by change. Same as BASE FILE."},
		{"no-browser", 0, FLAG(has_no_browser), .help = "print the address, do not open a browser"},
		{"port", 0, VALUE_NEEDED, .value_name = "N", .take = take_port,
				.help = "listen on port N of 127.0.0.1 (default: any free port)"},
		{"socket", 0, VALUE_NEEDED, .value_name = "PATH", .take = option_take_text, AT(socket),
				.help = "listen on a unix socket that only you can connect to",
				.manual = "Listen on a unix socket that only you can connect to; "
						  "ssh -L 8899:PATH HOST forwards it."},
		{"keep", 0, FLAG(stays), .help = "keep serving until Ctrl+C"},
		{"source-root", 0, VALUE_NEEDED, .value_name = "DIR", .take = option_take_text,
				AT(source_root), .help = "look for source files below DIR first"},
		{"no-source", 0, FLAG(has_no_source), .help = "do not show source files"},
		{"help", 'h', FLAG(wants_help), .help = "print this help"},
		{"version", 'v', FLAG(wants_version), .help = "print the version"},
};

static const struct option_section sections[] = {OPTION_SECTION(NULL, rows,
		.foot = "heaptrack_print --html OUT FILE writes the same page as one file that opens "
				"anywhere.\n")};

const struct option_table gui_option_table = {
		.command = "heaptrack_gui",
		.head = "Usage: heaptrack_gui [options] FILE\n"
				"       heaptrack_gui [options] BASE FILE\n"
				"       heaptrack_gui               lists the recordings in this folder\n"
				"\n"
				"Shows a recording in the browser. Over ssh it prints the command that makes the "
				"page reachable\nfrom your own machine. Ends when the last tab is closed.\n",
		.sections = sections,
		.n_sections = sizeof sections / sizeof *sections,
};

/** False: `err` says what is wrong, with the word that is. */
static bool parse(struct gui_options *o, int argc, char **argv, struct err *err) {
	*o = (struct gui_options){0};
	int operands;
	if (!options_parse(&gui_option_table, o, argc, argv, &operands, err)) {
		return false;
	}
	int n_files = argc - operands;
	if (n_files > (o->base ? 1 : 2)) {
		return err_set(err, ERR_USAGE,
				"unexpected argument \"%s\"; usage: heaptrack_gui [options] [BASE] FILE",
				argv[argc - 1]);
	}
	if (n_files == 2) {
		o->base = argv[operands++];
	}
	o->file = n_files > 0 ? argv[operands] : NULL;
	if (o->base && !o->file) {
		return err_set(err, ERR_USAGE, "no recording to compare with %s", o->base);
	}
	if (o->port && o->socket) {
		return err_set(err, ERR_USAGE, "--port and --socket exclude each other");
	}
	return true;
}

// ---- the command

enum { NAME_SHOWN_MAX = 1024 };

static void complain(const struct err *err) {
	say_problem("heaptrack_gui", "%s", err->text);
}

static void put_listed(const struct listed *one) {
	char when[32] = "";
	time_t seconds = (time_t)(one->written_ns / 1000000000);
	struct tm tm;
	if (localtime_r(&seconds, &tm)) {
		(void)strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
	}
	char name[NAME_SHOWN_MAX];
	say(stdout, "  %s  %9s  %s\n", when, HUMAN_BYTES(one->size_bytes),
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
	if (!parse(&o, argc, argv, &err)) {
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
