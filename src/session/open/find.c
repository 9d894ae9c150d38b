// SPDX-License-Identifier: MIT
/*
 * Finds recordings: by name, in a folder, or on standard input. A name is tried with each suffix
 * before it is taken as it is: `-o NAME` writes NAME.zst, often beside the program NAME.
 */
#include "session/import/importer.h"
#include "session/open/parts.h"
#include "session/session.h"

// ---- all recordings in a folder, known by their first bytes or by the names of KDE's heaptrack

static bool is_recording(int fd, struct slice name) {
	uint8_t head[64];
	size_t got = 0;
	return file_read_at(fd, 0, head, sizeof head, &got, NULL) &&
			(trace_is_ours(slice_of(head, got)) ||
					(starts_with(name, "heaptrack.") &&
							(ends_with(name, ".gz") || ends_with(name, ".zst"))));
}

/** True: `out` is filled. */
static bool look_at(int folder, const char *name, struct listed *out) {
	struct stat st;
	CLOSED int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		return false;
	}
	bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_recording(fd, slice_of_text(name));
	*out = (struct listed){.size_bytes = (uint64_t)st.st_size,
			.written_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec};
	return ok;
}

ORDER_OF(by_age, struct listed, HIGHEST(written_ns) ?: strcmp(a->name, b->name));

static void collect(DIR *dir, struct arena *arena, struct listing *out) {
	for (struct dirent *e; (e = readdir(dir));) {
		struct listed one;
		if (look_at(dirfd(dir), e->d_name, &one)) {
			one.name = arena_text(arena, slice_of_text(e->d_name));
			(void)vec_add(out, one);
		}
	}
}

bool list_recordings(const char *folder, struct arena *arena, struct listing *out,
		struct err *err) {
	*out = (struct listing){0};
	CLOSED_FOLDER *dir = opendir(folder);
	if (!dir) {
		return err_system(err, errno, "%s", folder);
	}
	collect(dir, arena, out);
	vec_sort(out, by_age);
	return true;
}

// ---- the one that a name means

static size_t common_prefix(const char *a, const char *b) {
	size_t n = 0;
	while (a[n] && a[n] == b[n]) {
		n++;
	}
	return n;
}

enum { NEAR_MAX = 5 };

ORDER_BY(most_alike_first, struct listed,
		compare_u64(common_prefix(user, b->name), common_prefix(user, a->name))
				?: strcmp(a->name, b->name));

/** Add to `err` the recordings in a name's folder that share the longest prefix with it. */
static void say_what_is_near(const char *name, struct err *err) {
	const char *base = path_base_name(name);
	SCOPED(arena) arena = {0};
	const char *folder = base == name ? "."
									  : arena_text(&arena, slice_of(name, (size_t)(base - name)));
	SCOPED_BY(vec_release) struct listing near = {0};
	if (list_recordings(folder, &arena, &near, err) && near.n > 1) {
		qsort_r(near.items, near.n, sizeof *near.items, most_alike_first, (void *)base);
	}
	SCOPED(buffer) list = {0};
	for (size_t i = 0; i < NEAR_MAX && i < near.n; i++) {
		buffer_printf(&list, "%s%s", i ? ", " : "", near.items[i].name);
	}
	(void)err_not_found(err, "no such file%s%.*s",
			list.size ? "; recordings there: " : ", and no recording in that folder",
			SLICE_ARG(buffer_view(&list)));
}

bool session_knows(const char *path) {
	uint8_t head[64];
	uint64_t bytes;
	size_t got = 0;
	CLOSED int fd = file_open_regular(path, &bytes, NULL);
	if (fd < 0) {
		return false; // also a fifo, whose open would block
	}
	bool is_known = file_read_at(fd, 0, head, sizeof head, &got, NULL) &&
			trace_is_ours(slice_of(head, got));
	struct unpack *in = is_known ? NULL : unpack_open(path, 0, NULL);
	struct slice unpacked;
	is_known |= in && unpack_peek(in, IMPORT_HEAD_BYTES, &unpacked, NULL) && importer_for(unpacked);
	unpack_close(in);
	return is_known;
}

char *find_recording(const char *name, struct err *err) {
	static const char *const suffixes[] = {".zst", ".gz", ""};
	for (size_t i = 0; i < N_OF(suffixes); i++) {
		const char *path = FORMAT(PATH_MAX + 1, "%s%s", name, suffixes[i]);
		// NAME means the file with a suffix, unless NAME exists, too, and is a recording
		if (access(path, F_OK) == 0 &&
				(!*suffixes[i] || access(name, F_OK) != 0 || !session_knows(name))) {
			return strdup(path) ?: memory_lacks();
		}
	}
	say_what_is_near(name, err);
	(void)err_add(err, "%s", name);
	return NULL;
}

// ---- standard input, copied to an unnamed file if it cannot be read twice

/** An unnamed file; -1: errno says why. */
static int make_file(void) {
	char path[PATH_MAX];
	(void)snprintf(path, sizeof path, "%s/heaptrack-stdin.XXXXXX", TEMPORARY_FOLDER);
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0) {
		(void)unlink(path);
	}
	return fd;
}

static bool fill(int fd) {
	char bytes[1 << 16];
	ssize_t n;
	for (uint64_t at = 0; (n = read(STDIN_FILENO, bytes, sizeof bytes)) != 0; at += (uint64_t)n) {
		n = n < 0 && errno == EINTR ? 0 : n;
		if (n < 0 || !file_write_at(fd, at, bytes, (size_t)n, NULL)) {
			return false;
		}
	}
	return true;
}

/** A descriptor of standard input's data; it stays open. */
static int open_input(struct err *err) {
	struct stat in;
	if (fstat(STDIN_FILENO, &in) == 0 && S_ISREG(in.st_mode)) {
		return STDIN_FILENO;
	}
	int fd = make_file();
	if (fd < 0 || !fill(fd)) {
		(void)err_system(err, errno, "cannot store standard input in %s", TEMPORARY_FOLDER);
		file_close(fd);
		return -1;
	}
	return fd;
}

char *spool_stdin(struct err *err) {
	static char path[32]; // there is one standard input, which can be read once
	int fd = *path ? -1 : open_input(err);
	if (fd >= 0) {
		(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	return *path ? strdup(path) ?: memory_lacks() : NULL;
}
