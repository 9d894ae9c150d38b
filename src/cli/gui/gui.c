// SPDX-License-Identifier: MIT
/*
 * The command heaptrack_gui: serves the page of a recording, or lists the recordings that exist.
 * And heaptrack --analyze, which chooses between the page and the text report.
 */
#include "cli/gui/show.h"
#include "cli/options/table.h"

// ---- options

static bool take_port(const struct option_given *g) {
	uint64_t port;
	if (!option_number(g->value, 65535, &port) || port == 0) {
		return err_usage(g->err, "--%s: invalid port \"%s\"; use 1 to 65535", g->row->name,
				g->value);
	}
	((struct gui_options *)g->options)->port = (uint16_t)port;
	return true;
}

#define AT(field) .at = offsetof(struct gui_options, field)

static const struct option_row rows[] = {
#include "cli/gui/gui.def"
};

const struct option_table gui_option_table = {
		.command = "heaptrack_gui",
		.head = "Usage: heaptrack_gui [options] FILE\n"
				"       heaptrack_gui [options] BASE FILE\n"
				"       heaptrack_gui               lists the recordings in this folder\n"
				"\n"
				"Shows a recording in the browser. Over ssh it prints the command that makes the "
				"page reachable\nfrom your own machine. Ends when the last tab is closed.\n",
		OPTION_ROWS(rows),
		.foot = "heaptrack_print --html OUT FILE writes the same page as one file that opens "
				"anywhere.\n",
		.shows_page = true,
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
		return err_usage(err,
				"unexpected argument \"%s\"; usage: heaptrack_gui [options] [BASE] FILE",
				argv[argc - 1]);
	}
	o->base = n_files == 2 ? argv[operands++] : o->base;
	o->file = n_files > 0 ? argv[operands] : NULL;
	if (o->base && !o->file) {
		return err_usage(err, "no recording to compare with %s", o->base);
	}
	return !o->port || !o->socket || err_usage(err, "--port and --socket exclude each other");
}

// ---- the command

static void put_listed(const struct listed *one) {
	char when[32] = "";
	time_t seconds = (time_t)(one->written_ns / 1000000000);
	struct tm tm;
	if (localtime_r(&seconds, &tm)) {
		(void)strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
	}
	say(stdout, "  %s  %9s  %s\n", when, HUMAN_BYTES(one->size_bytes), VISIBLE_NAME(one->name));
}

static bool list(struct err *err) {
	SCOPED(arena) arena = {0};
	SCOPED_BY(vec_release) struct listing found;
	bool ok = list_recordings(".", &arena, &found, err);
	if (ok && found.n == 0) {
		(void)puts("No recordings in this folder. To make one: heaptrack PROGRAM");
	} else if (ok) {
		(void)puts("Recordings in this folder, newest first:");
		EACH(one, found) {
			put_listed(one);
		}
		say(stdout, "To view the newest: heaptrack_gui \"%s\"\n",
				VISIBLE_NAME(found.items[0].name));
	}
	return ok;
}

int cli_gui(int argc, char **argv) {
	memory_must("heaptrack_gui", 1);
	struct gui_options o;
	struct err err = {0};
	bool ok = parse(&o, argc, argv, &err) && (o.file ? show(&o, &err) : list(&err));
	if (!ok) {
		say_problem("heaptrack_gui", "%s", err.text);
	}
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

// ---- heaptrack --analyze

/** The words without --web and --text, behind the name of a command. */
struct asked {
	char **argv;
	int argc;
	bool wants_web, wants_text;
	bool has_options; // of heaptrack_print, then
	const char *file;
};

static void sort_words(struct asked *a, int n, char **words) {
	a->argv = memory_new((size_t)n + 3, sizeof *a->argv);
	a->argc = 1;
	for (int i = 0; i < n; i++) {
		if (strcmp(words[i], "--web") == 0) {
			a->wants_web = true;
		} else if (strcmp(words[i], "--text") == 0) {
			a->wants_text = true;
		} else {
			a->has_options |= words[i][0] == '-';
			a->file = words[i][0] == '-' ? a->file : words[i];
			a->argv[a->argc++] = words[i];
		}
	}
}

/** How this file becomes a page in front of whoever reads this. */
static void put_ways(const char *path) {
	const char *file = VISIBLE_NAME(path);
	say(stdout, "\nas a page:  heaptrack_print --html page.html \"%s\"\n", file);
	if (browser_is_remote()) {
		say_copy(stdout, "            ", "page.html");
		say(stdout, "or served:  heaptrack --analyze --web \"%s\"   (prints the ssh -L command)\n",
				file);
		say_copy(stdout, "or copied:  ", path);
	} else {
		say(stdout, "or served:  heaptrack --analyze --web \"%s\"\n", file);
	}
}

int cli_analyze(int n, char **words) {
	struct asked a = {0};
	sort_words(&a, n, words);
	bool suits_page = isatty(STDOUT_FILENO) && !a.wants_text && !a.has_options && page_is_there();
	int status;
	if (!a.file && !a.has_options) {
		say_problem("heaptrack", "no recording given; usage: heaptrack --analyze FILE");
		status = 1;
	} else if (a.wants_web || (suits_page && browser_is_likely())) {
		a.argv[0] = (char *)"heaptrack_gui";
		if (!browser_is_likely()) {
			a.argv[a.argc++] = (char *)"--no-browser";
		}
		status = cli_gui(a.argc, a.argv);
	} else {
		a.argv[0] = (char *)"heaptrack_print";
		status = cli_print(a.argc, a.argv);
		if (status == 0 && suits_page) {
			put_ways(a.file);
		}
	}
	free(a.argv);
	return status;
}
