// SPDX-License-Identifier: MIT
/*
 * The classes of blocks, by the word that objects with virtual functions begin with.
 *
 *   1. words of blocks that point into modules    each is looked up once
 *   2. blocks that begin with such a word         of the class, or arenas: count their objects
 *
 * Each pass reads memory; without any class there is only one. An arena looks like the first object
 * in it, so a block is of a class only if it is hardly larger than the class's smallest one.
 */
#include "engine/graph/parts.h"

enum {
	MANY_BYTES = 1024, // at least this size with
	MANY_OBJECTS = 4,  // at least this many objects: an arena
	SPREAD = 2,        // times the smallest of its class is the largest block
	WORDS_MOST = 1 << 20,
	NO_CLASS = UINT32_MAX,
};

struct class_words {
	struct marking *m;
	struct graph *out;
	VEC(uint64_t) words;
	struct map rows;    // by word: 1 + its row, or NO_CLASS
	struct map by_name; // 1 + the row of a name
};

/** Tables of virtual functions are in modules. */
static bool is_of_module(const struct marking *m, uint64_t word) {
	const struct parts_range *all = m->in->parts->modules;
	const size_t n = m->in->parts->n_modules;
	if (word % WORD != 0 || n == 0 || word < all->start || word >= all[n - 1].end) {
		return false;
	}
	const size_t behind = sorted_first_of(all, n, sizeof *all, word + 1);
	return behind > 0 && word < all[behind - 1].end;
}

// ---- words

static void take_words(struct marking *m, struct part *p, const struct source *s, uint64_t at,
		const uint8_t *memory, size_t bytes) {
	const uint64_t *words = (const uint64_t *)(const void *)memory;
	(void)s;
	(void)at;
	EACH_NUMBER(i, bytes / WORD, is_of_module(m, words[i]) && p->words.n < WORDS_MOST) {
		(void)map_put(&p->words, words[i], 1);
	}
}

/** Look up the class of a word; a new one gets a row. */
static void ask(struct class_words *c, uint64_t word) {
	const struct graph_input *in = c->m->in;
	const uint32_t name = in->class_of(in->user, word);
	uint64_t row = name ? map_get(&c->by_name, name) : NO_CLASS;
	if (row == 0) {
		row = c->out->classes.n + 1;
		(void)vec_add(&c->out->classes, (struct rec_class){.name = name, .kind = REC_CLASS_CPP});
		(void)map_put(&c->by_name, name, row);
	}
	(void)map_put(&c->rows, word, row);
}

ORDER_OF(by_word, uint64_t, compare_u64(*a, *b));

/** Single-threaded, by rising address, so that words of one module are adjacent. */
static void ask_all(struct class_words *c) {
	for (unsigned k = 0; k < c->m->n_parts; k++) {
		const struct map *words = &c->m->parts[k].words;
		EACH_OF_THAT(entry, words->entries, words->capacity, entry->value != 0) {
			(void)vec_add(&c->words, entry->key);
		}
	}
	vec_sort(&c->words, by_word);
	EACH_THAT(word, c->words, word == c->words.items || word[-1] != *word) {
		ask(c, *word);
	}
}

// ---- blocks

static void take_objects(struct marking *m, struct part *p, const struct source *s, uint64_t at,
		const uint8_t *memory, size_t bytes) {
	const uint64_t *words = (const uint64_t *)(const void *)memory;
	for (size_t i = 0; i < bytes / WORD; i++) {
		uint64_t row = is_of_module(m, words[i]) ? map_get(&m->words->rows, words[i]) : 0;
		if (row != 0 && row != NO_CLASS) {
			(void)vec_add(&p->found, (uint32_t)row);
			p->head = at + i * WORD == s->start ? (uint32_t)row : p->head;
		}
	}
}

static void read_part(void *user, unsigned number) {
	struct marking *m = user;
	struct part *p = &m->parts[number];
	p->window_at = 0;
	size_t i = p->begin < m->roots.n ? m->roots.n : p->begin;
	for (; !p->is_unread && i < p->end; i++) {
		const struct source s = source_of(m, i);
		p->head = 0;
		p->found.n = 0;
		edges_read_source(m, p, &s, false, p->objects ? take_objects : take_words);
		const bool is_arena = s.end - s.start >= MANY_BYTES && p->found.n >= MANY_OBJECTS;
		m->class_of[i - m->roots.n] = is_arena ? 0 : p->head;
		for (size_t k = 0; is_arena && k < p->found.n; k++) {
			p->objects[p->found.items[k] - 1]++;
		}
	}
	p->found.n = 0;
}

/** A class's smallest block decides which blocks are of it. */
static void sum_up(struct marking *m, struct graph *out) {
	FREED uint64_t *least = memory_new(out->classes.n, sizeof *least);
	for (size_t i = 0; i < out->classes.n; i++) {
		least[i] = UINT64_MAX;
		for (unsigned k = 0; k < m->n_parts; k++) {
			out->classes.items[i].objects += m->parts[k].objects[i];
		}
	}
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < m->blocks.n; i++) {
			const uint32_t row = m->class_of[i];
			const uint64_t bytes = m->blocks.items[i].bytes;
			if (row && pass == 0) {
				LOWER_TO(least[row - 1], bytes);
			} else if (row && bytes / SPREAD <= least[row - 1]) {
				out->classes.items[row - 1].blocks++;
				out->classes.items[row - 1].bytes += bytes;
			} else {
				m->class_of[i] = 0;
			}
		}
	}
}

static bool find_all(struct class_words *c) {
	struct marking *m = c->m;
	bool ok = run_parts(m, read_part);
	ask_all(c);
	const size_t n = c->out->classes.n;
	for (unsigned k = 0; k < m->n_parts && n > 0; k++) {
		m->parts[k].objects = memory_new(n, sizeof *m->parts[k].objects);
	}
	if (ok && n > 0) {
		ok = run_parts(m, read_part);
		sum_up(m, c->out);
	}
	return ok;
}

bool classes_find(struct marking *m, struct graph *out) {
	struct class_words c = {.m = m, .out = out};
	m->class_of = memory_new(m->blocks.n, sizeof *m->class_of);
	m->words = &c;
	bool ok = !m->in->class_of || find_all(&c);
	m->words = NULL;
	vec_finish(&c.words);
	CALL_FOR(map_finish, &c, rows, by_name);
	for (unsigned k = 0; k < m->n_parts; k++) {
		map_finish(&m->parts[k].words);
		free(m->parts[k].objects);
	}
	return ok;
}
