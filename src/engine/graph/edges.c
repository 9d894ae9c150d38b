// SPDX-License-Identifier: MIT
/*
 * Reads memory into edges, in parts of about the same size, one per thread. A part has a window
 * over memory. Sources come by rising address, so most need no read of their own.
 */
#include "engine/costs/stacks.h"
#include "engine/graph/parts.h"
#include "sys/pages.h"

enum { WINDOW_BYTES = 1 << 18 };
enum { GRAIN_SHIFT = 4, GRAINS = 64, CHUNK_SHIFT = GRAIN_SHIFT + 6 };
enum { LEAF_SHIFT = 22, CHUNKS = 1 << (LEAF_SHIFT - CHUNK_SHIFT) };

/** 1 KiB of addresses. */
struct chunk {
	uint64_t starts;     // a bit for each 16 bytes: a block begins there
	uint32_t first : 31; // the first block that begins here or later
	uint32_t is_odd : 1; // one begins off a multiple of 16
} __attribute__((packed, aligned(4)));

// ---- which block

static inline const struct chunk *leaf_of(const struct marking *m, uint64_t address) {
	return m->leaves[(address >> LEAF_SHIFT) - (m->low >> LEAF_SHIFT)];
}

static size_t leaves_bytes(const struct marking *m) {
	return ((m->high >> LEAF_SHIFT) - (m->low >> LEAF_SHIFT) + 1) * sizeof *m->leaves;
}

/** Fill the leaf at `at`. `block` begins there or later; returns the first that begins after it. */
static uint32_t fill_leaf(const struct marking *m, struct chunk *leaf, uint64_t at,
		uint32_t block) {
	for (uint64_t i = 0; i < CHUNKS; i++) {
		struct chunk c = {.first = block & INT32_MAX};
		at += 1 << CHUNK_SHIFT;
		for (; block < m->blocks.n && m->blocks.items[block].start < at; block++) {
			const uint64_t start = m->blocks.items[block].start;
			c.starts |= 1ull << (start >> GRAIN_SHIFT) % GRAINS;
			c.is_odd |= start % (1 << GRAIN_SHIFT) != 0;
		}
		leaf[i] = c;
	}
	return block;
}

/** Make leaves for all addresses that blocks cover. */
ATTR_COLD static void index_blocks(struct marking *m) {
	const struct live_block *b = m->blocks.items;
	const size_t n = m->blocks.n;
	uint64_t next = 0;                    // the first leaf that is not filled
	m->low = n ? b[0].start : UINT64_MAX; // no word matches
	m->high = n ? b[n - 1].start + b[n - 1].bytes : UINT64_MAX;
	m->leaves = n < INT32_MAX ? pages_take(leaves_bytes(m)) : memory_lacks();
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t last = (b[i].start + b[i].bytes) >> LEAF_SHIFT;
		uint32_t block = i; // the first that begins in the leaf or later
		for (RAISE_TO(next, b[i].start >> LEAF_SHIFT); next <= last; next++) {
			struct chunk *leaf = arena_new_unset(&m->chunks, struct chunk, CHUNKS);
			m->leaves[next - (m->low >> LEAF_SHIFT)] = leaf;
			block += block == i && b[i].start < next << LEAF_SHIFT; // reaches into it
			block = fill_leaf(m, leaf, next << LEAF_SHIFT, block);
		}
	}
}

/** The compiler's is a function call, because not all processors have the instruction. */
static inline uint32_t n_bits(uint64_t bits) {
	bits -= bits >> 1 & 0x5555555555555555;
	bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
	return (uint32_t)(((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);
}

/** The last block that begins at or before the word, or NO_BLOCK. */
static inline uint32_t find_last(const struct marking *m, uint64_t word, bool *is_start) {
	const struct chunk c = leaf_of(m, word)[(word >> CHUNK_SHIFT) % CHUNKS];
	const unsigned grain = (word >> GRAIN_SHIFT) % GRAINS;
	uint32_t behind = c.first + n_bits(c.starts & UINT64_MAX >> (GRAINS - 1 - grain));
	if (UNLIKELY(c.is_odd)) {
		for (behind = c.first; behind < m->blocks.n && m->blocks.items[behind].start <= word;) {
			behind++;
		}
	}
	const bool is_even = word % (1 << GRAIN_SHIFT) == 0 && !c.is_odd;
	*is_start = is_even && (c.starts >> grain & 1) != 0; // else it is not known
	return behind - 1;
}

/** One past a block's end counts as the block's. */
static inline bool is_within(const struct marking *m, uint64_t word, uint32_t block) {
	return block != NO_BLOCK && word - m->blocks.items[block].start <= m->blocks.items[block].bytes;
}

uint32_t edges_block_of(const struct marking *m, uint64_t word) {
	bool is_start;
	if (LIKELY(!edges_may_be_block(m, word)) || !leaf_of(m, word)) {
		return NO_BLOCK;
	}
	const uint32_t block = find_last(m, word, &is_start);
	return is_within(m, word, block) ? block : NO_BLOCK;
}

/**
 * The C library's variables include the lists of free chunks, whose heads overlap the block before
 * them: a chunk's first word is that block's last.
 */
static bool is_free_chunk(const struct live_block *b, uint64_t word) {
	return word % (2 * WORD) == 0 && word > b->start && word + WORD >= b->start + b->bytes;
}

/** Is it the source itself, or in a list of free memory? */
static inline bool is_none(const struct marking *m, const struct source *s, uint64_t word,
		uint32_t block) {
	return block == s->block || (s->is_libcs && is_free_chunk(&m->blocks.items[block], word));
}

uint32_t edges_target(const struct marking *m, const struct source *s, uint64_t word) {
	const uint32_t block = edges_block_of(m, word);
	return block == NO_BLOCK || is_none(m, s, word, block) ? NO_BLOCK : block;
}

// ---- memory

/** Pages that are not resident were never written: zeros. */
ATTR_COLD static bool fetch(const struct marking *m, uint64_t at, uint8_t *out, size_t bytes) {
	const struct pagemap *pages = m->in->parts->pages;
	const uint64_t end = at + bytes;
	size_t i = sorted_first_of(pages->items, pages->n, sizeof *pages->items, at + 1);
	for (i -= i > 0; i < pages->n && pages->items[i].start < end; i++) {
		uint64_t from = pages->items[i].start, to = pages->items[i].end;
		RAISE_TO(from, at);
		LOWER_TO(to, end);
		if (from < to) {
			memset(out, 0, from - at);
			if (!m->in->read(m->in->user, from, out + (from - at), to - from)) {
				return false;
			}
			out += to - at;
			at = to;
		}
	}
	memset(out, 0, end - at);
	return true;
}

/** Memory at `at`; NULL: it cannot be read. */
static const uint8_t *view(const struct marking *m, struct part *p, uint64_t at, size_t bytes) {
	if (at < p->window_at || at + bytes > p->window_at + WINDOW_BYTES || p->window_at == 0) {
		p->window_at = at;
		if (!fetch(m, at, p->window, WINDOW_BYTES)) {
			return NULL;
		}
	}
	return p->window + (at - p->window_at);
}

void edges_read_source(struct marking *m, struct part *p, const struct source *s, bool is_any,
		take_piece *take) {
	enum { STEP = WINDOW_BYTES - WORD };
	const size_t most = STEP + (is_any ? WORD - 1 : 0);
	uint64_t at = is_any ? s->start : (s->start + WORD - 1) & -(uint64_t)WORD;
	for (; at < s->end && s->end - at >= WORD; at += STEP) {
		const size_t bytes = s->end - at < most ? s->end - at : most;
		const uint8_t *memory = view(m, p, at, bytes);
		if (!memory) {
			p->is_unread = true;
			return;
		}
		take(m, p, s, at, memory, bytes);
	}
}

/**
 * Random pointers miss all caches, so many are looked up together: first the chunk of each is
 * prefetched, then what is known of the last block that begins there, while the others' arrive. Of
 * a block whose address the word is, nothing else is needed.
 */
static void take_waiting(struct marking *m, struct part *p) {
	uint32_t block[WAITING];
	bool is_start[WAITING];
	for (uint32_t i = 0; i < p->n_waiting; i++) {
		block[i] = find_last(m, p->waiting[i].word, &is_start[i]);
		if (!is_start[i]) {
			__builtin_prefetch(&m->blocks.items[block[i]]);
		}
	}
	for (uint32_t i = 0; i < p->n_waiting; i++) {
		const struct waiting *w = &p->waiting[i];
		const struct source s = source_of(m, w->source);
		if ((is_start[i] || is_within(m, w->word, block[i])) &&
				!is_none(m, &s, w->word, block[i])) {
			const uint64_t inside = is_start[i] ? 0 : w->word - m->blocks.items[block[i]].start;
			p->edges[p->n_edges++] = (struct edge){.block = block[i],
					.inside = inside < UINT16_MAX ? (uint16_t)inside : UINT16_MAX,
					.word = w->of_source & 127};
			m->first[w->source]++;
		}
	}
	p->n_waiting = 0;
}

static void take_edges(struct marking *m, struct part *p, const struct source *s, uint64_t at,
		const uint8_t *memory, size_t bytes) {
	const uint64_t *words = (const uint64_t *)(const void *)memory;
	const bool is_small = s->end - s->start <= WORDS_APART * WORD;
	const size_t first = (at - s->start) / WORD;
	const uint64_t low = m->low, span = m->high - m->low;
	struct waiting *const waiting = p->waiting;
	uint32_t n = p->n_waiting;
	for (size_t i = 0; i < bytes / WORD; i++) {
		const struct chunk *leaf = words[i] - low <= span ? leaf_of(m, words[i]) : NULL;
		if (leaf) {
			__builtin_prefetch(leaf + (words[i] >> CHUNK_SHIFT) % CHUNKS);
			waiting[n++] = (struct waiting){words[i], p->source,
					(uint32_t)(is_small ? first + i : WORDS_APART)};
		}
		if (n == WAITING) {
			p->n_waiting = n;
			take_waiting(m, p);
			n = 0;
		}
	}
	p->n_waiting = n;
}

ATTR_COLD static void read_part(void *user, unsigned number) {
	struct marking *m = user;
	struct part *p = &m->parts[number];
	p->window = memory_new(WINDOW_BYTES, 1);
	p->waiting = memory_new(WAITING, sizeof *p->waiting);
	p->edges = pages_take(p->edges_bytes);
	large_pages_prefer(p->edges, p->edges_bytes);
	for (size_t i = p->begin; !p->is_unread && i < p->end; i++) {
		const struct source s = source_of(m, i);
		p->source = (uint32_t)i;
		edges_read_source(m, p, &s, false, take_edges);
	}
	take_waiting(m, p);
	size_t sum = 0;
	for (size_t i = p->begin; i < p->end; i++) { // from counts to starts
		const size_t n = m->first[i];
		m->first[i] = sum;
		sum += n;
	}
	free(p->waiting);
}

static uint64_t bytes_of(const struct marking *m, size_t source) {
	const struct source s = source_of(m, source);
	return s.end - s.start;
}

ATTR_COLD static void divide(struct marking *m) {
	enum { LEAST = 4 << 20 };
	const size_t n = n_sources(m);
	const uint64_t all = SUM(i, n, bytes_of(m, i));
	uint64_t sum = 0;
	m->n_parts = parallel_parts(all, LEAST);
	size_t at = 0;
	for (unsigned k = 0; k < m->n_parts; k++) {
		const uint64_t until = parallel_begin(all, m->n_parts, k + 1), before = sum;
		m->parts[k].begin = at;
		while (at < n && (sum < until || k + 1 == m->n_parts)) {
			sum += bytes_of(m, at++);
		}
		m->parts[k].end = at;
		m->parts[k].edges_bytes = (sum - before) / WORD * sizeof(struct edge) + WORD;
	}
}

/** Drop what the allocator does not know, and add what only it knows (graph_input.heap). */
ATTR_COLD static void ask_allocator(struct marking *m) {
	const struct extent *heap = m->in->heap;
	const size_t n = m->in->n_heap;
	vec_keep(&m->blocks, 0, b,
			b->stack != STACK_NONE || n == 0 ||
					sorted_first_of(heap, n, sizeof *heap, b->start + 1) >
							sorted_first_of(heap, n, sizeof *heap, b->start));
	const size_t n_known = m->blocks.n;
	for (size_t i = 0; i < n; i++) {
		const struct live_block *all = m->blocks.items;
		const struct live_block fresh = {heap[i].address, heap[i].bytes, STACK_NONE};
		size_t behind = sorted_first_of(all, n_known, sizeof *all, fresh.start + fresh.bytes);
		bool is_known = behind > 0 && all[behind - 1].start + all[behind - 1].bytes >= fresh.start;
		if (!is_known) {
			(void)vec_add(&m->blocks, fresh);
			(void)vec_add(&m->doubtful, fresh.start);
		}
	}
	if (m->doubtful.n > 0) {
		vec_sort(&m->blocks, by_number);
	}
}

ATTR_COLD bool edges_read(struct marking *m) {
	live_blocks_list(m->in->parts->blocks, &m->blocks);
	ask_allocator(m);
	index_blocks(m);
	roots_find(m->in, &m->blocks, &m->roots);
	m->first = memory_new(n_sources(m) + 1, sizeof *m->first);
	divide(m);
	return run_parts(m, read_part);
}

ATTR_COLD void edges_finish(struct marking *m) {
	for (unsigned k = 0; k < PARALLEL_MOST; k++) {
		pages_give(m->parts[k].edges, m->parts[k].edges_bytes);
		free(m->parts[k].window);
	}
	pages_give(m->leaves, leaves_bytes(m));
	arena_finish(&m->chunks);
	free(m->first);
	CALL_FOR(vec_finish, m, blocks, doubtful, roots);
}
