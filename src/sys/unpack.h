// SPDX-License-Identifier: MIT
#pragma once
/**
 * A file that is read sequentially and decompressed: gzip and zstd are recognized by their first
 * bytes, whatever the file's name; anything else is read as it is. Several compressed members in a
 * row are one stream. Memory is a few hundred kB (and a zstd window of up to 128 MB), however large
 * the file; the output is limited, so a decompression bomb ends with an error. A truncated file
 * yields its complete part and is reported as torn. Of gzip, what follows the last member is left.
 */

#include "base/base.h"

#define UNPACK_DEFAULT_MAX (256ull << 30)

struct unpack;

/** `max_bytes`: of what comes out; 0: UNPACK_DEFAULT_MAX. NULL: `err` says why. */
struct unpack *unpack_open(const char *path, uint64_t max_bytes, struct err *err);

/** NULL is fine. */
void unpack_close(struct unpack *u);

/**
 * The next bytes, borrowed until the next call; empty at the end. False: a system call failed, the
 * compressed data are invalid, or the output exceeds `max_bytes` (ERR_LIMIT).
 */
bool unpack_next(struct unpack *u, struct slice *out, struct err *err);

/**
 * The first bytes of all, at least `n` (at most 64 kB) if there are so many; they stay unread. Only
 * before the first unpack_next.
 */
bool unpack_peek(struct unpack *u, size_t n, struct slice *out, struct err *err);

/** After the end: the packed bytes ended in the middle, or something else followed zstd's. */
bool unpack_is_torn(const struct unpack *u);

// ---- a file that is written sequentially
//
// It gets its name only when it is complete; until then it is a temporary file in the same folder.

struct packer;

/** How it is compressed: as its name ends (.zst, .gz, else not at all), or whatever its name. */
enum packer_how { PACKER_BY_NAME, PACKER_PLAIN, PACKER_GZIP };

/** "-" is stdout. NULL: `err` says what and why. */
struct packer *packer_open(const char *path, enum packer_how how, struct err *err);

bool packer_write(struct packer *p, struct slice bytes, struct err *err);

/** The file is whole: give it its name, and close. False: there is no such file, `p` is gone. */
bool packer_finish(struct packer *p, struct err *err);

/** Give up: nothing is left. NULL is fine. */
void packer_cancel(struct packer *p);

/** All of it at once: a whole file, or none. */
bool packer_put(const char *path, enum packer_how how, struct slice bytes, struct err *err);
