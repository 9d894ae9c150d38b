// SPDX-License-Identifier: MIT
/* Opens only the recording, which is in the module's memory: there is no other file. */
#include "session/import.h"
#include "session/open/parts.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/unpack.h"
#include "wasm/module.h"

ATTR_STAND_INS

char *find_recording(const char *name, struct err *err) {
	return strdup(name) ?: memory_lacks();
}

char *spool_stdin(struct err *err) {
	(void)err_unsupported(err, "a page has no standard input");
	return NULL;
}

int file_open_regular(const char *path, uint64_t *bytes, struct err *err) {
	bool is_it = module_file.name && strcmp(path, module_file.name) == 0;
	*bytes = is_it ? module_file.bytes.size : 0;
	return is_it || err_not_found(err, "a page opens no files") ? 0 : -1;
}

bool file_read_at(int fd, uint64_t offset, void *out, size_t n, size_t *got, struct err *err) {
	size_t size = module_file.bytes.size, at = offset < size ? (size_t)offset : size;
	*got = n < size - at ? n : size - at;
	memcpy(out, module_file.bytes.data + at, *got);
	return true;
}

void file_close(int fd) {}

/** The user's rules are in files, so there are none. */
bool file_read_found(const char *path, const char *beside, struct buffer *out, size_t max_bytes,
		struct err *err) {
	return true;
}

bool file_read_whole(const char *path, struct buffer *out, size_t max_bytes, struct err *err) {
	return err_not_found(err, "a page cannot open %s", path);
}

int64_t clock_wall_offset_s(uint64_t wall_ns) {
	return host_clock_offset_s((double)(wall_ns / 1000000000u));
}

/** The binaries are on another machine: unnamed frames keep their addresses. */
void resolve_names(struct recording *r, const struct symbols_options *options) {}

// ---- unpacked outside the module, part by part

enum { PART_BYTES = 256 << 10 };

struct unpack {
	uint64_t max_bytes, bytes_out;
	size_t n_peeked; // in `part`, not given yet
	uint8_t part[PART_BYTES];
};

struct unpack *unpack_open(const char *path, uint64_t max_bytes, struct err *err) {
	struct unpack *u = memory_new(1, sizeof *u);
	u->max_bytes = max_bytes;
	return u;
}

void unpack_close(struct unpack *u) {
	free(u);
}

/** Append more to the `at` bytes that are there. Returns how many. */
static size_t more(struct unpack *u, size_t at) {
	size_t n = host_next(u->part + at, PART_BYTES - at);
	u->bytes_out += n;
	return n;
}

bool unpack_next(struct unpack *u, struct slice *out, struct err *err) {
	size_t n = u->n_peeked ? u->n_peeked : more(u, 0);
	u->n_peeked = 0;
	*out = slice_of(u->part, n);
	return u->bytes_out <= u->max_bytes ||
			err_limit(err, "decompresses to more than %u GB, the limit in a page",
					(unsigned)(u->max_bytes >> 30));
}

bool unpack_peek(struct unpack *u, size_t n, struct slice *out, struct err *err) {
	for (size_t got = 1; u->n_peeked < n && got > 0;) {
		got = more(u, u->n_peeked);
		u->n_peeked += got;
	}
	*out = slice_of(u->part, u->n_peeked);
	return true;
}

bool unpack_is_torn(const struct unpack *u) {
	return host_is_torn();
}
