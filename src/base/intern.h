// SPDX-License-Identifier: MIT
#pragma once

#include "base/attr.h"
#include "base/slice.h"

/**
 * Maps items to small ids. The caller keeps the items in its own array and compares them; the table
 * only stores their hashes. Open addressing, at most half full. A zeroed struct is empty. Not for
 * keys that an attacker can choose freely: callers limit what they add.
 *
 *   struct intern_probe p = intern_probe(&table, hash);
 *   while (intern_next(&table, &p) && !is_same(things[p.id], wanted)) {}
 *   if (!p.found && !intern_add(&table, hash, n_things)) { no memory }
 */
struct intern_slot {
	uint32_t hash;
	uint32_t id; // + 1; 0: free
};

struct intern {
	struct intern_slot *slots;
	uint32_t n, capacity; // capacity: 0 or a power of two
};

struct intern_probe {
	uint32_t hash;
	uint32_t at; // where to look next
	uint32_t id; // of the candidate
	bool found;  // there is a candidate
};

static inline struct intern_probe intern_probe(uint32_t hash) {
	return (struct intern_probe){.hash = hash, .at = hash};
}

/** The next thing with this hash: true, and its id is in `p`; false: there are no more. */
static inline bool intern_next(const struct intern *t, struct intern_probe *p) {
	p->found = false;
	while (t->capacity) {
		const struct intern_slot *s = &t->slots[p->at++ & (t->capacity - 1)];
		if (s->id == 0) {
			break;
		}
		if (s->hash == p->hash) {
			p->id = s->id - 1;
			p->found = true;
			break;
		}
	}
	return p->found;
}

/** Remember a thing that is not in the table yet. False: no memory, nothing changed. */
bool intern_add(struct intern *t, uint32_t hash, uint32_t id) ATTR_NODISCARD;

void intern_finish(struct intern *t);

/** Hashes for it. */
uint32_t hash_slice(struct slice s);

static inline uint32_t hash_pair(uint32_t a, uint32_t b) {
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32) ^ (uint32_t)h >> 7;
}
