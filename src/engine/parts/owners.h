// SPDX-License-Identifier: MIT
#pragma once
/**
 * Who owns an address apart from live blocks: spans that follow each other by rising address.
 */

#include "engine/parts.h"

enum {
	AREA_NONE = UINT32_MAX,
	AREA_BEFORE = UINT32_MAX - 1, // mapped before the attach
	AREA_UNREAD = UINT32_MAX - 2, // as struct pagemap's skipped_bytes
	AREA_SEEN = 1u << 31,         // and the place in parts_input.seen
};

#define ARENA_BYTES (64ull << 20) // HEAP_MAX_SIZE of glibc

struct owner {
	uint32_t mapping; // as in struct parts_row
	uint32_t area;    // whose name it has, or one of these
	uint8_t part;
};

struct owner_span {
	uint64_t start, end;
	struct owner owner; // of its anonymous pages
	uint32_t area;      // in which it lies
	bool is_file;       // its other pages are the file's (or the shared memory's)
};

struct live_block {
	uint64_t start, bytes;
	uint32_t stack;
};

/** By rising address, none of them over another. Zeroed: empty. */
struct live_blocks {
	VEC(struct live_block);
	uint64_t asked_bytes; // of all
	uint32_t n_stacks;    // rows of recording.stacks, up to the last that has one
};

/** Of two blocks that overlap the first has the bytes: a pool's own block, or a missed free. */
void live_blocks_list(const struct aggregate *a, struct live_blocks *out);

/** Zeroed: empty. */
struct owners {
	VEC(struct owner_span) spans;
};

/** Has glibc, as it looks, mapped this block alone? */
static inline bool glibc_has_mapped(const struct parts_input *in, const struct live_block *b) {
	return in->is_glibc && b->bytes >= 128 << 10 && (b->start & (in->page_bytes - 1)) == 16;
}

/** `blocks` by rising address. */
void owners_find(const struct parts_input *in, const struct live_block *blocks, size_t n_blocks,
		struct owners *out);
