// SPDX-License-Identifier: MIT
/*
 * Pools and their blocks lie in one table with open addressing. A pool's place holds the head of
 * its list, which runs through the places of its blocks. They stay on it, live or not, until the
 * pool ends, so nothing is removed from the middle. Keys are claimed by compare-and-swap and become
 * GONE, to be claimed again.
 */
#include "recorder/preload/pools.h"

#include "recorder/core/sys.h"

enum {
	N_PLACES = 1 << 22,
	PROBES = 512, // places looked at before the table counts as full
};

#define GONE 1u // the address of nothing

struct place {
	_Atomic uint64_t key;  // a block's address, or a pool's with all bits inverted. 0: never used
	_Atomic uint64_t pool; // of a block; written after the key is claimed
	_Atomic uint32_t next; // next block on the pool's list: index + 1
	_Atomic uint32_t is_live;
};

static _Atomic(struct place *) places;

/** Neighbouring blocks have neighbouring places, so the places of a pool share pages. */
static struct place *place_at(struct place *all, uint64_t pool, uint64_t key, uint32_t i) {
	uint32_t first = (uint32_t)(key >> 4) + (uint32_t)((pool >> 4) * 0x9E3779B97F4A7C15ull >> 32);
	return &all[(first + i) % N_PLACES];
}

static struct place *find(uint64_t pool, uint64_t key) {
	struct place *all = atomic_load(&places);
	for (uint32_t i = 0; all != NULL && i < PROBES; i++) {
		struct place *p = place_at(all, pool, key, i);
		uint64_t found = atomic_load(&p->key);
		if (found == 0 || (found == key && atomic_load(&p->pool) == pool)) {
			return found == 0 ? NULL : p;
		}
	}
	return NULL;
}

static struct place *claim(uint64_t pool, uint64_t key) {
	struct place *all = SYS_MAP_ONCE(&places, N_PLACES * sizeof *all);
	for (uint32_t i = 0; all != NULL && i < PROBES; i++) {
		struct place *p = place_at(all, pool, key, i);
		uint64_t found = atomic_load(&p->key);
		if ((found == 0 || found == GONE) && atomic_compare_exchange_strong(&p->key, &found, key)) {
			atomic_store(&p->pool, pool);
			return p;
		}
	}
	return NULL;
}

static void put_on_list(struct place *pool, struct place *block) {
	uint32_t own = (uint32_t)(block - atomic_load(&places)) + 1;
	uint32_t first = atomic_load(&pool->next);
	do {
		atomic_store(&block->next, first);
	} while (!atomic_compare_exchange_weak(&pool->next, &first, own));
}

bool pools_add(uint64_t pool, uint64_t block) {
	struct place *b = find(pool, block);
	if (b == NULL) {
		struct place *p = find(0, ~pool) ?: claim(0, ~pool);
		b = p == NULL ? NULL : claim(pool, block);
		if (b == NULL) {
			return false;
		}
		put_on_list(p, b);
	}
	atomic_store(&b->is_live, 1);
	return true;
}

bool pools_remove(uint64_t pool, uint64_t block) {
	struct place *b = find(pool, block);
	return b != NULL && atomic_exchange(&b->is_live, 0) != 0;
}

void pools_end(uint64_t pool, void (*each)(void *user, uint64_t block), void *user) {
	struct place *p = find(0, ~pool);
	if (p == NULL) {
		return;
	}
	struct place *all = atomic_load(&places);
	uint32_t next = atomic_exchange(&p->next, 0);
	while (next != 0) {
		struct place *b = &all[next - 1];
		uint64_t address = atomic_load(&b->key);
		next = atomic_load(&b->next);
		if (atomic_exchange(&b->is_live, 0) != 0) {
			each(user, address);
		}
		atomic_store(&b->pool, 0);
		atomic_store(&b->key, GONE);
	}
	atomic_store(&p->key, GONE);
}
