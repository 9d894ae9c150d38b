// SPDX-License-Identifier: MIT
/*
 * Names, locks and space of the output file. Whoever records to, moves or removes a file holds its
 * lock: several heaptracks that want one name get a file each, and no file that is still written is
 * taken away.
 */
#include "collector/file/output.h"

enum {
	RESERVE_MAX = 1 << 30, // kept free: 1 GB or 5 % of the free space, whichever is smaller
	RESERVE_PERCENT = 5,
	TRIES_MAX = 1000, // attempts at a name that others take each time
	HEAD_BYTES = 64,
};

ATTR_PRINTF(2, 3)
static void note(struct output *o, const char *fmt, ...) {
	if (o->n_notes < OUTPUT_NOTES) {
		(void)FORMAT_ARGS(o->notes[o->n_notes++], sizeof o->notes[0], fmt);
	}
}

void output_suffix(char *out, size_t size, const char *name, bool *was_replaced) {
	static const char *const others[] = {".gz", ".xz", ".bz2", ".lzma", ".lz4", ".zip"};
	struct slice base = slice_of_text(name);
	*was_replaced = false;
	for (size_t i = 0; i < N_OF(others) && !*was_replaced; i++) {
		*was_replaced = base.size > strlen(others[i]) && ends_with(base, others[i]);
		base.size -= *was_replaced ? strlen(others[i]) : 0;
	}
	bool has_suffix = base.size > 4 && ends_with(base, ".zst") && !*was_replaced;
	(void)snprintf(out, size, "%.*s%s", SLICE_ARG(base), has_suffix ? "" : ".zst");
}

void output_expand(char *out, size_t size, const char *name, pid_t pid) {
	size_t at = 0;
	for (const char *c = name; *c && at + 1 < size; c++) {
		char piece[256] = {*c, 0};
		bool is_one = c[0] == '%' && c[1] && strchr("hp%", c[1]);
		c += is_one;
		if (is_one && *c == 'p') {
			(void)snprintf(piece, sizeof piece, "%d", (int)pid);
		} else if (is_one && *c == 'h') {
			(void)gethostname(piece, sizeof piece - 1);
		}
		int n = snprintf(out + at, size - at, "%s", piece);
		at += (size_t)n < size - at ? (size_t)n : size - at - 1;
	}
	out[at] = 0;
}

// ---- whose file it is

static bool caller_of_sudo(unsigned *uid, unsigned *gid) {
	const char *u = getenv("SUDO_UID"), *g = getenv("SUDO_GID");
	*uid = *gid = (unsigned)-1;
	if (geteuid() != 0 || !u || !g) {
		return false;
	}
	*uid = (unsigned)strtoul(u, NULL, 10);
	*gid = (unsigned)strtoul(g, NULL, 10);
	return true;
}

static void give_to_caller(int fd) {
	unsigned uid, gid;
	if (caller_of_sudo(&uid, &gid)) {
		(void)!fchown(fd, uid, gid);
	}
}

// ---- a file that already has the name

enum existing { EXISTS_NOT, EXISTS_EMPTY, EXISTS_RECORDING, EXISTS_IN_USE, EXISTS_OTHER };

static enum existing kind_of(int fd, const char *path) {
	struct stat s;
	uint8_t head[HEAD_BYTES];
	size_t got = 0;
	if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
		return EXISTS_OTHER;
	}
	if (!file_lock(fd) || !file_is_same(fd, path)) { // or another just took it away
		return EXISTS_IN_USE;
	}
	return !file_read_at(fd, 0, head, sizeof head, &got, NULL) ? EXISTS_OTHER
			: got == 0                                         ? EXISTS_EMPTY
			: trace_is_ours(slice_of(head, got))               ? EXISTS_RECORDING
															   : EXISTS_OTHER;
}

/** *fd (-1 before): the file, locked, if it can be opened. */
static bool look_at_existing(const char *path, enum existing *what, int *fd, struct err *err) {
	struct stat s;
	*what = EXISTS_NOT;
	if (lstat(path, &s) != 0) {
		return errno == ENOENT || errno == ENOTDIR
				? true
				: err_system(err, errno, "cannot stat \"%s\"", path);
	}
	if (S_ISDIR(s.st_mode)) {
		return err_usage(err, "\"%s\" is a folder; name a file in it", path);
	}
	*what = EXISTS_OTHER;
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd >= 0) {
		*what = kind_of(*fd, path);
	}
	return true;
}

/** *is_in_use: another heaptrack records to it. */
static bool make_room_for_name(struct output *o, bool overwrite, bool *is_in_use, struct err *err) {
	enum existing what;
	CLOSED int fd = -1;
	if (!look_at_existing(o->path, &what, &fd, err)) {
		return false;
	}
	*is_in_use = what == EXISTS_IN_USE;
	if (what == EXISTS_OTHER) {
		return err_usage(err,
				"refusing to overwrite \"%s\": not a heaptrack recording; choose another name "
				"with -o, or remove it",
				o->path);
	}
	if (what == EXISTS_RECORDING && !overwrite) {
		char to[PATH_MAX];
		bool ok = file_move(o->path, o->path, 1, to, err);
		if (ok) {
			note(o, "the existing recording was renamed \"%s\"", to);
		}
		return ok;
	}
	return what == EXISTS_NOT || what == EXISTS_IN_USE || unlink(o->path) == 0 ||
			err_system(err, errno, "cannot replace \"%s\"", o->path);
}

// ---- open

/** A new file. *is_taken: another process was faster, or is writing to it. */
static bool create_new(struct output *o, const char *path, bool *is_taken, struct err *err) {
	*is_taken = false;
	o->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (o->fd < 0) {
		*is_taken = errno == EEXIST;
		return err_system(err, errno, "cannot write to \"%s\"", path);
	}
	if (file_lock(o->fd) && file_is_same(o->fd, path)) {
		return true;
	}
	(void)close(o->fd);
	o->fd = -1;
	*is_taken = true;
	return err_failed(err, "cannot write to \"%s\": another process writes to it", path);
}

/** With the first number whose name is free. */
static bool create_numbered(struct output *o, struct err *err) {
	char path[PATH_MAX];
	for (int i = 1; i <= FILE_NUMBERS; i++) {
		bool is_taken;
		if (create_new(o, file_numbered(path, o->path, i), &is_taken, err)) {
			note(o, "\"%s\" is in use by another recording; writing to \"%s\" instead", o->path,
					path);
			strcpy(o->path, path);
			return true;
		}
		if (!is_taken) {
			return false;
		}
	}
	return err_limit(err, "\"%s\" has %d recordings beside it", o->path, FILE_NUMBERS);
}

static bool create(struct output *o, bool overwrite, struct err *err) {
	unsigned uid, gid;
	(void)caller_of_sudo(&uid, &gid);
	bool ok = file_make_parents(o->path, uid, gid, err), is_in_use = false, is_taken = true;
	for (int i = 0; ok && is_taken && !is_in_use; i++) {
		ok = make_room_for_name(o, overwrite, &is_in_use, err);
		is_taken = ok && !is_in_use && !create_new(o, o->path, &is_taken, err) && is_taken &&
				i < TRIES_MAX;
	}
	ok = ok && (o->fd >= 0 || (is_in_use && create_numbered(o, err)));
	if (!ok) {
		return false;
	}
	give_to_caller(o->fd);
	uint64_t share = file_free_bytes(o->fd) / 100 * RESERVE_PERCENT;
	o->reserve_bytes = share < RESERVE_MAX ? share : RESERVE_MAX;
	return true;
}

static bool open_named(struct output *o, const struct output_request *request, struct err *err) {
	char name[PATH_MAX];
	output_expand(name, sizeof name, request->name, request->pid);
	struct stat s;
	size_t n = strlen(name);
	if (n == 0 || name[n - 1] == '/' || (stat(name, &s) == 0 && S_ISDIR(s.st_mode))) {
		return err_usage(err, "\"%s\" is a folder; name a file in it", name);
	}
	if (stat(name, &s) == 0 && !S_ISREG(s.st_mode)) {
		return err_usage(err, "\"%s\" is not a regular file", name);
	}
	if (n + 32 > sizeof o->path) {
		return err_limit(err, "the name of the output file is too long");
	}
	bool was_replaced;
	output_suffix(o->path, sizeof o->path, name, &was_replaced);
	if (was_replaced) {
		note(o, "recordings are compressed with zstd; writing to \"%s\"", o->path);
	}
	return create(o, request->overwrite, err);
}

static bool open_default(struct output *o, const struct output_request *request, struct err *err) {
	char folder[PATH_MAX], name[NAME_MAX];
	(void)snprintf(name, sizeof name, "heaptrack.%.200s.%d.zst", path_base_name(request->program),
			(int)request->pid);
	struct err here = {0};
	if (getcwd(folder, sizeof folder)) {
		(void)snprintf(o->path, sizeof o->path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder,
				name);
		if (access(folder, W_OK | X_OK) == 0 && create(o, request->overwrite, &here)) {
			return true;
		}
	}
	if (here.code == ERR_USAGE) {
		*err = here;
		return false;
	}
	const char *temporary = TEMPORARY_FOLDER;
	struct stat s;
	bool is_folder = stat(temporary, &s) == 0 && S_ISDIR(s.st_mode);
	temporary = is_folder ? temporary : "/tmp";
	note(o, "the current folder is not writable; writing to \"%s\" instead", temporary);
	(void)snprintf(o->path, sizeof o->path, "%s/%s", temporary, name);
	return create(o, request->overwrite, err);
}

bool output_open(struct output *o, const struct output_request *request, struct err *err) {
	memset(o, 0, sizeof *o);
	o->fd = -1;
	return request->name ? open_named(o, request, err) : open_default(o, request, err);
}

void output_close(struct output *o, bool keep) {
	if (o->fd < 0) {
		return;
	}
	if (!keep && file_is_same(o->fd, o->path)) {
		(void)unlink(o->path);
	}
	(void)close(o->fd);
	o->fd = -1;
}

// ---- bytes

// Others write to the disk, too: its free space is read each time
static bool may_grow(const struct output *o, uint64_t growth, struct err *err) {
	uint64_t free_bytes = file_free_bytes(o->fd);
	return (free_bytes >= o->reserve_bytes && free_bytes - o->reserve_bytes >= growth) ||
			err_limit(err, "the disk of \"%s\" is nearly full (%llu MB free)", o->path,
					(unsigned long long)(free_bytes >> 20));
}

static bool sink_write(void *user, uint64_t offset, const void *data, size_t n, struct err *err) {
	struct output *o = user;
	uint64_t end = offset + n;
	if (end > o->size && !may_grow(o, end - o->size, err)) {
		return false;
	}
	if (!file_write_at(o->fd, offset, data, n, err)) {
		return err_add(err, "\"%s\"", o->path);
	}
	o->size = end > o->size ? end : o->size;
	return true;
}

struct trace_sink output_sink(struct output *o) {
	return (struct trace_sink){sink_write, o};
}

static bool source_read(void *user, uint64_t offset, void *out, size_t n, size_t *got,
		struct err *err) {
	struct output *o = user;
	return file_read_at(o->fd, offset, out, n, got, err);
}

struct trace_source output_source(struct output *o) {
	return (struct trace_source){source_read, o->size, o};
}

/**
 * The growing file is not in its place. If it was moved, the finished one takes its new place; if
 * it was removed, or the place is unknown, the finished one gets a name of its own.
 */
static void find_moved(struct output *o) {
	char now[sizeof o->path];
	if (process_link(0, FORMAT(16, "fd/%d", o->fd), now, sizeof now) && file_is_same(o->fd, now)) {
		note(o, "\"%s\" was moved to \"%s\" while recording", o->path, now);
		strcpy(o->path, now);
	}
}

/** Name the finished file when the growing one lost its name. */
static bool place_anew(struct output *o, const char *finished, struct err *err) {
	char path[PATH_MAX];
	if (!file_move(finished, o->path, 0, path, err)) {
		return false;
	}
	note(o, "\"%s\" was %s while recording; writing the recording to \"%s\"", o->path,
			strcmp(path, o->path) == 0 ? "removed" : "replaced", path);
	strcpy(o->path, path);
	return true;
}

bool output_replace(struct output *o,
		bool (*write)(void *user, struct trace_sink sink, struct err *err), void *user,
		struct err *err) {
	if (!file_is_same(o->fd, o->path)) {
		find_moved(o);
	}
	bool is_there = file_is_same(o->fd, o->path);
	FREED struct output *beside = memory_new(1, sizeof *beside);
	(void)snprintf(beside->path, sizeof beside->path, "%.*s.%d.part", (int)sizeof o->path - 32,
			o->path, (int)getpid());
	beside->reserve_bytes = o->reserve_bytes;
	beside->fd = open(beside->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (beside->fd < 0) {
		return err_system(err, errno, "cannot write \"%s\"", beside->path);
	}
	(void)file_lock(beside->fd);
	give_to_caller(beside->fd);
	bool ok = write(user, output_sink(beside), err);
	if (ok && !is_there) {
		ok = place_anew(o, beside->path, err);
	} else if (ok && rename(beside->path, o->path) != 0) {
		ok = err_system(err, errno, "cannot rename \"%s\"", beside->path);
	}
	if (!ok) {
		(void)unlink(beside->path);
		(void)close(beside->fd);
		return false;
	}
	(void)close(o->fd);
	COPY_FIELDS(o, beside, fd, size);
	return true;
}

bool output_is_there(const struct output *o) {
	struct stat s;
	return fstat(o->fd, &s) == 0 && s.st_nlink > 0;
}
