// SPDX-License-Identifier: MIT
/* Reads a path only if a frame names it: a browser cannot ask for other files. */
#include "session/session.h"

enum { SOURCE_BYTES_MAX = 4 << 20 };

static bool read_all(int fd, uint64_t bytes, struct buffer *out, struct err *err) {
	if (bytes > SOURCE_BYTES_MAX) {
		return err_limit(err, "larger than 4 MiB");
	}
	size_t got = 0;
	uint8_t *room = buffer_room(out, (size_t)bytes);
	bool ok = file_read_at(fd, 0, room, (size_t)bytes, &got, err) &&
			(!memchr(room, 0, got) || err_format(err, "not a text file"));
	out->size += ok ? got : 0;
	return ok;
}

static bool read_path(const char *path, struct buffer *out, struct err *err) {
	uint64_t bytes;
	CLOSED int fd = file_open_regular(path, &bytes, err);
	return (fd >= 0 && read_all(fd, bytes, out, err)) || err_add(err, "%s", path);
}

/** Read it below `root`, dropping one leading folder of the path after the other. */
static bool read_below(const char *root, const char *path, struct arena *scratch,
		struct buffer *out) {
	bool is_read = false;
	for (const char *rest = path; rest && !is_read; rest = strchr(rest, '/')) {
		rest += *rest == '/';
		is_read = *rest && read_path(arena_printf(scratch, "%s/%s", root, rest), out, NULL);
	}
	return is_read;
}

bool source_read(const struct recording *r, uint32_t file, const char *root, struct buffer *out,
		struct err *err) {
	if (file == 0 || !FIND_IN(f, r->frames, f->file == file)) {
		return err_not_found(err, "the recording has no source file %u", file);
	}
	SCOPED(arena) scratch = {0};
	const char *path = arena_text(&scratch, r->strings.items[file]);
	return (root && read_below(root, path, &scratch, out)) ||
			(path[0] == '/' ? read_path(path, out, err)
							: err_not_found(err, "%s: relative path; use --source-root DIR", path));
}
