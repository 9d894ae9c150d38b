// SPDX-License-Identifier: MIT
#pragma once
/**
 * A file that is read sequentially and decompressed: gzip and zstd are recognized by their first
 * bytes, whatever the file's name; anything else is read as is. Several compressed members form one
 * stream. Takes a few hundred kB (and a zstd window of up to 128 MB) for any file; the output is
 * limited, so that a decompression bomb ends with an error. A truncated file yields its complete
 * part and is reported as torn. Data after gzip's last member are ignored.
 */

#include "base/base.h"

#define UNPACK_DEFAULT_MAX (256ull << 30)

struct unpack;

/** `max_bytes` limits the output; 0: UNPACK_DEFAULT_MAX. NULL: see `err`. */
struct unpack *unpack_open(const char *path, uint64_t max_bytes, struct err *err);

/** NULL is allowed. */
void unpack_close(struct unpack *u);

/**
 * The next bytes, borrowed until the next call; empty at the end. False: a system call failed, the
 * data are invalid, or the output exceeds `max_bytes` (ERR_LIMIT).
 */
bool unpack_next(struct unpack *u, struct slice *out, struct err *err);

/** The first `n` bytes (at most 64 kB) or more, if there are as many; before unpack_next only. */
bool unpack_peek(struct unpack *u, size_t n, struct slice *out, struct err *err);

/** After the end: was the file truncated, or did other data follow zstd's? */
bool unpack_is_torn(const struct unpack *u);

// ---- a file that is written sequentially
//
// It gets its name only when complete; until then it is a temporary file in the same folder.

struct packer;

/** How it is compressed: by the name's ending (.zst, .gz, else not), or whatever the name. */
enum packer_how { PACKER_BY_NAME, PACKER_PLAIN, PACKER_GZIP };

/** "-" is stdout. NULL: see `err`. */
struct packer *packer_open(const char *path, enum packer_how how, struct err *err);

bool packer_write(struct packer *p, struct slice bytes, struct err *err);

/** Rename the complete file, and close. False: there is no file. `p` is gone in any case. */
bool packer_finish(struct packer *p, struct err *err);

/** Discard the file. NULL is allowed. */
void packer_cancel(struct packer *p);

/** Write a whole file, or none. */
bool packer_put(const char *path, enum packer_how how, struct slice bytes, struct err *err);
