// SPDX-License-Identifier: MIT
/*
 * Asks for names. Places are sorted by module and address, and each module is asked once. Strings
 * and frames grow in vectors and move into the recording at the end.
 */
#include "session/import.h"

struct resolver {
	struct recording *r;
	const struct symbols_options *options;
	struct arena scratch; // of one module
	struct texts texts;   // in the recording's arena; only added ones can be found by text
	struct symbols_rows frames;
};

static int compare_places(const void *a, const void *b, void *user) {
	const struct recording *r = user;
	const struct rec_location *x = &r->locations.items[*(const uint32_t *)a];
	const struct rec_location *y = &r->locations.items[*(const uint32_t *)b];
	return compare_u64(x->module, y->module)
			?: compare_u64(x->pc, y->pc) ?: x->is_exact - y->is_exact;
}

/** Each address once: places that share one get the same answer. Returns how many there are. */
static size_t list_addresses(const struct recording *r, uint64_t bias, const uint32_t *places,
		size_t n, struct symbols_wanted *wanted) {
	size_t n_asked = 0;
	for (size_t i = 0; i < n; i++) {
		const struct rec_location *l = &r->locations.items[places[i]];
		if (n_asked == 0 || wanted[n_asked - 1].address != l->pc - bias) {
			wanted[n_asked++] = (struct symbols_wanted){l->pc - bias, 0, l->is_exact};
		}
	}
	return n_asked;
}

/** Resolve all places of one module; `places` are sorted. */
static void resolve_module(struct resolver *v, struct symbols *symbols, const uint32_t *places,
		size_t n) {
	struct recording *r = v->r;
	struct rec_module *m = &r->modules.items[r->locations.items[places[0]].module];
	struct symbols_wanted *wanted = arena_new(&v->scratch, struct symbols_wanted, n);
	struct symbols_answer *answers = arena_new(&v->scratch, struct symbols_answer, n);
	struct slice path = r->strings.items[m->path];
	struct symbols_module file = {
			.fd = -1,
			.path = arena_text(&v->scratch, path.size ? path : r->strings.items[r->meta.exe]),
			.build_id = slice_of(m->build_id, m->build_id_bytes),
	};
	struct symbols_facts facts = {0};
	size_t n_asked = list_addresses(r, m->bias, places, n, wanted), at = 0;
	symbols_resolve(symbols, &file, wanted, n_asked, answers, &facts, &v->scratch);
	m->has_symbols |= facts.has_symbols;
	m->has_lines |= facts.has_lines;
	m->is_unresolved = facts.is_unresolved;
	for (size_t i = 0; i < n; i++) {
		struct rec_location *l = &r->locations.items[places[i]];
		at += l->pc - m->bias != wanted[at].address;
		symbols_put(&answers[at], l, &v->frames, &v->texts);
	}
}

/** Locations without a name, in modules with known addresses: `*n` of them, sorted. */
static uint32_t *places_without_names(const struct recording *r, size_t *n) {
	uint32_t *places = memory_new(r->locations.n, sizeof *places);
	*n = 0;
	for (uint32_t i = 1; i < r->locations.n; i++) {
		const struct rec_location *l = &r->locations.items[i];
		const struct rec_module *m = &r->modules.items[l->module];
		if (l->n_frames == 0 && !l->is_mark && l->module && m->start < m->end) {
			places[(*n)++] = i;
		}
	}
	qsort_r(places, *n, sizeof *places, compare_places, (void *)r);
	return places;
}

static void resolve_places(struct resolver *v, const uint32_t *places, size_t n) {
	struct symbols *symbols = symbols_create(v->options);
	for (size_t i = 0, end; i < n; i = end) {
		uint32_t module = v->r->locations.items[places[i]].module;
		end = i;
		while (end < n && v->r->locations.items[places[end]].module == module) {
			end++;
		}
		resolve_module(v, symbols, places + i, end - i);
		arena_finish(&v->scratch);
	}
	symbols_destroy(symbols);
}

/** Copy the recording's tables to vectors, which will become its tables. */
static void take_tables(struct resolver *v) {
	EACH(text, v->r->strings) {
		(void)vec_add(&v->texts, *text);
	}
	EACH(frame, v->r->frames) {
		(void)vec_add(&v->frames, *frame);
	}
}

void resolve_names(struct recording *r, const struct symbols_options *options) {
	struct resolver v = {.r = r, .options = options};
	size_t n;
	FREED uint32_t *places = places_without_names(r, &n);
	if (n == 0) {
		return;
	}
	r->arena.max_bytes = 0; // the limit was for what the file asks for
	v.texts.arena = r->arena;
	take_tables(&v);
	resolve_places(&v, places, n);
	r->arena = v.texts.arena;
	v.texts.arena = (struct arena){0};
	(void)RECORDING_PUT(r, strings, v.texts.items, v.texts.n);
	(void)RECORDING_PUT(r, frames, v.frames.items, v.frames.n);
	texts_finish(&v.texts);
	vec_finish(&v.frames);
	arena_finish(&v.scratch);
}
