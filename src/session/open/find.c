// SPDX-License-Identifier: MIT
#include "session/open/find.h"

#include "base/buffer.h"
#include "session/session.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** NULL: no memory. Not by asprintf: with sanitizers gcc 12 warns there of a null pointer that is none. */
static char *with_suffix(const char *name, const char *suffix) {
	size_t n = strlen(name), n_suffix = strlen(suffix);
	char *path = malloc(n + n_suffix + 1);
	if (path) {
		memcpy(path, name, n);
		memcpy(path + n, suffix, n_suffix + 1);
	}
	return path;
}

static bool looks_like_recording(const char *file) {
	size_t n = strlen(file);
	bool is_packed = n > 4 &&
			(strcmp(file + n - 4, ".zst") == 0 || strcmp(file + n - 3, ".gz") == 0);
	return is_packed || strncmp(file, "heaptrack.", 10) == 0;
}

static size_t common_prefix(const char *a, const char *b) {
	size_t n = 0;
	while (a[n] && a[n] == b[n]) {
		n++;
	}
	return n;
}

enum { NEAR_MAX = 5 };

struct near {
	size_t likeness;
	char *file;
};

/** Keep the NEAR_MAX names that share most of their beginning with `base`. */
static void consider(struct near near[NEAR_MAX], const char *base, const char *file) {
	size_t likeness = common_prefix(base, file) + 1;
	for (int i = 0; i < NEAR_MAX; i++) {
		if (near[i].file && near[i].likeness >= likeness) {
			continue;
		}
		char *kept = strdup(file);
		if (kept) {
			free(near[NEAR_MAX - 1].file);
			memmove(&near[i + 1], &near[i], (size_t)(NEAR_MAX - 1 - i) * sizeof *near);
			near[i] = (struct near){likeness, kept};
		}
		return;
	}
}

static void say_what_is_near(const char *name, struct err *err) {
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	char *folder = slash ? strndup(name, (size_t)(slash - name) + 1) : strdup(".");
	struct near near[NEAR_MAX] = {0};
	DIR *dir = folder ? opendir(folder) : NULL;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (looks_like_recording(e->d_name)) {
			consider(near, base, e->d_name);
		}
	}
	struct buffer list = {0};
	for (int i = 0; i < NEAR_MAX && near[i].file; i++) {
		buffer_printf(&list, "%s%s", i ? ", " : "", near[i].file);
		free(near[i].file);
	}
	if (list.size) {
		err_set(err, ERR_NOT_FOUND, "no such file; recordings there: %.*s",
				SLICE_ARG(buffer_view(&list)));
	} else {
		err_set(err, ERR_NOT_FOUND, "no such file, and no recording in that folder");
	}
	buffer_finish(&list);
	free(folder);
	if (dir) {
		(void)closedir(dir);
	}
}

/** The recording made with `-o NAME`, where NAME itself is there and is something else, such as the program. */
static bool is_meant(const char *name, const char *with_suffix) {
	return access(with_suffix, F_OK) == 0 && (access(name, F_OK) != 0 || !session_knows(name));
}

char *find_recording(const char *name, struct err *err) {
	static const char *const suffixes[] = {".zst", ".gz", ""};
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		char *path = with_suffix(name, suffixes[i]);
		if (!path) {
			(void)err_memory(err);
			return NULL;
		}
		if (*suffixes[i] ? is_meant(name, path) : access(path, F_OK) == 0) {
			return path;
		}
		free(path);
	}
	say_what_is_near(name, err);
	(void)err_add(err, "%s", name);
	return NULL;
}
