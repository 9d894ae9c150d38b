// SPDX-License-Identifier: MIT
#pragma once
/**
 * Ranges of addresses that do not overlap, each a *piece* of a mapping. They are a treap: a search
 * tree by address in which a parent's number has the larger hash, so that its depth is that of a
 * random tree, whatever the program does. Two operations make up all others: splitting a tree at an
 * address (a piece across it is cut first), and joining two of which one is below the other.
 */

#include "base/base.h"

enum { PIECE_NONE = 0 };

struct piece {
	uint64_t start, end;
	uint32_t mapping;
	uint32_t sort;        // wire_map_sort()
	uint32_t left, right; // below and above, or PIECE_NONE. `left` of an unused one: the next
};

struct pieces {
	VEC(struct piece); // the owner first pushes [PIECE_NONE]
	uint32_t root, unused, n_used;
};

/** Add a piece; its range must be empty. */
void pieces_put(struct pieces *p, const struct piece *piece);

/** Take out all of [start, end) as a tree of its own, to walk and to give back. */
uint32_t pieces_take(struct pieces *p, uint64_t start, uint64_t end);

/** Put back what was taken, with the same addresses. */
void pieces_put_back(struct pieces *p, uint32_t tree);

/** Free the pieces of a tree that was taken. */
void pieces_give(struct pieces *p, uint32_t tree);

/** Walk a tree by rising address; `visit` may change a piece, but not its place. */
void pieces_walk(const struct pieces *p, uint32_t tree, void (*visit)(void *user, struct piece *),
		void *user);

/** The piece at this address, or PIECE_NONE. */
uint32_t pieces_find(const struct pieces *p, uint64_t at);

/** The first address after `at` where a piece begins or ends, or UINT64_MAX. */
uint64_t pieces_next(const struct pieces *p, uint64_t at);

/** Merge the two neighbours that meet at this address, if they are equal. */
void pieces_mend(struct pieces *p, uint64_t at);
