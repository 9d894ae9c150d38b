// SPDX-License-Identifier: MIT
/*
 * Marks what is held, in passes that each believe more words than the one before.
 *
 *   memory ──► edges: which source points to which block, and how far inside
 *
 *   1. pointers to the start of a block, from the roots on                      held
 *   2. pointers to the inside                                                   held inside
 *   3. words at every byte, and with bits masked; what the kernel keeps         in disguise
 *   4. of the rest, what no other of the rest leads to           unreachable; a cycle
 *      and what these lead to                                                   owned
 *
 * Memory is read once, and again for pass 3 if anything is left; only edges are kept. Sources are
 * the roots, followed by the blocks.
 */
#include "engine/costs/stacks.h"
#include "engine/graph/parts.h"

enum { NOT_YET = REC_UNREACHABLE }; // the grade of unmarked blocks

// ---- marks

static void mark(struct marking *m, uint32_t block, uint8_t grade) {
	if (block != NO_BLOCK && m->grades[block] == NOT_YET) {
		m->grades[block] = grade;
		m->queue[m->n_queued++] = block;
	}
}

static void mark_edges(struct marking *m, size_t source, uint8_t grade) {
	EACH_EDGE(e, m, source) {
		if (e->inside == 0 || grade != REC_HELD) {
			mark(m, e->block, grade);
		}
	}
}

/** Mark all that marked blocks lead to. */
static void follow(struct marking *m, uint8_t grade) {
	for (; m->at < m->n_queued; m->at++) {
		mark_edges(m, m->roots.n + m->queue[m->at], grade);
	}
}

/** A root, or a marked block. */
static bool holds(const struct marking *m, size_t source) {
	return source < m->roots.n || m->grades[source - m->roots.n] != NOT_YET;
}

static void mark_words(struct marking *m, const uint64_t *words, size_t n, uint8_t grade) {
	for (size_t i = 0; i < n; i++) {
		const uint32_t block = edges_block_of(m, words[i]);
		if (block != NO_BLOCK && (grade != REC_HELD || m->blocks.items[block].start == words[i])) {
			mark(m, block, grade);
		}
	}
}

/** Mark what roots point to (later also marked blocks), and all that leads to. */
static void mark_from(struct marking *m, uint8_t grade) {
	EACH_NUMBER(i, n_sources(m), holds(m, i) && (grade != REC_HELD || i < m->roots.n)) {
		mark_edges(m, i, grade);
	}
	for (size_t i = 0; i < m->in->n_threads; i++) {
		mark_words(m, m->in->threads[i].words, GRAPH_WORDS, grade);
	}
	follow(m, grade);
}

// ---- pointers in disguise

/** A word, also without flags in its upper and in its lower bits. */
enum { WAYS = 3, TAG_BITS = 17 };
#define WAYS_OF(word) \
	{ (word), (word) & (UINT64_MAX >> TAG_BITS), (word) & -(uint64_t)WORD }

static void find_disguised(struct marking *m, struct part *p, const struct source *s, uint64_t at,
		const uint8_t *memory, size_t bytes) {
	(void)at;
	for (size_t i = 0; i + WORD <= bytes; i++) {
		uint64_t word;
		memcpy(&word, memory + i, sizeof word);
		const uint64_t ways[WAYS] = WAYS_OF(word);
		for (size_t k = 0; k < WAYS - (i % WORD > 0); k++) {
			const uint32_t block = edges_may_be_block(m, ways[k]) ? edges_target(m, s, ways[k])
																  : NO_BLOCK;
			if (block != NO_BLOCK && m->grades[block] == NOT_YET) {
				(void)vec_add(&p->found, block);
			}
		}
	}
}

static void search_part(void *user, unsigned number) {
	struct marking *m = user;
	struct part *p = &m->parts[number];
	for (size_t i = p->begin; !p->is_unread && i < p->end; i++) {
		const struct source s = source_of(m, i);
		if (holds(m, i)) {
			edges_read_source(m, p, &s, true, find_disguised);
		}
	}
}

/** Repeated while anything is found: what is held now may hold more. */
static bool search_disguised(struct marking *m) {
	size_t n_before = SIZE_MAX;
	for (size_t i = 0; i < m->in->n_kernel_words; i++) {
		mark_words(m, (const uint64_t[])WAYS_OF(m->in->kernel_words[i]), WAYS, REC_DISGUISED);
	}
	follow(m, REC_DISGUISED);
	bool ok = true;
	while (ok && m->n_queued != n_before && m->n_queued < m->blocks.n) {
		n_before = m->n_queued;
		ok = run_parts(m, search_part);
		for (unsigned k = 0; k < m->n_parts; k++) {
			EACH(block, m->parts[k].found) {
				mark(m, *block, REC_DISGUISED);
			}
			m->parts[k].found.n = 0;
		}
		follow(m, REC_DISGUISED);
	}
	return ok;
}

// ---- what nothing points to

/** What the block leads to and has no owner yet is owned by it. True: it leads to itself. */
static bool own(struct marking *m, uint32_t block, uint8_t *is_owned, struct rec_grade *sum) {
	bool is_cycle = false;
	m->n_queued = m->at = 0;
	m->queue[m->n_queued++] = block;
	for (; m->at < m->n_queued; m->at++) {
		EACH_EDGE(e, m, m->roots.n + m->queue[m->at]) {
			is_cycle |= e->block == block;
			if (m->grades[e->block] >= NOT_YET && e->block != block && !is_owned[e->block]) {
				is_owned[e->block] = true;
				m->queue[m->n_queued++] = e->block;
				sum->owned_blocks++;
				sum->owned_bytes += m->blocks.items[e->block].bytes;
			}
		}
	}
	return is_cycle;
}

/**
 * Blocks to which no earlier one leads, lead to all of the rest. None of them leads to a later one
 * of them; going back from the last, those to which a later one leads drop out.
 */
static void grade_rest(struct marking *m, struct rec_grade *sums) {
	const size_t n = m->blocks.n;
	FREED uint8_t *is_owned = memory_new(n, 2);
	uint8_t *by_later = is_owned + n;
	struct rec_grade nothing = {0};
	EACH_NUMBER(i, (uint32_t)n, m->grades[i] == NOT_YET && !is_owned[i]) {
		(void)own(m, i, is_owned, &nothing);
	}
	for (uint32_t i = (uint32_t)n; i-- > 0;) {
		if (m->grades[i] == NOT_YET && !is_owned[i] && !by_later[i]) {
			m->grades[i] = own(m, i, by_later, &sums[i]) ? REC_CYCLE : NOT_YET;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		bool is_led_to = is_owned[i] || by_later[i];
		m->grades[i] = m->grades[i] == NOT_YET && is_led_to ? REC_OWNED : m->grades[i];
	}
}

// ---- putting it together

/** Only their size distinguishes lost blocks without a stack. */
static uint64_t size_of(const struct rec_grade *row) {
	return row->stack == STACK_NONE && row->grade >= REC_UNREACHABLE ? row->bytes / row->blocks : 0;
}

ORDER_OF(by_row, struct rec_grade,
		LOWEST(stack) ?: LOWEST(grade) ?: LOWEST(class) ?: compare_u64(size_of(a), size_of(b)));

/** Make a row per block, then merge those of a stack, grade, class and size. */
static void sum_up(struct marking *m, struct rec_grade *rows, struct graph *out) {
	size_t n = 0;
	for (size_t i = 0; i < m->blocks.n; i++) {
		const struct live_block *b = &m->blocks.items[i];
		rows[i].stack = b->stack;
		rows[i].grade = m->grades[i];
		rows[i].class = m->class_of[i];
		rows[i].blocks = 1;
		rows[i].bytes = b->bytes;
	}
	qsort(rows, m->blocks.n, sizeof *rows, by_row);
	for (size_t i = 0; i < m->blocks.n; i++) {
		if (n > 0 && by_row(&rows[n - 1], &rows[i]) == 0) {
			ADD_FIELDS(&rows[n - 1], &rows[i], blocks, bytes, owned_blocks, owned_bytes);
		} else {
			rows[n++] = rows[i];
		}
	}
	for (size_t i = 0; i < n; i++) {
		rows[i].stack = rows[i].stack == STACK_NONE ? GRAPH_OLD : rows[i].stack;
		(void)vec_add(&out->grades, rows[i]);
	}
}

static bool grade_all(struct marking *m, struct graph *out) {
	FREED struct rec_grade *rows = memory_new(m->blocks.n, sizeof *rows);
	m->grades = memory_new(m->blocks.n, 1);
	m->queue = memory_new(m->blocks.n, sizeof *m->queue);
	memset(m->grades, NOT_YET, m->blocks.n);
	mark_words(m, m->doubtful.items, m->doubtful.n, REC_HELD);
	mark_from(m, REC_HELD);
	mark_from(m, REC_HELD_INSIDE);
	if (!search_disguised(m)) {
		return false;
	}
	grade_rest(m, rows);
	if (!classes_find(m, out)) {
		return false;
	}
	sum_up(m, rows, out);
	return holders_find(m, out);
}

bool graph_grade(const struct graph_input *in, struct graph *out, struct err *err) {
	struct marking m = {.in = in};
	bool ok = (edges_read(&m) && grade_all(&m, out)) ||
			err_failed(err, "some of its memory could not be read");
	for (unsigned k = 0; k < PARALLEL_MOST; k++) {
		vec_finish(&m.parts[k].found);
	}
	free(m.grades);
	free(m.class_of);
	free(m.queue);
	edges_finish(&m);
	return ok;
}
