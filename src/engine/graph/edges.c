// SPDX-License-Identifier: MIT
/*
 * Reads memory into edges, in parts of about the same size, each by a thread.
 *
 * A part has a window over memory. Sources come by rising address, so most need no read of theirs.
 */
#include "engine/costs/stacks.h"
#include "engine/graph/parts.h"

enum { WINDOW_BYTES = 1 << 18 };
enum { PAGE_SHIFT = 12, LEAF_SHIFT = 26, PAGES = 1 << (LEAF_SHIFT - PAGE_SHIFT) };
enum { PAGE_BYTES = 1 << PAGE_SHIFT };

// ---- which block

static uint32_t *leaf_of(const struct marking *m, uint64_t address) {
	return m->leaves[(address >> LEAF_SHIFT) - (m->low >> LEAF_SHIFT)];
}

/** Leaves that blocks reach into: for each page, and the one behind the last, the first block. */
static bool fill_leaves(struct marking *m) {
	const struct live_block *b = m->blocks.items;
	uint64_t next = 0; // the first leaf that is not filled
	for (size_t i = 0; i < m->blocks.n; i++) {
		const uint64_t last = (b[i].start + b[i].bytes) >> LEAF_SHIFT;
		size_t first = i;
		for (RAISE_TO(next, b[i].start >> LEAF_SHIFT); next <= last; next++) {
			uint32_t *leaf = malloc((PAGES + 1) * sizeof *leaf);
			m->leaves[next - (m->low >> LEAF_SHIFT)] = leaf;
			for (uint64_t page = 0; leaf && page <= PAGES; page++) {
				const uint64_t at = (next << LEAF_SHIFT) + (page << PAGE_SHIFT);
				while (first < m->blocks.n && b[first].start < at) {
					first++;
				}
				leaf[page] = (uint32_t)first;
			}
			if (!leaf) {
				return false;
			}
		}
	}
	return true;
}

static bool index_blocks(struct marking *m) {
	const struct live_block *b = m->blocks.items;
	const size_t n = m->blocks.n;
	m->low = n ? b[0].start : UINT64_MAX; // which no word in a leaf is
	m->high = n ? b[n - 1].start + b[n - 1].bytes : UINT64_MAX;
	m->leaves = calloc((m->high >> LEAF_SHIFT) - (m->low >> LEAF_SHIFT) + 1, sizeof *m->leaves);
	m->in_page = malloc((n + 1) * sizeof *m->in_page);
	for (size_t i = 0; m->in_page && i < n; i++) {
		m->in_page[i] = b[i].start % PAGE_BYTES;
	}
	return m->leaves && m->in_page && fill_leaves(m);
}

/** Blocks that begin on the word's page: its first and the one behind its last. */
static inline void find_page(const struct marking *m, uint64_t word, uint32_t page[static 2]) {
	memcpy(page, leaf_of(m, word) + (word >> PAGE_SHIFT) % PAGES, 2 * sizeof *page);
}

/** The last block of a page that begins at the word or before; that before all of them, if none. */
static inline uint32_t find_last(const struct marking *m, uint64_t word, const uint32_t page[2]) {
	const uint16_t *in_page = m->in_page + page[0], at = word % PAGE_BYTES;
	uint32_t low = 0;
	for (uint32_t n = page[1] - page[0]; n > 0;) {
		const uint32_t half = (n + 1) / 2;
		low += half & -(uint32_t)(in_page[low + half - 1] <= at); // no jump: it would be guessed
		n -= half;
	}
	return page[0] + low - 1;
}

/** One past a block's end is of it, too. */
static inline bool is_within(const struct marking *m, uint64_t word, uint32_t block) {
	return block != NO_BLOCK && word - m->blocks.items[block].start <= m->blocks.items[block].bytes;
}

uint32_t edges_block_of(const struct marking *m, uint64_t word) {
	uint32_t page[2];
	if (LIKELY(!edges_may_be_block(m, word)) || !leaf_of(m, word)) {
		return NO_BLOCK;
	}
	find_page(m, word, page);
	const uint32_t block = find_last(m, word, page);
	return is_within(m, word, block) ? block : NO_BLOCK;
}

/**
 * In the C library's variables are the lists of free chunks, whose heads reach into the block
 * before them: a chunk's first word is the last one of that block.
 */
static bool is_free_chunk(const struct live_block *b, uint64_t word) {
	return word % (2 * WORD) == 0 && word > b->start && word + WORD >= b->start + b->bytes;
}

/** The source itself, or in a list of free memory. */
static bool is_none(const struct marking *m, const struct source *s, uint64_t word,
		uint32_t block) {
	return block == (size_t)(s - m->sources.items) - m->n_roots ||
			(s->is_libcs && is_free_chunk(&m->blocks.items[block], word));
}

uint32_t edges_target(const struct marking *m, const struct source *s, uint64_t word) {
	const uint32_t block = edges_block_of(m, word);
	return block == NO_BLOCK || is_none(m, s, word, block) ? NO_BLOCK : block;
}

// ---- memory

/** What is not resident was never written: zeros. */
static bool fetch(const struct marking *m, uint64_t at, uint8_t *out, size_t bytes) {
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

/** Memory from `at` on. NULL: it cannot be read. */
static const uint8_t *view(const struct marking *m, struct part *p, uint64_t at, size_t bytes) {
	if (at < p->window_at || at + bytes > p->window_at + WINDOW_BYTES || p->window_at == 0) {
		p->window_at = at;
		if (!fetch(m, at, p->window, WINDOW_BYTES)) {
			return NULL;
		}
	}
	return p->window + (at - p->window_at);
}

bool edges_read_source(struct marking *m, struct part *p, const struct source *s, bool is_any,
		take_piece *take) {
	enum { STEP = WINDOW_BYTES - WORD };
	const size_t most = STEP + (is_any ? WORD - 1 : 0);
	uint64_t at = is_any ? s->start : (s->start + WORD - 1) & -(uint64_t)WORD;
	for (; at < s->end && s->end - at >= WORD; at += STEP) {
		const size_t bytes = s->end - at < most ? s->end - at : most;
		const uint8_t *memory = view(m, p, at, bytes);
		if (!memory) {
			p->is_unread = true;
			return false;
		}
		take(m, p, s, at, memory, bytes);
	}
	return true;
}

/**
 * Pointers to anywhere miss all caches, so many are looked up at a time: the page of each is
 * fetched, then its blocks, then what is known of the last of them, each time while those of the
 * others arrive. Nothing need be known of a block that a word is the address of.
 */
static void take_waiting(struct marking *m, struct part *p) {
	uint32_t page[WAITING][2], block[WAITING];
	bool is_start[WAITING];
	for (uint32_t i = 0; i < p->n_waiting; i++) {
		find_page(m, p->waiting[i].word, page[i]);
		__builtin_prefetch(&m->in_page[page[i][0]]);
		__builtin_prefetch(&m->in_page[page[i][1]]);
	}
	for (uint32_t i = 0; i < p->n_waiting; i++) {
		const uint64_t word = p->waiting[i].word;
		block[i] = find_last(m, word, page[i]);
		is_start[i] = block[i] + 1 > page[i][0] && m->in_page[block[i]] == word % PAGE_BYTES;
		if (!is_start[i]) {
			__builtin_prefetch(&m->blocks.items[block[i]]);
		}
	}
	for (uint32_t i = 0; i < p->n_waiting; i++) {
		const struct waiting *w = &p->waiting[i];
		const struct source *s = &m->sources.items[w->source];
		if ((is_start[i] || is_within(m, w->word, block[i])) && !is_none(m, s, w->word, block[i])) {
			const uint64_t inside = is_start[i] ? 0 : w->word - m->blocks.items[block[i]].start;
			const struct edge e = {.block = block[i],
					.inside = inside < UINT16_MAX ? (uint16_t)inside : UINT16_MAX,
					.word = w->of_source & 127};
			p->ok &= vec_add(&p->edges, e);
			m->first[w->source]++;
		}
	}
	p->n_waiting = 0;
}

static void take_edges(struct marking *m, struct part *p, const struct source *s, uint64_t at,
		const uint8_t *memory, size_t bytes) {
	const uint64_t *words = (const uint64_t *)(const void *)memory;
	const bool is_small = s->end - s->start <= WORDS_APART * WORD;
	const size_t first = (at - s->start) / WORD, source = (size_t)(s - m->sources.items);
	for (size_t i = 0; i < bytes / WORD; i++) {
		const uint32_t *leaf = edges_may_be_block(m, words[i]) ? leaf_of(m, words[i]) : NULL;
		if (leaf) {
			__builtin_prefetch(leaf + (words[i] >> PAGE_SHIFT) % PAGES);
			p->waiting[p->n_waiting++] = (struct waiting){words[i], (uint32_t)source,
					(uint32_t)(is_small ? first + i : WORDS_APART)};
			if (p->n_waiting == WAITING) {
				take_waiting(m, p);
			}
		}
	}
}

static void read_part(void *user, unsigned number) {
	struct marking *m = user;
	struct part *p = &m->parts[number];
	p->window = malloc(WINDOW_BYTES);
	p->waiting = malloc(WAITING * sizeof *p->waiting);
	p->ok = p->window && p->waiting;
	for (size_t i = p->begin; p->ok && i < p->end; i++) {
		p->ok = edges_read_source(m, p, &m->sources.items[i], false, take_edges) && p->ok;
	}
	take_waiting(m, p);
	size_t sum = 0;
	for (size_t i = p->begin; i < p->end; i++) { // from how many to where they begin
		const size_t n = m->first[i];
		m->first[i] = sum;
		sum += n;
	}
	free(p->waiting);
}

/** Parts of about the same size. */
static void divide(struct marking *m) {
	enum { LEAST = 4 << 20 };
	const struct source *s = m->sources.items;
	const uint64_t all = SUM(i, m->sources.n, s[i].end - s[i].start);
	uint64_t sum = 0;
	m->n_parts = parallel_parts(all, LEAST);
	size_t at = 0;
	for (unsigned k = 0; k < m->n_parts; k++) {
		const uint64_t until = parallel_begin(all, m->n_parts, k + 1);
		m->parts[k].begin = at;
		while (at < m->sources.n && (sum < until || k + 1 == m->n_parts)) {
			sum += s[at].end - s[at].start;
			at++;
		}
		m->parts[k].end = at;
	}
}

/** Leaves out what the allocator does not know, and adds what it knows alone (graph_input.heap). */
static bool ask_allocator(struct marking *m) {
	const struct extent *heap = m->in->heap;
	const size_t n = m->in->n_heap;
	vec_keep(&m->blocks, 0, b,
			b->stack != STACK_NONE || n == 0 ||
					sorted_first_of(heap, n, sizeof *heap, b->start + 1) >
							sorted_first_of(heap, n, sizeof *heap, b->start));
	const size_t n_known = m->blocks.n;
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++) {
		const struct live_block *all = m->blocks.items;
		const struct live_block fresh = {heap[i].address, heap[i].bytes, STACK_NONE};
		size_t behind = sorted_first_of(all, n_known, sizeof *all, fresh.start + fresh.bytes);
		bool is_known = behind > 0 && all[behind - 1].start + all[behind - 1].bytes >= fresh.start;
		ok = is_known || (vec_add(&m->blocks, fresh) && vec_add(&m->doubtful, fresh.start));
	}
	if (m->doubtful.n > 0) {
		vec_sort(&m->blocks, by_number);
	}
	return ok;
}

static bool find_sources(struct marking *m) {
	bool ok = live_blocks_list(m->in->parts->blocks, &m->blocks) && ask_allocator(m) &&
			index_blocks(m) && roots_find(m->in, &m->blocks, &m->sources);
	m->n_roots = m->sources.n;
	ok = ok && vec_reserve(&m->sources, m->blocks.n);
	for (size_t i = 0; ok && i < m->blocks.n; i++) {
		const struct live_block *b = &m->blocks.items[i];
		m->sources.items[m->sources.n++] = (struct source){b->start, b->start + b->bytes, {0}, 0};
	}
	return ok;
}

bool edges_read(struct marking *m) {
	if (!find_sources(m) || !(m->first = calloc(m->sources.n + 1, sizeof *m->first))) {
		return false;
	}
	divide(m);
	parallel_run(m->n_parts, read_part, m);
	return ALL(k, m->n_parts, m->parts[k].ok);
}

void edges_finish(struct marking *m) {
	for (uint64_t i = m->low >> LEAF_SHIFT; m->leaves && i <= m->high >> LEAF_SHIFT; i++) {
		free(m->leaves[i - (m->low >> LEAF_SHIFT)]);
	}
	for (unsigned k = 0; k < PARALLEL_MOST; k++) {
		vec_finish(&m->parts[k].edges);
		free(m->parts[k].window);
	}
	free(m->leaves);
	free(m->in_page);
	free(m->first);
	CALL_FOR(vec_finish, m, blocks, doubtful, sources);
}
