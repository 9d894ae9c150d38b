// SPDX-License-Identifier: MIT
/*
 * Commands that run another program as their child and pass on its exit status. Those that become
 * it (env, nice, stdbuf) are not in the table: exec is followed.
 */
#include "collector/run.h"

struct wrapper {
	const char *name;
	const char *letters;      // options of one letter that take a value
	const char *long_options; // long options that take one, as a list (base/text.h)
	int n_words;              // words before the program's name
	const char *stops;        // options of one letter with which no program is run
	bool has_variables;       // NAME=VALUE may precede the program's name
};

static const struct wrapper wrappers[] = {
		{.name = "sudo",
				.letters = "CDghpRrTtUu",
				.long_options =
						"|--chdir|--chroot|--close-from|--group|--host|--prompt|--role|--type"
						"|--command-timeout|--other-user|--user",
				.stops = "eilsvKV",
				.has_variables = true},
		{.name = "time", .letters = "fo", .long_options = "|--format|--output"},
		{.name = "timeout",
				.letters = "ks",
				.long_options = "|--kill-after|--signal",
				.n_words = 1},
};

// Is the next word this option's value?
static bool takes_next_word(const struct wrapper *w, const char *option) {
	if (option[1] == '-') {
		return is_any(slice_of_text(option), w->long_options);
	}
	const char *letter = option + 1 + strcspn(option + 1, w->letters);
	return *letter && !letter[1];
}

/** Does it ask for a shell, an editor or a list? */
static bool names_no_program(const struct wrapper *w, const char *option) {
	if (option[1] == '-') {
		return w->stops && (strcmp(option, "--login") == 0 || strcmp(option, "--shell") == 0);
	}
	return w->stops && strcspn(option + 1, w->stops) < strcspn(option + 1, w->letters);
}

static int find_program(const struct wrapper *w, char *const *argv) {
	int at = 1;
	for (; argv[at] && argv[at][0] == '-' && argv[at][1]; at++) {
		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		if (names_no_program(w, argv[at])) {
			return 0;
		}
		if (takes_next_word(w, argv[at]) && argv[at + 1]) {
			at++;
		}
	}
	while (w->has_variables && argv[at] && strchr(argv[at], '=')) {
		at++;
	}
	for (int i = 0; i < w->n_words && argv[at]; i++) {
		at++;
	}
	return argv[at] ? at : 0;
}

int launch_wrapped(char *const *argv) {
	const char *name = path_base_name(argv[0]);
	const struct wrapper *w = FIND(item, wrappers, N_OF(wrappers), strcmp(name, item->name) == 0);
	return w ? find_program(w, argv) : 0;
}
