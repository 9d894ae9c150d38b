// SPDX-License-Identifier: MIT
#pragma once

/**
 * A file read from its beginning to its end, unpacked on the way: gzip and zstd by their first
 * bytes, whatever the file is called; anything else is taken as it lies. Several packed members,
 * one after the other, are one stream. Memory is a few hundred kB (and a zstd window, of which
 * up to 128 MB are accepted), however large the file; what comes out is bounded, so a bomb ends with
 * a sentence. A packed file that is cut short gives what is whole, and says that it is torn.
 */

#include "base/err.h"
#include "base/slice.h"

#include <stddef.h>
#include <stdint.h>

/** Where the packed bytes come from: up to `n` of them; *got 0 at the end. */
struct unpack_source {
	bool (*read)(void *user, void *out, size_t n, size_t *got, struct err *err);
	void *user;
};

#define UNPACK_DEFAULT_MAX (256ull << 30)

struct unpack;

/** `max_bytes`: of what comes out; 0: UNPACK_DEFAULT_MAX. NULL: `err` says why. */
struct unpack *unpack_create(struct unpack_source source, uint64_t max_bytes, struct err *err);

/** The file at `path`, or with "-" what comes through stdin. */
struct unpack *unpack_open(const char *path, uint64_t max_bytes, struct err *err);

/** NULL is fine. */
void unpack_close(struct unpack *u);

/**
 * The next bytes, borrowed until the next call; empty at the end. False: the system refused, the
 * packed bytes make no sense, or more came out than `max_bytes` (ERR_LIMIT).
 */
bool unpack_next(struct unpack *u, struct slice *out, struct err *err);

/**
 * The first bytes of all, at least `n` (at most 64 kB) if there are so many; they stay unread. Only
 * before the first unpack_next.
 */
bool unpack_peek(struct unpack *u, size_t n, struct slice *out, struct err *err);

/** After the end: the packed bytes ended in the middle, or something else followed them. */
bool unpack_is_torn(const struct unpack *u);

/** Bytes read and bytes given out so far: for progress. */
uint64_t unpack_bytes_in(const struct unpack *u);
uint64_t unpack_bytes_out(const struct unpack *u);
