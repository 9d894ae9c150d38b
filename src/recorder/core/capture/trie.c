// SPDX-License-Identifier: MIT
/*
 * Nodes lie in the shared segment; private chains and hash tables find them.
 *
 * Nodes are in order of creation, and only they are shared with the collector. The first children
 * of a node form a chain, which begins in the node and continues in private links, one per node. A
 * link also holds a tag, so that a search along the chain touches no other node. A chain only
 * grows, by compare-and-swap at its end.
 *
 *    node[parent].first_child ──► link[a] = {tag of a, b} ──► link[b] = {tag of b, 0}
 *
 * Children beyond the CHAIN_MAX-th are in hash tables of (id, tag) slots, each table four times its
 * predecessor. New entries go to the last one; what is found in an earlier one is copied there.
 *
 * Nothing is ever removed, so readers need no protection. A node is complete before it can be
 * found. The loser of a race to make a node leaves one that no stack uses. Threads that insert into
 * different tables while the last one grows may make two nodes for one stack; readers add them up.
 */
#include "recorder/core/capture/trie.h"

#include "recorder/core/segment.h"

enum {
	FIRST_BITS = 14,
	GROWTH_BITS = 2,
	N_TABLES = 8, // 2^14 .. 2^28 slots
	PROBES = 16,
	CHAIN_MAX = 8,
	FIRST_LINKS = 1 << 16,
	N_PIECES = 10, // for 2^25 nodes
};

// A link: the next sibling in bits 0..31, the node's own tag above. Links lie in pieces, each twice
// as large as the one before: few enough to tell the collector of
static _Atomic(_Atomic uint64_t *) links[N_PIECES];

static _Atomic(_Atomic uint64_t *) tables[N_TABLES];
static _Atomic uint32_t first_id[N_TABLES]; // nodes from here on are newer than the table
static _Atomic uint32_t n_tables;           // written after what it counts

static unsigned table_bits(unsigned index) {
	return FIRST_BITS + GROWTH_BITS * index;
}

static size_t table_bytes(unsigned index) {
	return sizeof(uint64_t) << table_bits(index);
}

/** Add a table to the `n` that exist. False: no memory, or no more tables. */
static bool grow(uint32_t n) {
	if (n == N_TABLES || !segment_may_call_system()) {
		return false;
	}
	_Atomic uint64_t *table = SYS_MAP_ONCE(&tables[n], table_bytes(n));
	if (table == NULL) {
		return false;
	}
	if (n > 0) {
		// Large, and accessed at random: huge pages save page walks. The first one stays small
		(void)sys_madvise(table, table_bytes(n), MADV_HUGEPAGE);
	}
	atomic_store(&first_id[n], atomic_load(&segment.header->n_nodes));
	// The thread that put the table there may have stopped before this line: do it for that thread
	if (atomic_compare_exchange_strong(&n_tables, &n, n + 1)) {
		atomic_fetch_add(&segment.header->hash_bytes, table_bytes(n));
	}
	return true;
}

bool trie_setup(void) {
	if (atomic_load(&n_tables) > 0) {
		return true;
	}
	// Before an exec, this process had a chain here, whose links are gone
	atomic_store_explicit(&segment.nodes[0].first_child, 0, memory_order_relaxed);
	return grow(0);
}

static uint64_t hash_of(uint32_t parent, uint64_t where) {
	uint64_t h = (where ^ (uint64_t)parent << 17) * 0x9E3779B97F4A7C15ull;
	h ^= h >> 32;
	h += parent;
	return h * 0xD6E8FEB86659FD93ull;
}

static bool node_is(uint32_t id, uint32_t parent, uint64_t where) {
	// Acquire pairs with publish(): `parent` may be read once `where` is seen
	return atomic_load_explicit(&segment.nodes[id].where, memory_order_acquire) == where &&
			segment.nodes[id].parent == parent;
}

/** The slots of a table that an entry may be in. */
struct probe {
	_Atomic uint64_t *slots;
	uint64_t at, mask;
};

static struct probe probe_of(unsigned index, uint64_t hash) {
	uint64_t mask = (1ull << table_bits(index)) - 1;
	_Atomic uint64_t *slots = atomic_load_explicit(&tables[index], memory_order_acquire);
	return (struct probe){slots, hash >> (64 - table_bits(index)), mask};
}

static uint32_t find(unsigned index, uint64_t hash, uint32_t parent, uint64_t where) {
	struct probe p = probe_of(index, hash);
	for (unsigned i = 0; i < PROBES; i++) {
		// Acquire pairs with the exchange in insert()
		uint64_t slot = atomic_load_explicit(&p.slots[(p.at + i) & p.mask], memory_order_acquire);
		if (slot == 0) {
			return 0;
		}
		if ((uint32_t)slot == (uint32_t)hash && node_is((uint32_t)(slot >> 32), parent, where)) {
			return (uint32_t)(slot >> 32);
		}
	}
	return 0;
}

/** A new node, or 0 if the budget is exhausted. */
static uint32_t publish(uint32_t parent, uint64_t where) {
	// The root is counted, too: ids are one less than the count
	uint32_t n = segment_take(&segment.header->n_nodes, segment.n_nodes_open + 1);
	uint32_t id = n > 0 ? n - 1 : 0;
	if (id != 0) {
		segment.nodes[id].parent = parent;
		atomic_store_explicit(&segment.nodes[id].where, where, memory_order_release);
	}
	return id;
}

/**
 * Put `id` (0: a new node) into the last table. Returns the node that ends up there; 0 if
 * `*is_full` (all its places are taken) or the budget is exhausted.
 */
static uint32_t insert(unsigned index, uint64_t hash, uint32_t id, uint32_t parent, uint64_t where,
		bool *is_full) {
	struct probe p = probe_of(index, hash);
	*is_full = false;
	for (unsigned i = 0; i < PROBES; i++) {
		_Atomic uint64_t *slot = &p.slots[(p.at + i) & p.mask];
		uint64_t seen = atomic_load_explicit(slot, memory_order_acquire);
		if (seen == 0) {
			id = id != 0 ? id : publish(parent, where);
			uint64_t mine = (uint64_t)id << 32 | (uint32_t)hash;
			if (id == 0) {
				return 0;
			}
			if (atomic_compare_exchange_strong(slot, &seen, mine)) {
				return id;
			}
		}
		if ((uint32_t)seen == (uint32_t)hash && node_is((uint32_t)(seen >> 32), parent, where)) {
			return (uint32_t)(seen >> 32);
		}
	}
	*is_full = true;
	return 0;
}

/** `fresh`: a node made for this stack that cannot be found yet, or 0. */
static uint32_t find_or_insert(uint32_t parent, uint64_t where, uint32_t fresh) {
	uint64_t hash = hash_of(parent, where);
	uint32_t n = atomic_load_explicit(&n_tables, memory_order_acquire);
	uint32_t id = n == 0 ? 0 : find(n - 1, hash, parent, where);
	if (id != 0) {
		return id;
	}
	for (uint32_t i = n == 0 ? 0 : n - 1; i > 0 && id == 0; i--) {
		if (parent >= atomic_load_explicit(&first_id[i], memory_order_relaxed)) {
			break; // no child is older than its parent
		}
		id = find(i - 1, hash, parent, where);
	}
	id = id != 0 ? id : fresh;
	bool is_full = n > 0;
	while (is_full) {
		uint32_t there = insert(n - 1, hash, id, parent, where, &is_full);
		if (!is_full) {
			return there;
		}
		if (!grow(n)) {
			break; // no hash table can hold it: this stack gets a new node each time
		}
		n = atomic_load_explicit(&n_tables, memory_order_acquire);
	}
	return id;
}

// ---- chains

static uint64_t tag_of(uint64_t where) {
	return where << 32; // the low half of the program counter
}

static unsigned piece_of(uint32_t id) {
	return 31u - (unsigned)__builtin_clz(id / (uint32_t)FIRST_LINKS + 1);
}

/** A node's link, or NULL if there is no memory for it. */
static _Atomic uint64_t *link_of(uint32_t id) {
	if (id >= WIRE_MAX_NODES) {
		return NULL;
	}
	const unsigned piece = piece_of(id);
	// Acquire pairs with the exchange in make_links()
	_Atomic uint64_t *first = atomic_load_explicit(&links[piece], memory_order_acquire);
	const uint32_t n_before = ((uint32_t)FIRST_LINKS << piece) - (uint32_t)FIRST_LINKS;
	return first == NULL ? NULL : &first[id - n_before];
}

static COLD void make_links(uint32_t id) {
	const unsigned piece = piece_of(id);
	const size_t bytes = WIRE_LINK_BYTES * (size_t)FIRST_LINKS << piece;
	if (id < WIRE_MAX_NODES && segment_may_call_system()) {
		(void)SYS_MAP_ONCE(&links[piece], bytes);
	}
}

/** Make a new node's link. False: no memory. */
static bool link_start(uint32_t id, uint64_t where) {
	if (link_of(id) == NULL) {
		make_links(id);
	}
	_Atomic uint64_t *link = link_of(id);
	if (link != NULL) {
		atomic_store_explicit(link, tag_of(where), memory_order_relaxed); // released with the id
	}
	return link != NULL;
}

/** Where a search along a chain ended. */
struct chain {
	uint32_t first;         // child; 0: there are none
	_Atomic uint64_t *last; // the last child's link; NULL: the chain takes no more
};

static uint32_t chain_find(struct chain *chain, uint32_t id, uint32_t parent, uint64_t where) {
	chain->last = NULL;
	for (unsigned i = 0; i < CHAIN_MAX && id != 0; i++) {
		_Atomic uint64_t *link = link_of(id);
		if (link == NULL) {
			chain->last = NULL;
			return 0;
		}
		uint64_t seen = atomic_load_explicit(link, memory_order_acquire);
		if (((seen ^ tag_of(where)) >> 32) == 0 && node_is(id, parent, where)) {
			return id;
		}
		id = (uint32_t)seen;
		chain->last = i + 1 < CHAIN_MAX ? link : NULL;
	}
	return 0;
}

/** Append `id` to the chain. False: another thread was faster. */
static bool chain_add(const struct chain *chain, uint32_t parent, uint32_t id) {
	if (chain->first == 0) {
		uint32_t none = 0;
		return atomic_compare_exchange_strong(&segment.nodes[parent].first_child, &none, id);
	}
	uint64_t seen = atomic_load_explicit(chain->last, memory_order_relaxed);
	return (uint32_t)seen == 0 && atomic_compare_exchange_strong(chain->last, &seen, seen | id);
}

uint32_t trie_child(uint32_t parent, uint64_t where) {
	for (uint32_t fresh = 0;;) {
		struct chain chain = {.first = atomic_load_explicit(&segment.nodes[parent].first_child,
									  memory_order_acquire)};
		uint32_t id = chain_find(&chain, chain.first, parent, where);
		if (id != 0) {
			return id;
		}
		if (chain.first != 0 && chain.last == NULL) {
			return find_or_insert(parent, where, fresh);
		}
		if (fresh == 0) {
			fresh = publish(parent, where);
			if (fresh == 0 || !link_start(fresh, where)) {
				return find_or_insert(parent, where, fresh);
			}
		}
		if (chain_add(&chain, parent, fresh)) {
			return fresh;
		}
	}
}
