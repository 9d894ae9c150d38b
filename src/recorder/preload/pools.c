// SPDX-License-Identifier: MIT
/*
 * Pools and their blocks lie in two tables with open addressing.
 *
 * The place of a pool holds the head of its list, which runs through the places of its blocks. They
 * stay on it, live or not, until the pool ends, so nothing is removed from the middle. Keys are
 * claimed by compare-and-swap and become GONE, to be claimed again.
 */
#include "recorder/preload/pools.h"

#include "recorder/core/sys.h"

#include <stdatomic.h>

enum {
	N_POOLS = 1 << 16,
	N_BLOCKS = 1 << 22,
	PROBES = 512, // places looked at, before the table counts as full
};

#define GONE 1u // no address of anything

/** Of a pool or of a block. */
struct place {
	_Atomic uint64_t address; // 0: never used
	_Atomic uint64_t pool;    // of a block; written after the address was claimed
	_Atomic uint32_t next;    // block on the list of the pool: index + 1
	_Atomic uint32_t is_live;
};

static _Atomic(struct place *) pools;
static _Atomic(struct place *) blocks;

/** The table, made by whoever comes first. */
static struct place *table(_Atomic(struct place *) *at, uint32_t n) {
	struct place *made = atomic_load(at);
	if (made == NULL) {
		struct place *mine = sys_map(n * sizeof *mine);
		if (mine == NULL || atomic_compare_exchange_strong(at, &made, mine)) {
			return mine;
		}
		sys_munmap(mine, n * sizeof *mine);
	}
	return made;
}

static uint32_t mix(uint64_t address) {
	return (uint32_t)((address >> 4) * 0x9E3779B97F4A7C15ull >> 32);
}

/** Neighbouring blocks lie side by side, so the places of a pool share pages. */
static uint32_t place_of(uint64_t pool, uint64_t block) {
	return (uint32_t)(block >> 4) + mix(pool);
}

static struct place *find(struct place *all, uint32_t n, uint32_t at, uint64_t pool,
		uint64_t address) {
	for (uint32_t i = 0; all != NULL && i < PROBES; i++) {
		struct place *p = &all[(at + i) % n];
		uint64_t found = atomic_load(&p->address);
		if (found == 0 || (found == address && atomic_load(&p->pool) == pool)) {
			return found == 0 ? NULL : p;
		}
	}
	return NULL;
}

static struct place *claim(struct place *all, uint32_t n, uint32_t at, uint64_t pool,
		uint64_t address) {
	for (uint32_t i = 0; all != NULL && i < PROBES; i++) {
		struct place *p = &all[(at + i) % n];
		uint64_t found = atomic_load(&p->address);
		if ((found == 0 || found == GONE) &&
				atomic_compare_exchange_strong(&p->address, &found, address)) {
			atomic_store(&p->pool, pool);
			return p;
		}
	}
	return NULL;
}

static struct place *find_pool(uint64_t address) {
	return find(atomic_load(&pools), N_POOLS, mix(address), 0, address);
}

static struct place *get_pool(uint64_t address) {
	struct place *p = find_pool(address);
	return p != NULL ? p : claim(table(&pools, N_POOLS), N_POOLS, mix(address), 0, address);
}

static struct place *find_block(uint64_t pool, uint64_t address) {
	return find(atomic_load(&blocks), N_BLOCKS, place_of(pool, address), pool, address);
}

bool pools_begin(uint64_t pool) {
	return get_pool(pool) != NULL;
}

static void put_on_list(struct place *pool, struct place *block) {
	uint32_t own = (uint32_t)(block - atomic_load(&blocks)) + 1;
	uint32_t first = atomic_load(&pool->next);
	do {
		atomic_store(&block->next, first);
	} while (!atomic_compare_exchange_weak(&pool->next, &first, own));
}

bool pools_add(uint64_t pool, uint64_t block) {
	struct place *b = find_block(pool, block);
	if (b == NULL) {
		struct place *p = get_pool(pool);
		b = p == NULL
				? NULL
				: claim(table(&blocks, N_BLOCKS), N_BLOCKS, place_of(pool, block), pool, block);
		if (b == NULL) {
			return false;
		}
		put_on_list(p, b);
	}
	atomic_store(&b->is_live, 1);
	return true;
}

bool pools_remove(uint64_t pool, uint64_t block) {
	struct place *b = find_block(pool, block);
	return b != NULL && atomic_exchange(&b->is_live, 0) != 0;
}

void pools_end(uint64_t pool, void (*each)(void *user, uint64_t block), void *user) {
	struct place *p = find_pool(pool);
	if (p == NULL) {
		return;
	}
	struct place *all = atomic_load(&blocks);
	uint32_t next = atomic_exchange(&p->next, 0);
	while (next != 0) {
		struct place *b = &all[next - 1];
		uint64_t address = atomic_load(&b->address);
		next = atomic_load(&b->next);
		if (atomic_exchange(&b->is_live, 0) != 0) {
			each(user, address);
		}
		atomic_store(&b->pool, 0);
		atomic_store(&b->address, GONE);
	}
	atomic_store(&p->address, GONE);
}
