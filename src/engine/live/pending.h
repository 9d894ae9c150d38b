// SPDX-License-Identifier: MIT
#pragma once
/**
 * Reallocs in progress. Between REALLOC and MOVED or STAYED, the block is live but has no address.
 * A thread can have several nested ones, because a signal handler may reallocate.
 */

#include "base/base.h"

struct pending {
	uint64_t ptr;   // where the block was
	uint32_t block; // BLOCK_NONE: nothing known was there
	uint32_t thread;
	uint32_t next; // the thread's one before; of an unused record: the next unused one
};

struct pendings {
	VEC(struct pending); // from 1; items[0] is none
	uint32_t unused;
};

/** Room for `more` further ones. False: out of memory. */
static inline bool pendings_reserve(struct pendings *p, size_t more) {
	return vec_reserve(p, more + 1);
}

/** `newest`: where the thread keeps its newest one. pendings_reserve made room. */
static inline void pendings_push(struct pendings *p, uint32_t *newest, struct pending pending) {
	p->n += p->n == 0;
	uint32_t number = p->unused;
	if (number) {
		p->unused = p->items[number].next;
	} else {
		number = (uint32_t)p->n++;
	}
	pending.next = *newest;
	p->items[number] = pending;
	*newest = number;
}

/** False: the thread has none. */
static inline bool pendings_pop(struct pendings *p, uint32_t *newest, struct pending *out) {
	uint32_t number = *newest;
	if (!number) {
		return false;
	}
	*out = p->items[number];
	*newest = out->next;
	p->items[number].block = 0;
	p->items[number].thread = 0;
	p->items[number].next = p->unused;
	p->unused = number;
	return true;
}
