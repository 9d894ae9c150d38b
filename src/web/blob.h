// SPDX-License-Identifier: MIT
#pragma once

/**
 * A recording as the page reads it: docs/page-format.md. Served as /profile.bin, or kept in the
 * page's HTML.
 */

#include "base/buffer.h"
#include "engine/names.h"

#define BLOB_MAGIC "heappage"

enum {
	BLOB_VERSION = 1,
	BLOB_HEAD_BYTES = 20, // magic, version (u32), bytes of the sections (u64); then deflate
};

enum blob_section {
	BLOB_FACTS = 1,
	BLOB_STRINGS,
	BLOB_SYMBOLS,
	BLOB_NODES,
	BLOB_STACKS,
	BLOB_EDGES,
	BLOB_INTERVALS,
	BLOB_SIZES,
	BLOB_THREADS,
	BLOB_HANDOVERS,
	BLOB_SAMPLES,
	BLOB_SOURCES,
	BLOB_CURVE,
};

struct blob_options {
	bool is_redacted; // of paths only the last part; no command, host, linkage names

	/** Stacks worth less than this many bytes end at the nearest caller that is worth it. */
	uint64_t least_bytes;

	/** The text of a file that frames name, by its string id; false: it cannot be had. NULL: no
	 * sources. Lines around the heaviest sites are put in. */
	bool (*source)(void *user, uint32_t file, struct buffer *out);
	void *user;
};

/** Append the blob to `out`. */
bool blob_write(struct buffer *out, const struct recording *r, const struct names *n,
		const struct blob_options *options, struct err *err);
