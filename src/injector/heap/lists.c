// SPDX-License-Identifier: MIT
/*
 * Free chunks whose headers say that they are in use.
 *
 * Those are the chunks of an arena's fast bins, and those that threads keep to themselves (tcache).
 * A thread's lists lie in a block of their own, which its size tells, in the heap of its arena.
 * Since 2.32 a link is stored xored with the address of its place.
 */
#include "injector/heap/walker.h"

enum {
	CACHE_BINS = 64,
	CACHE_CHUNK = 0x290, // of struct tcache_perthread_struct since 2.30
	OLD_CACHE_CHUNK = 0x250,
	LIST_MAX = 1 << 20,
};

/** The block that begins there, or NULL. */
static struct heap_block *find(const struct heap_walker *w, uint64_t address) {
	size_t n = w->out->blocks.n;
	struct heap_block *items = w->out->blocks.items;
	size_t i = sorted_first_of(items, n, sizeof *items, address);
	return i < n && items[i].address == address ? &items[i] : NULL;
}

/** A list of free chunks, of one size. */
struct list {
	uint64_t first;       // where its first link lies
	uint64_t bytes;       // of each block
	unsigned link_offset; // a link leads to a chunk's beginning, or to its block
	unsigned n;           // how many there are, give or take one in a change; 0: unknown
};

/** False: it is not a list of free chunks. `takes`: mark its blocks, by an odd size. */
static bool follow(struct heap_walker *w, const struct list *l, bool is_hidden, bool takes) {
	unsigned n = 0;
	for (uint64_t link = l->first; link != 0; n++) {
		uint64_t block = link + l->link_offset;
		struct heap_block *found = find(w, block);
		if (!found || (found->bytes & ~1ull) != l->bytes || n >= LIST_MAX ||
				!heap_read(w, block, &link, sizeof link)) {
			return false;
		}
		found->bytes |= takes;
		link = is_hidden ? link ^ block >> 12 : link;
	}
	return l->n == 0 || (n + 1 >= l->n && n <= l->n + 1);
}

static bool take_list(struct heap_walker *w, const struct list *l) {
	bool is_hidden = follow(w, l, true, false);
	return (is_hidden || follow(w, l, false, false)) && follow(w, l, is_hidden, true);
}

static void take_fast_bins(struct heap_walker *w, const struct heap_arena *a) {
	for (unsigned i = 0; i < N_FASTBINS; i++) {
		struct list list = {a->image.fastbins[i], CHUNK_MIN + 16ull * i - 8, CHUNK_HEAD, 0};
		if (!take_list(w, &list)) {
			w->out->n_unsure++;
		}
	}
}

/** Take the lists of a thread's block: each is empty, or as long as its count says. */
static bool take_cache(struct heap_walker *w, uint64_t block, bool has_wide_counts) {
	struct {
		uint16_t counts[CACHE_BINS];
		uint64_t lists[CACHE_BINS];
	} cache;
	uint8_t counts[CACHE_BINS];
	unsigned n_odd = 0; // one list may be in the middle of a change
	bool ok = has_wide_counts ? heap_read(w, block, &cache, sizeof cache)
							  : heap_read(w, block, counts, sizeof counts) &&
					heap_read(w, block + sizeof counts, cache.lists, sizeof cache.lists);
	for (unsigned i = 0; ok && i < CACHE_BINS; i++) {
		cache.counts[i] = has_wide_counts ? cache.counts[i] : counts[i];
		n_odd += (cache.counts[i] == 0) != (cache.lists[i] == 0);
		ok = n_odd <= 1 && cache.lists[i] % 16 == 0;
	}
	bool has_any = false;
	for (unsigned i = 0; ok && i < CACHE_BINS; i++) {
		if (cache.counts[i] > 0) {
			struct list list = {cache.lists[i], CHUNK_MIN + 16ull * i - 8, 0, cache.counts[i]};
			has_any |= take_list(w, &list);
		}
	}
	return has_any;
}

void heap_take_out_free(struct heap_walker *w) {
	for (size_t i = 0; i < w->arenas.n; i++) {
		take_fast_bins(w, &w->arenas.items[i]);
	}
	EACH(b, w->out->blocks) {
		bool is_wide = b->bytes == CACHE_CHUNK - 8;
		if ((is_wide || b->bytes == OLD_CACHE_CHUNK - 8) && take_cache(w, b->address, is_wide)) {
			b->bytes |= 1; // malloc's own
		}
	}
	vec_keep(&w->out->blocks, 0, b, !(b->bytes & 1));
}
