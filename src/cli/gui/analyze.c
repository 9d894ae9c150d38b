// SPDX-License-Identifier: MIT
/* Chooses between the page and the text report. */
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/say.h"
#include "sys/browser.h"
#include "sys/terminal.h"
#include "web/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/** The words without --web and --text, behind the name of a command. */
struct asked {
	char **argv;
	int argc;
	bool wants_web, wants_text;
	bool has_options; // of heaptrack_print, then
	const char *file;
};

static bool sort_words(struct asked *a, int n, char **words) {
	a->argv = calloc((size_t)n + 3, sizeof *a->argv);
	a->argc = 1;
	for (int i = 0; a->argv && i < n; i++) {
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
	return a->argv != NULL;
}

static int page(struct asked *a) {
	a->argv[0] = (char *)"heaptrack_gui";
	if (!browser_is_likely()) {
		a->argv[a->argc++] = (char *)"--no-browser";
	}
	return cli_gui(a->argc, a->argv);
}

/** How this file becomes a page in front of whoever reads this. */
static void put_ways(const char *path) {
	char file[2 * 4096];
	char folder[4096];
	char host[256] = "HOST";
	const char *user = getenv("USER");
	(void)gethostname(host, sizeof host - 1);
	bool is_relative = path[0] != '/';
	(void)visible_name(file, sizeof file, path);
	say(stdout, "\nas a page:  heaptrack_print --html page.html \"%s\"\n", file);
	if (browser_is_remote()) {
		say(stdout, "            scp \"%s%s%s:%s/page.html\" .\n", user ? user : "",
				user ? "@" : "", host, getcwd(folder, sizeof folder) ? folder : "");
		say(stdout, "or served:  heaptrack --analyze --web \"%s\"   (prints the ssh -L command)\n",
				file);
		say(stdout, "or copied:  scp \"%s%s%s:%s%s%s\" .\n", user ? user : "", user ? "@" : "",
				host, is_relative ? folder : "", is_relative ? "/" : "", file);
	} else {
		say(stdout, "or served:  heaptrack --analyze --web \"%s\"\n", file);
	}
}

int cli_analyze(int n, char **words) {
	struct asked a = {0};
	if (!sort_words(&a, n, words)) {
		say_problem("heaptrack", "out of memory");
		return 1;
	}
	bool is_seen = terminal_is(STDOUT_FILENO);
	int status;
	if (!a.file && !a.has_options) {
		say_problem("heaptrack", "no recording given; usage: heaptrack --analyze FILE");
		status = 1;
	} else if (a.wants_web) {
		status = page(&a);
	} else if (is_seen && !a.wants_text && !a.has_options && page_is_there() &&
			browser_is_likely()) {
		status = page(&a);
	} else {
		a.argv[0] = (char *)"heaptrack_print";
		status = cli_print(a.argc, a.argv);
		if (status == 0 && is_seen && !a.wants_text && !a.has_options && page_is_there()) {
			put_ways(a.file);
		}
	}
	free(a.argv);
	return status;
}
