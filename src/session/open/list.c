// SPDX-License-Identifier: MIT

/* Recordings are known by their first bytes, or else by the names that KDE's heaptrack gives. */

#include "session/list.h"

#include "base/sorted.h"
#include "base/text.h"
#include "sys/file.h"
#include "trace/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_recording(int fd, const char *name) {
	uint8_t head[64];
	size_t got = 0;
	struct err err;
	if (!file_read_at(fd, 0, head, sizeof head, &got, &err)) {
		return false;
	}
	struct slice text = slice_of_text(name);
	bool is_named = starts_with(text, "heaptrack.") &&
			(ends_with(text, ".gz") || ends_with(text, ".zst"));
	return trace_is_ours(slice_of(head, got)) || is_named;
}

/** True: `out` is filled. */
static bool look_at(int folder, const char *name, struct listed *out) {
	struct stat st;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		return false;
	}
	bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_recording(fd, name);
	(void)close(fd);
	*out = (struct listed){.size_bytes = (uint64_t)st.st_size,
			.written_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec};
	return ok;
}

static int by_age(const void *a, const void *b) {
	const struct listed *x = a, *y = b;
	int order = compare_u64(y->written_ns, x->written_ns);
	return order ? order : strcmp(x->name, y->name);
}

static bool collect(DIR *dir, struct arena *arena, struct listing *out) {
	for (struct dirent *e; (e = readdir(dir));) {
		struct listed one;
		if (!look_at(dirfd(dir), e->d_name, &one)) {
			continue;
		}
		one.name = arena_text(arena, slice_of_text(e->d_name));
		struct listed *place = one.name ? vec_push(out) : NULL;
		if (!place) {
			return false;
		}
		*place = one;
	}
	return true;
}

bool list_recordings(const char *folder, struct arena *arena, struct listing *out,
		struct err *err) {
	*out = (struct listing){0};
	DIR *dir = opendir(folder);
	if (!dir) {
		return err_system(err, errno, "%s", folder);
	}
	bool ok = collect(dir, arena, out) || err_memory(err);
	(void)closedir(dir);
	if (ok && out->n) {
		qsort(out->items, out->n, sizeof *out->items, by_age);
	}
	return ok;
}
