// SPDX-License-Identifier: MIT
#pragma once
/** Files and folders. Paths may contain anything; descriptors are opened close-on-exec. */

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/**
 * Read up to `size` - 1 bytes of a small file, as in /proc, and add a NUL. Their number; -1: errno.
 */
long file_read_small(const char *path, char *out, size_t size);

/** As much as fits of all that comes, up to its end. -1: see errno. */
ssize_t file_read_all(int fd, void *out, size_t size);

/** Append the rest of a file, until `out` holds at most `max_bytes`. False: `err` names it. */
bool file_read_rest(int fd, const char *path, struct buffer *out, size_t max_bytes,
		struct err *err);

/** The same of a whole file. */
bool file_read_whole(const char *path, struct buffer *out, size_t max_bytes, struct err *err);

/**
 * The same for a file that is read only because it exists: appends nothing if it does not. Refuses
 * anything but a regular file, and files that belong to neither this user nor root. `beside`: the
 * file next to which it was found, whose owner is accepted, too; then it must not be a symbolic
 * link. NULL: it is in one of the user's own folders, where links are allowed.
 */
bool file_read_found(const char *path, const char *beside, struct buffer *out, size_t max_bytes,
		struct err *err);

/** Close it, unless it is negative; CLOSED int fd: at the end of its block. */
void file_close(int fd);
#define CLOSED SCOPED_BY(file_close_at)
static inline void file_close_at(const int *fd) {
	file_close(*fd);
}

/** The same of a FILE or a DIR, or NULL. */
#define CLOSED_FILE   SCOPED_BY(file_close_stream) FILE
#define CLOSED_FOLDER SCOPED_BY(file_close_folder) DIR
static inline void file_close_stream(FILE *const *stream) {
	(void)(*stream ? fclose(*stream) : 0);
}
static inline void file_close_folder(DIR *const *folder) {
	(void)(*folder ? closedir(*folder) : 0);
}

/** The descriptor, if it is the right one; else -1, and it is closed. errno stays. */
int file_keep(int fd, bool is_right);

/**
 * Open a regular file for reading; refuses others (folder, fifo, device). *bytes: size. -1: `err`.
 */
int file_open_regular(const char *path, uint64_t *bytes, struct err *err);

/** Write all `n` bytes at `offset`, with as many calls as needed. */
bool file_write_at(int fd, uint64_t offset, const void *data, size_t n, struct err *err);

/** Up to `n` bytes at `offset`; fewer only at the end. */
bool file_read_at(int fd, uint64_t offset, void *out, size_t n, size_t *got, struct err *err);

/** A regular file, mapped to be read; empty if that cannot be. */
struct slice file_map(int fd);
void file_unmap(struct slice bytes);

/** Create the parent folders of `path` (not `path` itself). uid and gid: their owner, or -1. */
bool file_make_parents(const char *path, unsigned uid, unsigned gid, struct err *err);

/** Bytes that this user may still write to the file system of `fd`; UINT64_MAX if unknown. */
uint64_t file_free_bytes(int fd);

enum { FILE_NUMBERS = 100000 }; // that are tried

/** The name `path` or, if `number` is not 0, NAME.NUMBER or NAME.NUMBER.zst. Returns `out`. */
const char *file_numbered(char out[PATH_MAX], const char *path, int number);

/**
 * Rename a file to the first of these names, from `number` on, that nothing has; `to` receives it.
 */
bool file_move(const char *from, const char *path, int number, char to[PATH_MAX], struct err *err);

/** True if `path` leads to the very file that `fd` has open. */
bool file_is_same(int fd, const char *path);

/** A variable of the environment; unset or empty, `otherwise`. */
const char *environment_or(const char *name, const char *otherwise);

/** Where temporary files belong. */
#define TEMPORARY_FOLDER environment_or("TMPDIR", "/tmp")

/** True if both are the same existing file; devices and pipes are not files. */
bool file_is_one(const char *a, const char *b);

/** Lock an open file, also for copies of `fd` (flock). False: it is locked. True if unsupported. */
bool file_lock(int fd);

/** The path that the symbolic link at `path` leads to, one step; NULL: it is none. In `arena`. */
char *file_link_next(const char *path, struct arena *arena);
