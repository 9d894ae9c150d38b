// SPDX-License-Identifier: MIT
#pragma once
/** Who owns an address apart from live blocks, as adjacent spans by rising address. */

#include "engine/parts.h"

enum {
	AREA_NONE = UINT32_MAX,
	AREA_BEFORE = UINT32_MAX - 1, // mapped before the attach
	AREA_UNREAD = UINT32_MAX - 2, // as struct pagemap's skipped_bytes
	AREA_SEEN = 1u << 31,         // + index in parts_input.seen
};

#define ARENA_BYTES (64ull << 20) // HEAP_MAX_SIZE of glibc

struct owner {
	uint32_t mapping; // as in struct parts_row
	uint32_t area;    // whose name it has, or one of the above
	uint8_t part;
};

struct owner_span {
	uint64_t start, end;
	struct owner owner; // of its anonymous pages
	uint32_t area;      // which contains it
	bool is_file;       // its other pages are the file's (or the shared memory's)
};

struct live_block {
	uint64_t start, bytes;
	uint32_t stack;
};

/** By rising address, without overlaps. Zeroed: empty. */
struct live_blocks {
	VEC(struct live_block);
	uint64_t asked_bytes; // of all
	uint32_t n_stacks;    // one past the largest stack
};

/** Of two overlapping blocks the first gets the bytes: a pool's own block, or a missed free. */
void live_blocks_list(const struct aggregate *a, struct live_blocks *out);

/** Zeroed: empty. */
struct owners {
	VEC(struct owner_span) spans;
};

/** Does this block look as if glibc had mapped it by itself? */
static inline bool glibc_has_mapped(const struct parts_input *in, const struct live_block *b) {
	return in->is_glibc && b->bytes >= 128 << 10 && (b->start & (in->page_bytes - 1)) == 16;
}

/** `blocks` by rising address. */
void owners_find(const struct parts_input *in, const struct live_block *blocks, size_t n_blocks,
		struct owners *out);
