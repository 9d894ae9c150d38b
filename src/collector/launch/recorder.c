// SPDX-License-Identifier: MIT
/* Both libraries lie in one folder, found from where this executable really is. */
#include "base/path.h"
#include "collector/launch/parts.h"
#include "sys/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RECORDER_NAME "libheaptrack_preload.so"
#define INJECTED_NAME "libheaptrack_inject.so"

const char *launch_find_recorder(struct arena *arena, struct err *err) {
	static const char *const places[] = {"", "../lib/heaptrack/", "../lib64/heaptrack/",
			"lib/heaptrack/"};
	const char *exe = file_link_target("/proc/self/exe", arena);
	if (!exe) {
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
	size_t folder = (size_t)(path_base_name(preload) - preload);
	char *path = arena_new(arena, char, folder + sizeof INJECTED_NAME);
	if (!path) {
		(void)err_memory(err);
		return NULL;
	}
	(void)sprintf(path, "%.*s" INJECTED_NAME, (int)folder, preload);
	if (access(path, R_OK) != 0) {
		(void)err_system(err, errno, "cannot read the recorder \"%s\"", path);
		return NULL;
	}
	return path;
}
