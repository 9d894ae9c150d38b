// SPDX-License-Identifier: MIT
/* Writes the tables of texts: functions with their files and modules, and threads. */
#include "base/texts.h"
#include "web/encode/columns.h"

enum { FLAG_YOURS = 1, FLAG_LIBRARY = 2, FLAG_NAMED = 4, FLAG_RUNTIME = 8, FLAG_WRAPPER = 16 };

static uint32_t flags_of(const struct name *name) {
	return (name->owner == OWNER_YOURS                    ? FLAG_YOURS
						   : name->owner == OWNER_LIBRARY ? FLAG_LIBRARY
														  : 0) |
			(name->has_name ? FLAG_NAMED : 0) | (name->is_runtime ? FLAG_RUNTIME : 0) |
			(name->is_wrapper ? FLAG_WRAPPER : 0);
}

/** A path, or of a redacted one the last part. */
static struct slice shown_path(const struct columns *c, struct slice path) {
	return c->options->is_redacted ? path_base(path) : path;
}

#define SYMBOL_COLUMN(c, out, value)                             \
	for (uint32_t i = 1; i < (c)->frames->n_symbols; i++) {      \
		const struct frame_symbol *s = &(c)->frames->symbols[i]; \
		buffer_varint((out), (value));                           \
	}

/**
 * Differences to the row before: numbers that were given in the order of the rows are steps of 1.
 */
#define SYMBOL_STEPS(c, out, value)                                                        \
	for (uint32_t i = 1, now, before = 0; i < (c)->frames->n_symbols; i++, before = now) { \
		const struct frame_symbol *s = &(c)->frames->symbols[i];                           \
		now = (value);                                                                     \
		buffer_signed((out), (int64_t)now - before);                                       \
	}

static void put_symbols(const struct columns *c, struct texts *words, struct buffer *out) {
	buffer_varint(out, c->frames->n_symbols);
	SYMBOL_STEPS(c, out, texts_id(words, s->name->function))
	SYMBOL_COLUMN(c, out, texts_id(words, shown_path(c, s->name->file)))
	SYMBOL_COLUMN(c, out, texts_id(words, shown_path(c, s->name->module)))
	SYMBOL_COLUMN(c, out, c->options->is_redacted ? 0 : texts_id(words, s->name->symbol))
	SYMBOL_COLUMN(c, out, s->file)
	SYMBOL_COLUMN(c, out, flags_of(s->name))
	SYMBOL_COLUMN(c, out, texts_id(words, names_package(s->name)))
	SYMBOL_STEPS(c, out, s->name->function_id)
}

#define THREAD_COLUMN(c, out, value)                            \
	for (uint32_t i = 0; i < (c)->r->threads.n; i++) {          \
		const struct rec_thread *t = &(c)->r->threads.items[i]; \
		buffer_varint((out), (value));                          \
	}

static void put_threads(const struct columns *c, struct texts *words, struct buffer *out) {
	buffer_varint(out, c->r->threads.n);
	THREAD_COLUMN(c, out, t->tid)
	THREAD_COLUMN(c, out, texts_id(words, c->r->strings.items[t->name]))
	THREAD_COLUMN(c, out, t->n_merged)
	THREAD_COLUMN(c, out, t->first_ns)
	THREAD_COLUMN(c, out, t->last_ns - t->first_ns)
	THREAD_COLUMN(c, out, t->allocations)
	THREAD_COLUMN(c, out, t->allocated_bytes)
	THREAD_COLUMN(c, out, t->frees)
	THREAD_COLUMN(c, out, t->temporary)
	THREAD_COLUMN(c, out, t->live_bytes)
	THREAD_COLUMN(c, out, t->peak_bytes)
	THREAD_COLUMN(c, out, t->foreign_frees)
}

/** How many, the length of each, then all of them without a gap. */
static void put_strings(const struct texts *t, struct buffer *out) {
	buffer_varint(out, t->n ? t->n : 1);
	buffer_varint(out, 0);
	for (uint32_t i = 1; i < t->n; i++) {
		buffer_varint(out, t->items[i].size);
	}
	for (uint32_t i = 1; i < t->n; i++) {
		buffer_slice(out, t->items[i]);
	}
}

bool columns_symbols(struct columns *c, struct buffer *strings, struct buffer *symbols,
		struct buffer *threads) {
	struct texts words = {.borrows = true};
	put_symbols(c, &words, symbols);
	put_threads(c, &words, threads);
	for (uint32_t i = 0; i < c->stacks.n; i++) {
		c->stacks.items[i].site_word = texts_id(&words, c->stacks.items[i].site_name);
	}
	put_strings(&words, strings);
	bool ok = !words.failed;
	texts_finish(&words);
	return ok;
}
