// SPDX-License-Identifier: MIT
/*
 * Reads memory into edges, in parts of about the same size, each by a thread.
 *
 * A part has a window over memory. Sources come by rising address, so most need no read of theirs.
 */
#include "engine/graph/parts.h"

enum { WINDOW_BYTES = 1 << 20 };
enum { PAGE_SHIFT = 12, LEAF_SHIFT = 30, PAGE_BITS = LEAF_SHIFT - PAGE_SHIFT };

// ---- which block

static bool index_blocks(struct marking *m) {
	const struct live_block *b = m->blocks.items;
	const size_t n = m->blocks.n;
	m->low = n ? b[0].start : UINT64_MAX; // which no word in a leaf is
	m->high = n ? b[n - 1].start + b[n - 1].bytes : UINT64_MAX;
	m->leaves = calloc((m->high >> LEAF_SHIFT) - (m->low >> LEAF_SHIFT) + 1, sizeof *m->leaves);
	for (size_t i = 0; m->leaves && i < n; i++) {
		for (uint64_t page = b[i].start >> PAGE_SHIFT;
				page <= (b[i].start + b[i].bytes) >> PAGE_SHIFT; page++) {
			uint32_t **leaf = &m->leaves[(page >> PAGE_BITS) - (m->low >> LEAF_SHIFT)];
			*leaf = *leaf ? *leaf : calloc((size_t)1 << PAGE_BITS, sizeof **leaf);
			if (!*leaf) {
				return false;
			}
			uint32_t *place = &(*leaf)[page & ((1u << PAGE_BITS) - 1)];
			*place = *place ? *place : (uint32_t)i + 1;
		}
	}
	return m->leaves != NULL;
}

uint32_t edges_block_of(const struct marking *m, uint64_t word) {
	if (LIKELY(!edges_may_be_block(m, word))) {
		return NO_BLOCK;
	}
	const uint32_t *leaf = m->leaves[(word >> LEAF_SHIFT) - (m->low >> LEAF_SHIFT)];
	const uint32_t page = (uint32_t)(word >> PAGE_SHIFT) & ((1u << PAGE_BITS) - 1);
	if (!leaf || leaf[page] == 0) {
		return NO_BLOCK;
	}
	const struct live_block *b = m->blocks.items;
	const uint32_t next = page + 1 < 1u << PAGE_BITS ? leaf[page + 1] : 0;
	size_t low = leaf[page] - 1, high = next > 0 ? next : m->blocks.n;
	while (low < high) { // the first behind the word
		size_t middle = low + (high - low) / 2;
		bool is_behind = b[middle].start > word;
		high = is_behind ? middle : high;
		low = is_behind ? low : middle + 1;
	}
	return low >= leaf[page] && word <= b[low - 1].start + b[low - 1].bytes ? (uint32_t)low - 1
																			: NO_BLOCK;
}

/**
 * In the C library's variables are the lists of free chunks, whose heads reach into the block
 * before them: a chunk's first word is the last one of that block.
 */
static bool is_free_chunk(const struct live_block *b, uint64_t word) {
	return word % (2 * WORD) == 0 && word > b->start && word + WORD >= b->start + b->bytes;
}

uint32_t edges_target(const struct marking *m, const struct source *s, uint64_t word) {
	const uint32_t block = edges_block_of(m, word);
	const size_t own = (size_t)(s - m->sources.items) - m->n_roots;
	bool is_none = block == NO_BLOCK || block == own ||
			(s->is_libcs && is_free_chunk(&m->blocks.items[block], word));
	return is_none ? NO_BLOCK : block;
}

// ---- memory

/** What is not resident was never written: zeros. */
static bool fetch(const struct marking *m, uint64_t at, uint8_t *out, size_t bytes) {
	const struct pagemap *pages = m->in->parts->pages;
	size_t i = sorted_first_of(pages->items, pages->n, sizeof *pages->items, at + 1);
	memset(out, 0, bytes);
	for (i -= i > 0; i < pages->n && pages->items[i].start < at + bytes; i++) {
		uint64_t from = pages->items[i].start, to = pages->items[i].end;
		RAISE_TO(from, at);
		LOWER_TO(to, at + bytes);
		if (from < to && !m->in->read(m->in->user, from, out + (from - at), to - from)) {
			return false;
		}
	}
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

static void take_edges(struct marking *m, struct part *p, const struct source *s, uint64_t at,
		const uint8_t *memory, size_t bytes) {
	const uint64_t *words = (const uint64_t *)(const void *)memory;
	const bool is_small = s->end - s->start <= WORDS_APART * WORD;
	const size_t first = (at - s->start) / WORD;
	for (size_t i = 0; i < bytes / WORD; i++) {
		const uint32_t block = edges_target(m, s, words[i]);
		if (block != NO_BLOCK) {
			const uint64_t inside = words[i] - m->blocks.items[block].start;
			const struct edge e = {.block = block,
					.inside = inside < UINT16_MAX ? (uint16_t)inside : UINT16_MAX,
					.word = (is_small ? first + i : WORDS_APART) & 127};
			p->ok &= vec_add(&p->edges, e);
		}
	}
}

static void read_part(void *user, unsigned number) {
	struct marking *m = user;
	struct part *p = &m->parts[number];
	p->window = malloc(WINDOW_BYTES);
	p->ok = p->window != NULL;
	for (size_t i = p->begin; p->ok && i < p->end; i++) {
		m->first[i] = p->edges.n;
		p->ok = edges_read_source(m, p, &m->sources.items[i], false, take_edges) && p->ok;
	}
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

static bool find_sources(struct marking *m) {
	bool ok = live_blocks_list(m->in->parts->blocks, &m->blocks) && index_blocks(m) &&
			roots_find(m->in, &m->blocks, &m->sources);
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
	free(m->first);
	CALL_FOR(vec_finish, m, blocks, sources);
}
