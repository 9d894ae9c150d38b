// SPDX-License-Identifier: MIT
#pragma once
/**
 * Ranges of addresses that do not overlap, each a *piece* of a mapping.
 *
 * They are a treap: a search tree by address in which the parent's number has the larger hash, so
 * its depth is that of a random tree, whatever the program does. Two operations make all others:
 * split a tree at an address, and join two of which one lies below the other. A piece that lies
 * across an address is cut in two first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PIECE_NONE = 0 };

struct piece {
	uint64_t start, end;
	uint32_t mapping;
	uint32_t sort;        // wire_map_sort()
	uint32_t left, right; // below and above; PIECE_NONE: none. `left` of an unused one: the next
};

struct pieces {
	struct piece *items; // the owner puts [PIECE_NONE] first, which is none
	size_t n, capacity;
	uint32_t root, unused, n_used;
};

/** Put in a range that holds none. */
void pieces_put(struct pieces *p, const struct piece *piece);

/** Take out all of [start, end): a tree of its own, to walk and to give back. */
uint32_t pieces_take(struct pieces *p, uint64_t start, uint64_t end);

/** Put back what was taken, with the same addresses. */
void pieces_put_back(struct pieces *p, uint32_t tree);

/** The pieces of a tree that was taken are no more. */
void pieces_give(struct pieces *p, uint32_t tree);

/** Of a tree, by rising address; `visit` may change what a piece says, but not its place. */
void pieces_walk(const struct pieces *p, uint32_t tree, void (*visit)(void *user, struct piece *),
		void *user);

/** The piece in which this address lies, or PIECE_NONE. */
uint32_t pieces_find(const struct pieces *p, uint64_t at);

/** The first address behind `at` where a piece begins or ends; UINT64_MAX: there is none. */
uint64_t pieces_next(const struct pieces *p, uint64_t at);

/** Make one of two neighbours that meet at this address if they say the same. */
void pieces_mend(struct pieces *p, uint64_t at);
