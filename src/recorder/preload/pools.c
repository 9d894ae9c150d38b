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

struct pool {
	_Atomic uint64_t address; // 0: never used
	_Atomic uint32_t first;   // block: index + 1
};

struct block {
	_Atomic uint64_t address; // 0: never used
	_Atomic uint64_t pool;    // written after the address was claimed
	_Atomic uint32_t next;
	_Atomic uint32_t is_live;
};

static _Atomic(struct pool *) pools;
static _Atomic(struct block *) blocks;

/** The table, made by whoever comes first. */
static void *table(_Atomic(void *) *at, size_t bytes) {
	void *made = atomic_load(at);
	if (made == NULL) {
		void *mine = sys_map(bytes);
		if (mine == NULL || atomic_compare_exchange_strong(at, &made, mine)) {
			return mine;
		}
		sys_munmap(mine, bytes);
	}
	return made;
}

static struct pool *all_pools(void) {
	return table((_Atomic(void *) *)&pools, N_POOLS * sizeof(struct pool));
}

static struct block *all_blocks(void) {
	return table((_Atomic(void *) *)&blocks, N_BLOCKS * sizeof(struct block));
}

static uint32_t mix(uint64_t address) {
	return (uint32_t)((address >> 4) * 0x9E3779B97F4A7C15ull >> 32);
}

// ---- pools

static struct pool *find_pool(uint64_t address) {
	struct pool *all = atomic_load(&pools);
	for (uint32_t i = 0; all != NULL && i < PROBES; i++) {
		struct pool *p = &all[(mix(address) + i) % N_POOLS];
		uint64_t found = atomic_load(&p->address);
		if (found == address || found == 0) {
			return found == 0 ? NULL : p;
		}
	}
	return NULL;
}

static struct pool *claim_pool(uint64_t address) {
	struct pool *all = all_pools();
	for (uint32_t i = 0; all != NULL && i < PROBES; i++) {
		struct pool *p = &all[(mix(address) + i) % N_POOLS];
		uint64_t found = atomic_load(&p->address);
		if ((found == 0 || found == GONE) &&
				atomic_compare_exchange_strong(&p->address, &found, address)) {
			return p;
		}
	}
	return NULL;
}

static struct pool *get_pool(uint64_t address) {
	struct pool *p = find_pool(address);
	return p != NULL ? p : claim_pool(address);
}

bool pools_begin(uint64_t pool) {
	return get_pool(pool) != NULL;
}

// ---- blocks

/** Neighbours lie side by side: a pool's places share pages. */
static uint32_t place_of(uint64_t pool, uint64_t block, uint32_t i) {
	return (uint32_t)((block >> 4) + mix(pool) + i) % N_BLOCKS;
}

static struct block *find_block(uint64_t pool, uint64_t address) {
	struct block *all = atomic_load(&blocks);
	for (uint32_t i = 0; all != NULL && i < PROBES; i++) {
		struct block *b = &all[place_of(pool, address, i)];
		uint64_t found = atomic_load(&b->address);
		if (found == 0) {
			return NULL;
		}
		if (found == address && atomic_load(&b->pool) == pool) {
			return b;
		}
	}
	return NULL;
}

static struct block *claim_block(uint64_t pool, uint64_t address) {
	struct block *all = all_blocks();
	for (uint32_t i = 0; all != NULL && i < PROBES; i++) {
		struct block *b = &all[place_of(pool, address, i)];
		uint64_t found = atomic_load(&b->address);
		if ((found == 0 || found == GONE) &&
				atomic_compare_exchange_strong(&b->address, &found, address)) {
			atomic_store(&b->pool, pool);
			return b;
		}
	}
	return NULL;
}

static void put_on_list(struct pool *pool, struct block *block) {
	uint32_t own = (uint32_t)(block - atomic_load(&blocks)) + 1;
	uint32_t first = atomic_load(&pool->first);
	do {
		atomic_store(&block->next, first);
	} while (!atomic_compare_exchange_weak(&pool->first, &first, own));
}

bool pools_add(uint64_t pool, uint64_t block) {
	struct block *b = find_block(pool, block);
	if (b == NULL) {
		struct pool *p = get_pool(pool);
		b = p == NULL ? NULL : claim_block(pool, block);
		if (b == NULL) {
			return false;
		}
		put_on_list(p, b);
	}
	atomic_store(&b->is_live, 1);
	return true;
}

bool pools_remove(uint64_t pool, uint64_t block) {
	struct block *b = find_block(pool, block);
	return b != NULL && atomic_exchange(&b->is_live, 0) != 0;
}

void pools_end(uint64_t pool, void (*each)(void *user, uint64_t block), void *user) {
	struct pool *p = find_pool(pool);
	if (p == NULL) {
		return;
	}
	struct block *all = atomic_load(&blocks);
	uint32_t next = atomic_exchange(&p->first, 0);
	while (next != 0) {
		struct block *b = &all[next - 1];
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
