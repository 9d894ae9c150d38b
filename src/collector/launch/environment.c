// SPDX-License-Identifier: MIT
/* What a program is executed with: environment and arguments; and where the recorder is. */
#include "collector/launch/parts.h"
#include "sys/file.h"
#include "sys/process.h"

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
	const char *theirs = v->theirs ? v->theirs : "";
	return arena_printf(arena, "%s=%s%s%s", v->name, v->is_in_front ? v->added : theirs,
			*theirs ? ":" : "", v->is_in_front ? theirs : v->added);
}

static size_t count(char *const *list) {
	size_t n = 0;
	while (list[n]) {
		n++;
	}
	return n;
}

char **launch_environment(const char *recorder, char *const *environment, struct arena *arena) {
	struct list_variable lists[] = {
			{.name = "LD_PRELOAD", .added = recorder, .is_in_front = true},
			{.name = "ASAN_OPTIONS", .added = RUNTIME_MAY_COME_LATER},
	};
	const size_t n_lists = sizeof lists / sizeof *lists;
	const size_t n = count(environment);
	char **out = arena_new(arena, char *, n + 2 + n_lists);
	size_t at = 1;
	for (size_t i = 0; out && i < n; i++) {
		struct list_variable *list = FIND(l, lists, n_lists,
				names_variable(environment[i], l->name));
		if (list) {
			list->theirs = strchr(environment[i], '=') + 1;
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
	if (!launch->needs_shell) {
		return (char **)argv;
	}
	const size_t n = count(argv);
	char **out = arena_new(arena, char *, n + 2);
	if (out) {
		out[0] = (char *)"/bin/sh";
		out[1] = (char *)launch->path;
		memcpy(out + 2, argv + 1, (n - 1) * sizeof *argv);
	}
	return out;
}

// ---- the recorder, beside this executable as it really is

#define RECORDER_NAME "libheaptrack_preload.so"
#define INJECTED_NAME "libheaptrack_inject.so"

const char *launch_find_recorder(struct arena *arena, struct err *err) {
	static const char *const places[] = {"", "../lib/heaptrack/", "../lib64/heaptrack/",
			"lib/heaptrack/"};
	char exe[PATH_MAX];
	if (!process_link(0, "exe", exe, sizeof exe)) {
		(void)err_system(err, errno, "cannot locate heaptrack's own executable (/proc/self/exe)");
		return NULL;
	}
	size_t folder = (size_t)(path_base_name(exe) - exe);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char path[PATH_MAX], real[PATH_MAX];
		(void)snprintf(path, sizeof path, "%.*s%s%s", (int)folder, exe, places[i], RECORDER_NAME);
		if (!realpath(path, real)) {
			continue;
		}
		if (strpbrk(real, " :")) {
			(void)err_set(err, ERR_UNSUPPORTED,
					"the path \"%s\" contains a space or a colon, which LD_PRELOAD cannot "
					"express; install heaptrack elsewhere",
					real);
			return NULL;
		}
		return arena_text(arena, slice_of_text(real));
	}
	(void)err_set(err, ERR_NOT_FOUND,
			"cannot find the recorder %s in %.*s or %.*s../lib/heaptrack/; is the installation "
			"complete?",
			RECORDER_NAME, (int)folder, exe, (int)folder, exe);
	return NULL;
}

const char *launch_find_injected(struct arena *arena, struct err *err) {
	const char *preload = launch_find_recorder(arena, err);
	if (!preload) {
		return NULL;
	}
	const char *path = FORMAT(PATH_MAX, "%.*s" INJECTED_NAME,
			(int)(path_base_name(preload) - preload), preload);
	if (access(path, R_OK) != 0) {
		(void)err_system(err, errno, "cannot read the recorder \"%s\"", path);
		return NULL;
	}
	return arena_text(arena, slice_of_text(path)) ?: err_memory_null(err);
}
