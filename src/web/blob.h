// SPDX-License-Identifier: MIT
#pragma once
/**
 * A recording as the page reads it: docs/page-format.md. Served as /profile.bin, or kept in the
 * page's HTML. Two parts, each packed by itself: what the first picture needs, and the rest, which
 * is the larger and is read while that picture is looked at.
 */

#include "engine/names.h"

#define BLOB_MAGIC "heappage"

enum {
	BLOB_VERSION = 4,
	BLOB_HEAD_BYTES = 12, // magic, version (u32)
	BLOB_PART_BYTES = 16, // before each part: its bytes unpacked and packed (u64 each)
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

/** What is made small travels far; what is not is there sooner. */
enum blob_packing {
	BLOB_SMALL,   // to be kept, or sent to others
	BLOB_QUICKLY, // a third larger, in a quarter of the time: for a tunnel
	BLOB_AS_IS,   // for this machine
};

struct blob_options {
	enum blob_packing packing;
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

/** How many bytes of a blob are its head and its first part. */
size_t blob_first_size(struct slice blob);
