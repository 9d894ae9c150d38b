// SPDX-License-Identifier: MIT
/* Takes paths apart at their slashes. */
#include "base/path.h"

#include <stdbool.h>
#include <string.h>

struct slice path_base(struct slice path) {
	const uint8_t *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
	return slash ? slice_of(slash + 1, (size_t)(path.data + path.size - (slash + 1))) : path;
}

const char *path_base_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/** Drop the last part of the path in [start, to), unless there is none or it is "..". */
static char *drop_last(char *start, char *to) {
	char *last = to;
	while (last > start && last[-1] != '/') {
		last--;
	}
	if (to == last || (to - last == 2 && memcmp(last, "..", 2) == 0)) {
		return NULL;
	}
	return last > start ? last - 1 : last;
}

const char *path_normal(const char *path, struct arena *arena) {
	char *text = arena_alloc(arena, strlen(path) + 2, 1);
	if (!text) {
		return NULL;
	}
	bool is_absolute = *path == '/';
	char *start = text + is_absolute; // the parts go here, with single slashes between them
	char *to = start;
	while (*path) {
		size_t n = strcspn(path, "/");
		bool is_up = n == 2 && memcmp(path, "..", 2) == 0;
		char *cut = is_up ? drop_last(start, to) : NULL;
		if (cut) {
			to = cut;
		} else if (n && !(n == 1 && *path == '.') && !(is_up && is_absolute)) {
			if (to > start) {
				*to++ = '/';
			}
			memcpy(to, path, n);
			to += n;
		}
		path += n;
		path += strspn(path, "/");
	}
	if (is_absolute) {
		*text = '/';
	} else if (to == start) {
		*to++ = '.';
	}
	*to = 0;
	return text;
}
