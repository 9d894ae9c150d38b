// SPDX-License-Identifier: MIT
/* The environment and arguments to execute a program with, and where the recorder is. */
#include "collector/launch/parts.h"

// Else AddressSanitizer's runtime ends a program into which a library was loaded before it
#define RUNTIME_MAY_COME_LATER "verify_asan_link_order=0"

static size_t count(char *const *list) {
	size_t n = 0;
	while (list[n]) {
		n++;
	}
	return n;
}

char **launch_environment(const char *recorder, char *const *environment, struct arena *arena) {
	struct slice preload = {0}, options = {0}; // the user's, as lists
	const size_t n = count(environment);
	char **out = arena_new(arena, char *, n + 4);
	size_t at = 1;
	for (size_t i = 0; i < n; i++) {
		struct slice rest = slice_of_text(environment[i]);
		if (take_prefix(&rest, "LD_PRELOAD=")) {
			preload = rest;
		} else if (take_prefix(&rest, "ASAN_OPTIONS=")) {
			options = rest;
		} else if (!starts_with(rest, "HEAPTRACK_SEGMENT=")) {
			out[at++] = environment[i];
		}
	}
	out[at] = arena_printf(arena, "LD_PRELOAD=%s%s%.*s", recorder, preload.size > 0 ? ":" : "",
			SLICE_ARG(preload));
	out[at + 1] = arena_printf(arena, "ASAN_OPTIONS=%.*s%s" RUNTIME_MAY_COME_LATER,
			SLICE_ARG(options), options.size > 0 ? ":" : "");
	return out;
}

char **launch_arguments(const struct launch *launch, char *const *argv, struct arena *arena) {
	if (!launch->needs_shell) {
		return (char **)argv;
	}
	const size_t n = count(argv);
	char **out = arena_new(arena, char *, n + 2);
	out[0] = (char *)"/bin/sh";
	out[1] = (char *)launch->path;
	memcpy(out + 2, argv + 1, (n - 1) * sizeof *argv);
	return out;
}

// ---- the recorder, beside the real path of this executable

const char *launch_find(const char *name, struct arena *arena, struct err *err) {
	static const char *const places[] = {"", "../lib/heaptrack/", "../lib64/heaptrack/",
			"lib/heaptrack/"};
	char exe[PATH_MAX];
	if (!process_link(0, "exe", exe, sizeof exe)) {
		(void)err_system(err, errno, "cannot locate heaptrack's own executable (/proc/self/exe)");
		return NULL;
	}
	size_t folder = (size_t)(path_base_name(exe) - exe);
	for (size_t i = 0; i < N_OF(places); i++) {
		char path[PATH_MAX], real[PATH_MAX];
		(void)snprintf(path, sizeof path, "%.*s%s%s", (int)folder, exe, places[i], name);
		if (access(path, R_OK) != 0 || !realpath(path, real)) {
			continue;
		}
		if (strpbrk(real, " :")) {
			(void)err_unsupported(err,
					"the path \"%s\" contains a space or a colon, which LD_PRELOAD cannot "
					"express; install heaptrack elsewhere",
					real);
			return NULL;
		}
		return arena_text(arena, slice_of_text(real));
	}
	(void)err_not_found(err,
			"cannot find the recorder %s in %.*s or %.*s../lib/heaptrack/; is the installation "
			"complete?",
			name, (int)folder, exe, (int)folder, exe);
	return NULL;
}
