// SPDX-License-Identifier: MIT
/* The user's environment with the recorder added, and the user's arguments. */
#include "base/buffer.h"
#include "collector/launch/parts.h"

static bool names_variable(const char *entry, const char *name) {
	size_t n = strlen(name);
	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

// Without this, AddressSanitizer's runtime ends a program in which a library was loaded before it.
// Programs without that runtime ignore it
#define RUNTIME_MAY_COME_LATER "verify_asan_link_order=0"

/** A variable that holds a list, to which an entry is added at the front or at the end. */
struct list_variable {
	const char *name, *added;
	bool is_in_front;
	const char *theirs; // or NULL
};

static char *join_lists(const struct list_variable *v, struct arena *arena) {
	bool has_theirs = v->theirs && *v->theirs;
	const char *first = v->is_in_front || !has_theirs ? v->added : v->theirs;
	const char *second = v->is_in_front ? v->theirs : v->added;
	struct buffer entry = {0};
	buffer_printf(&entry, "%s=%s", v->name, first);
	if (has_theirs) {
		buffer_printf(&entry, ":%s", second);
	}
	char *text = entry.failed ? NULL : arena_text(arena, buffer_view(&entry));
	buffer_finish(&entry);
	return text;
}

char **launch_environment(const char *recorder, char *const *environment, struct arena *arena) {
	struct list_variable lists[] = {
			{.name = "LD_PRELOAD", .added = recorder, .is_in_front = true},
			{.name = "ASAN_OPTIONS", .added = RUNTIME_MAY_COME_LATER},
	};
	const size_t n_lists = sizeof lists / sizeof *lists;
	size_t n = 0;
	while (environment[n]) {
		n++;
	}
	char **out = arena_new(arena, char *, n + 2 + n_lists);
	size_t at = 1;
	for (size_t i = 0; out && i < n; i++) {
		size_t k = 0;
		while (k < n_lists && !names_variable(environment[i], lists[k].name)) {
			k++;
		}
		if (k < n_lists) {
			lists[k].theirs = strchr(environment[i], '=') + 1;
		} else if (!names_variable(environment[i], "HEAPTRACK_SEGMENT")) {
			out[at++] = environment[i];
		}
	}
	for (size_t k = 0; out && k < n_lists; k++) {
		out[at] = join_lists(&lists[k], arena);
		out = out[at++] ? out : NULL;
	}
	return out;
}

char **launch_arguments(const struct launch *launch, char *const *argv, struct arena *arena) {
	size_t n = 0;
	while (argv[n]) {
		n++;
	}
	char **out = arena_new(arena, char *, n + 2);
	if (!out) {
		return NULL;
	}
	size_t at = 0;
	if (launch->needs_shell) {
		out[at++] = (char *)"/bin/sh";
		out[at++] = (char *)launch->path;
		argv++;
		n--;
	}
	memcpy(out + at, argv, n * sizeof *argv);
	return out;
}
