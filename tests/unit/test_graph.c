// SPDX-License-Identifier: MIT

/*
 * Random memory, graded, against a slow version that follows every word and knows who reaches whom.
 * Longer: GRAPH_SEEDS=100000.
 */

#include "engine/graph.h"
#include "failing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { PAGE = 4096, HEAP_PAGES = 24, DATA_PAGES = 3, STACK_PAGES = 4, BLOCKS = 48, STACKS = 6 };
enum { TABLES = 8, WORD_BYTES = 8 };
#define DATA_AT  0x400000ull
#define HEAP_AT  0x7f1207ff4000ull // its blocks are indexed by 64 MiB, and it lies in two of these
#define STACK_AT 0x7ffe00000000ull

struct block {
	uint64_t start, bytes;
	uint32_t stack;
	uint8_t grade;
	bool reaches[BLOCKS], is_owned, is_counted;
};

static struct world {
	struct smaps areas;
	struct pagemap pages;
	struct aggregate *aggregate;
	struct graph_thread thread;
	uint8_t data[DATA_PAGES * PAGE], heap[HEAP_PAGES * PAGE], stack[STACK_PAGES * PAGE];
	bool is_there[DATA_PAGES + HEAP_PAGES + STACK_PAGES];
	struct block blocks[BLOCKS]; // by address
	size_t n;
	uint64_t kernel_words[2];
	size_t n_words, n_kernel_words;
	bool is_mapped; // the blocks lie in memory that is not the allocator's
} w;

static uint64_t below(uint64_t n) {
	return (uint64_t)rand() % n;
}

// ---- a random process

static bool read_memory(void *user, uint64_t at, void *out, size_t bytes) {
	(void)user;
	const struct {
		uint64_t at;
		const uint8_t *bytes;
		size_t n;
	} all[] = {{DATA_AT, w.data, sizeof w.data}, {HEAP_AT, w.heap, sizeof w.heap},
			{STACK_AT, w.stack, sizeof w.stack}};
	for (size_t i = 0; i < 3; i++) {
		if (at >= all[i].at && at + bytes <= all[i].at + all[i].n) {
			memcpy(out, all[i].bytes + (at - all[i].at), bytes);
			return true;
		}
	}
	return false; // what is not resident must not be read
}

static void put_area(uint64_t at, size_t n_pages, enum smaps_kind kind, uint8_t *bytes,
		bool *there) {
	const struct smaps_area a = {.start = at,
			.end = at + n_pages * PAGE,
			.name = kind == SMAPS_FILE ? "/usr/bin/program" : "",
			.kind = kind,
			.is_writable = true};
	assert_true(vec_add(&w.areas, a));
	for (size_t i = 0; i < n_pages; i++) {
		there[i] = below(8) > 0;
		uint64_t word = 1ull << 63;
		if (there[i]) {
			assert_true(pagemap_take(&w.pages, at + i * PAGE, PAGE, &word, 1));
		} else {
			memset(bytes + i * PAGE, 0, PAGE);
		}
	}
}

/** A word that means a block, or nothing. */
static uint64_t some_word(void) {
	const struct block *b = &w.blocks[below(w.n)];
	switch (below(12)) {
	case 0: return b->start + below(b->bytes + 1);
	case 1: return b->start + 16;
	case 2: return b->start | below(0x8000) << 48;
	case 3: return b->start + below(8);
	case 4: return below(UINT64_MAX);
	case 5: return b->start + b->bytes;
	default: return b->start;
	}
}

static void scatter(uint8_t *bytes, size_t size, unsigned n) {
	for (unsigned i = 0; i < n; i++) {
		uint64_t word = some_word();
		size_t at = below(size - 8);
		memcpy(bytes + (below(8) ? at & ~(size_t)7 : at), &word, sizeof word);
	}
}

/** A word that objects of a class may begin with: it points to the module's data. */
static uint64_t some_table(void) {
	return DATA_AT + below(TABLES) * WORD_BYTES;
}

/** By the word: none for some, and one for two words. */
static uint32_t class_of(void *user, uint64_t word) {
	(void)user;
	const uint64_t table = (word - DATA_AT) / WORD_BYTES;
	return table >= TABLES || table == 0 ? 0 : (uint32_t)(100 + table / 2);
}

static void put_blocks(void) {
	uint64_t at = HEAP_AT;
	w.aggregate = aggregate_create(NULL);
	assert_non_null(w.aggregate);
	assert_int_equal(aggregate_thread(w.aggregate, 1, 1, 0), 1);
	for (w.n = 0; w.n < 2 + below(BLOCKS - 2);) {
		at += 16 + below(20) * 16;
		struct block b = {at, below(10) ? 8 + below(60) * 8 : below(3 * PAGE), 0, 0, {0}, 0, 0};
		if (at + b.bytes + 16 > HEAP_AT + sizeof w.heap) {
			break;
		}
		struct trace_event e = {.ptr = at,
				.size = b.bytes,
				.time_ns = w.n,
				.node = (uint32_t)below(STACKS),
				.thread = 1,
				.kind = TRACE_ALLOC};
		aggregate_events(w.aggregate, &e, 1);
		b.stack = e.node; // until the rows are known
		w.blocks[w.n++] = b;
		at = (at + b.bytes + 15) & ~15ull;
	}
}

/** Their rows in the recording's table. */
static void take_row(void *user, uint64_t ptr, uint64_t bytes, uint32_t stack) {
	(void)user;
	(void)bytes;
	for (size_t i = 0; i < w.n; i++) {
		w.blocks[i].stack = w.blocks[i].start == ptr ? stack : w.blocks[i].stack;
	}
}

static void make(unsigned seed) {
	srand(seed);
	memset(&w, 0, sizeof w);
	put_blocks();
	aggregate_live(w.aggregate, take_row, NULL);
	for (size_t i = 0; i < w.n; i++) {
		uint8_t *bytes = w.heap + (w.blocks[i].start - HEAP_AT);
		if (w.blocks[i].bytes >= 16) {
			scatter(bytes, w.blocks[i].bytes, (unsigned)below(3));
		}
		const size_t n_objects = w.blocks[i].bytes < 1000 ? below(2) : below(8);
		for (size_t k = 0; k < n_objects; k++) {
			const uint64_t table = some_table();
			size_t at = k == 0 ? 0 : below(w.blocks[i].bytes / WORD_BYTES) * WORD_BYTES;
			memcpy(bytes + at, &table, sizeof table);
		}
	}
	scatter(w.heap, sizeof w.heap, (unsigned)below(30)); // mostly in what is free
	scatter(w.data, sizeof w.data, (unsigned)below(6));
	scatter(w.stack, sizeof w.stack, (unsigned)below(6));
	put_area(DATA_AT, DATA_PAGES, SMAPS_FILE, w.data, w.is_there);
	w.is_mapped = below(4) == 0;
	put_area(HEAP_AT, HEAP_PAGES, w.is_mapped ? SMAPS_ANONYMOUS : SMAPS_HEAP, w.heap,
			w.is_there + DATA_PAGES);
	put_area(STACK_AT, STACK_PAGES, SMAPS_STACK, w.stack, w.is_there + DATA_PAGES + HEAP_PAGES);
	w.pages.how = PAGEMAP_SCANNED;
	w.thread.sp = STACK_AT + below(sizeof w.stack / 8) * 8;
	for (w.n_words = 0; w.n_words < below(4); w.n_words++) {
		w.thread.words[w.n_words] = some_word();
	}
	w.n_kernel_words = below(3) ? 0 : 1;
	w.kernel_words[0] = some_word();
}

// ---- the slow version

static int block_of(uint64_t word) {
	int found = -1;
	for (size_t i = 0; i < w.n; i++) {
		const struct block *b = &w.blocks[i];
		found = word >= b->start && word <= b->start + b->bytes ? (int)i : found; // the later one
	}
	return found;
}

/** Each word of a source: a root in `data` or the stack, or a block's. */
typedef void with_word(uint64_t word, int from, void *user);

static void each_word_of(const uint8_t *bytes, uint64_t at, uint64_t end, uint64_t step, int from,
		with_word *with, void *user) {
	uint64_t first = step == 8 ? (at + 7) & ~7ull : at;
	for (uint64_t p = first; p < end && end - p >= 8; p += step) {
		uint64_t word;
		memcpy(&word, bytes + (p - at), sizeof word);
		with(word, from, user);
	}
}

/** Roots, as whole runs of pages that are there. */
static void each_root_of(const uint8_t *bytes, uint64_t at, size_t size, const bool *there,
		uint64_t first, uint64_t step, with_word *with, void *user) {
	for (uint64_t page = at; page < at + size; page += PAGE) {
		uint64_t end = page;
		while (end < at + size && there[(end - at) / PAGE]) {
			end += PAGE;
		}
		uint64_t from = page > first ? page : first;
		if (end > from) {
			each_word_of(bytes + (from - at), from, end, step, -1, with, user);
		}
		page = end > page ? end : page;
	}
}

/** Of mapped memory, what lies between the blocks. */
static void each_word_between(uint64_t step, with_word *with, void *user) {
	const bool *there = w.is_there + DATA_PAGES;
	for (uint64_t at = HEAP_AT; at < HEAP_AT + sizeof w.heap;) {
		const struct block *next = NULL;
		for (size_t i = 0; i < w.n && !next; i++) {
			next = w.blocks[i].start + w.blocks[i].bytes > at ? &w.blocks[i] : NULL;
		}
		if (next && next->start <= at) {
			at = next->start + next->bytes;
			continue;
		}
		uint64_t end = at;
		while (end < HEAP_AT + sizeof w.heap && there[(end - HEAP_AT) / PAGE] &&
				!(next && end == next->start)) {
			end++;
		}
		each_word_of(w.heap + (at - HEAP_AT), at, end, step, -1, with, user);
		at = end > at ? end : at + 1;
	}
}

static void each_word(uint64_t step, bool (*holds)(size_t block), with_word *with, void *user) {
	if (w.is_mapped) {
		each_word_between(step, with, user);
	}
	each_root_of(w.data, DATA_AT, sizeof w.data, w.is_there, DATA_AT, step, with, user);
	each_root_of(w.stack, STACK_AT, sizeof w.stack, w.is_there + DATA_PAGES + HEAP_PAGES,
			w.thread.sp, step, with, user);
	for (size_t i = 0; i < w.n; i++) {
		const struct block *b = &w.blocks[i];
		if (holds(i)) {
			each_word_of(w.heap + (b->start - HEAP_AT), b->start, b->start + b->bytes, step, (int)i,
					with, user);
		}
	}
}

static bool is_marked(size_t block) {
	return w.blocks[block].grade != REC_UNREACHABLE;
}

static bool any_is(size_t block) {
	(void)block;
	return true;
}

struct pass {
	uint8_t grade;
	bool is_new;
};

static void mark_by(uint64_t word, int from, void *user) {
	struct pass *pass = user;
	int to = block_of(word);
	if (to >= 0 && to != from && !is_marked((size_t)to) &&
			(pass->grade != REC_HELD || w.blocks[to].start == word)) {
		w.blocks[to].grade = pass->grade;
		pass->is_new = true;
	}
}

static void pass_until_none(uint8_t grade) {
	struct pass pass;
	do {
		pass = (struct pass){grade, false};
		each_word(8, is_marked, mark_by, &pass);
		for (size_t i = 0; i < w.n_words; i++) {
			mark_by(w.thread.words[i], -1, &pass);
		}
	} while (pass.is_new);
}

static void see_disguised(uint64_t word, int from, void *user) {
	struct pass any = {REC_DISGUISED, false};
	mark_by(word, from, &any);
	*(bool *)user |= any.is_new;
}

static void see_without_lower(uint64_t word, int from, void *user) {
	see_disguised(word & ~7ull, from, user);
}

static void see_without_upper(uint64_t word, int from, void *user) {
	see_disguised(word & 0x7fffffffffffull, from, user);
}

static void search_disguised(void) {
	bool is_new = false;
	for (size_t i = 0; i < w.n_kernel_words; i++) {
		see_disguised(w.kernel_words[i], -1, &is_new);
		see_without_lower(w.kernel_words[i], -1, &is_new);
		see_without_upper(w.kernel_words[i], -1, &is_new);
	}
	do {
		pass_until_none(REC_DISGUISED);
		is_new = false;
		each_word(1, is_marked, see_disguised, &is_new);
		each_word(1, is_marked, see_without_upper, &is_new);
		each_word(8, is_marked, see_without_lower, &is_new);
	} while (is_new);
}

static void note_edge(uint64_t word, int from, void *user) {
	(void)user;
	int to = block_of(word);
	if (from >= 0 && to >= 0 && to != from) {
		w.blocks[from].reaches[to] = true;
	}
}

/** The first of those that reach each other, if nothing else of the rest reaches them. */
static bool is_leader(size_t i) {
	for (size_t k = 0; k < w.n; k++) {
		bool is_first = k < i && w.blocks[i].reaches[k];
		if (k != i && !is_marked(k) && w.blocks[k].reaches[i] &&
				(is_first || !w.blocks[i].reaches[k])) {
			return false;
		}
	}
	return true;
}

static void grade_rest(struct rec_grade sums[STACKS][REC_GRADES]) {
	each_word(8, any_is, note_edge, NULL);
	for (size_t k = 0; k < w.n; k++) {
		for (size_t i = 0; i < w.n; i++) {
			for (size_t j = 0; j < w.n; j++) {
				w.blocks[i].reaches[j] |= w.blocks[i].reaches[k] && w.blocks[k].reaches[j];
			}
		}
	}
	for (size_t i = w.n; i-- > 0;) {
		struct block *b = &w.blocks[i];
		if (is_marked(i) || !is_leader(i)) {
			continue;
		}
		uint8_t grade = b->reaches[i] ? REC_CYCLE : REC_UNREACHABLE;
		for (size_t k = 0; k < w.n; k++) {
			struct block *to = &w.blocks[k];
			if (k != i && b->reaches[k] && !is_marked(k) && !to->is_counted) {
				to->is_counted = true;
				sums[b->stack][grade].owned_blocks++;
				sums[b->stack][grade].owned_bytes += to->bytes;
			}
		}
	}
	for (size_t i = 0; i < w.n; i++) {
		w.blocks[i].is_owned = !is_marked(i) && !is_leader(i);
	}
	for (size_t i = 0; i < w.n; i++) {
		struct block *b = &w.blocks[i];
		bool is_cycle = !is_marked(i) && !b->is_owned && b->reaches[i];
		uint8_t grade = b->is_owned ? REC_OWNED : is_cycle ? REC_CYCLE : b->grade;
		sums[b->stack][grade].blocks++;
		sums[b->stack][grade].bytes += b->bytes;
	}
}

static void grade_slowly(struct rec_grade sums[STACKS][REC_GRADES]) {
	memset(sums, 0, sizeof(struct rec_grade[STACKS][REC_GRADES]));
	for (size_t i = 0; i < w.n; i++) {
		w.blocks[i].grade = REC_UNREACHABLE;
	}
	pass_until_none(REC_HELD);
	pass_until_none(REC_HELD_INSIDE);
	search_disguised();
	grade_rest(sums);
}

// ---- who holds what, by leaving out one after the other

// Those of a stack from outside: what is of no frame that is known, and of each frame
enum { VARIABLE = 64, FRAMES = 3, STACK_OBJECT = DATA_PAGES * PAGE / VARIABLE };
enum { LAST_FRAME = STACK_OBJECT + FRAMES, DISGUISE_OBJECT, OBJECTS };
enum { VERTICES = OBJECTS + BLOCKS, FIELDS = STACKS * STACKS * 65 };

static struct slow {
	uint8_t edges[VERTICES][VERTICES], levels[VERTICES]; // 1 usual, 2 rare
	bool is_counted[VERTICES][VERTICES], is_reached[VERTICES];
	uint32_t fields[FIELDS], words[STACKS * 65], n_into[STACKS], n_blocks[STACKS];
	bool is_counting;
} slow;

static unsigned n_sharers; // that were compared

static uint64_t variable_of(void *user, uint32_t area, uint64_t at) {
	(void)user;
	(void)area;
	return at & ~(uint64_t)(VARIABLE - 1);
}

static void put_slow_edge(uint64_t word, size_t from, uint32_t field_word) {
	int to = block_of(word);
	if (to < 0 || from == OBJECTS + (size_t)to) {
		return;
	}
	bool is_block = from >= OBJECTS;
	const uint32_t source = is_block ? w.blocks[from - OBJECTS].stack : 0;
	const uint32_t target = w.blocks[to].stack;
	uint32_t *field = &slow.fields[(source * STACKS + target) * 65 + field_word];
	uint32_t *of_word = &slow.words[source * 65 + field_word];
	if (slow.is_counting) {
		slow.n_into[target] += is_block;
		*field += is_block;
		*of_word += is_block;
		return;
	}
	const uint32_t n = slow.n_blocks[source];
	bool is_few_of_them = slow.n_into[target] >= 100 && *field * 50 < slow.n_into[target];
	bool is_few_of_its = field_word < 64 && n >= 100 && *of_word * 50 < n;
	bool is_rare = is_block && ((is_few_of_them && *of_word < n / 2) || is_few_of_its);
	uint8_t *edge = &slow.edges[from][OBJECTS + (size_t)to];
	*edge = *edge == 1 || !is_rare ? 1 : 2;
	*edge = w.blocks[to].grade <= REC_DISGUISED ? *edge : 0;
}

/** The larger the further out; 0: of none. */
static uint32_t frame_of(void *user, uint64_t at) {
	(void)user;
	return (uint32_t)(at >= STACK_AT && at < STACK_AT + sizeof w.stack ? at / 256 : at) %
			(FRAMES + 1);
}

static size_t stack_object(uint32_t frame) {
	return frame ? LAST_FRAME + 1 - frame : STACK_OBJECT;
}

static void put_slow_edges(void) {
	uint64_t word;
	for (size_t at = 0; at + 8 <= sizeof w.data; at += 8) {
		memcpy(&word, w.data + at, sizeof word);
		put_slow_edge(w.is_there[at / PAGE] ? word : 0, at / VARIABLE, 0);
	}
	for (size_t at = (w.thread.sp - STACK_AT + 7) & ~7ull; at + 8 <= sizeof w.stack; at += 8) {
		memcpy(&word, w.stack + at, sizeof word);
		put_slow_edge(w.is_there[DATA_PAGES + HEAP_PAGES + at / PAGE] ? word : 0,
				stack_object(frame_of(NULL, STACK_AT + at)), 0);
	}
	for (size_t i = 0; i < w.n_words; i++) {
		put_slow_edge(w.thread.words[i], stack_object(frame_of(NULL, GRAPH_AT_WORD(0, i))), 0);
	}
	for (size_t i = 0; i < w.n; i++) {
		const struct block *b = &w.blocks[i];
		slow.n_blocks[b->stack] += slow.is_counting;
		for (uint64_t at = (b->start + 7) & ~7ull; at + 8 <= b->start + b->bytes; at += 8) {
			memcpy(&word, w.heap + (at - HEAP_AT), sizeof word);
			put_slow_edge(word, OBJECTS + i, b->bytes <= 512 ? (uint32_t)(at - b->start) / 8 : 64);
		}
	}
	for (size_t i = 0; i < w.n; i++) {
		if (!slow.is_counting && w.blocks[i].grade == REC_DISGUISED) {
			slow.edges[DISGUISE_OBJECT][OBJECTS + i] = 1;
		}
	}
}

/** 1: reached by usual edges, but not from the stack; 2: what else may be. */
static void find_slow_levels(void) {
	memset(slow.levels, 2, sizeof slow.levels);
	memset(slow.levels, 1, STACK_OBJECT);
	for (bool is_new = true; is_new;) {
		is_new = false;
		for (size_t i = 0; i < VERTICES * VERTICES; i++) {
			size_t from = i / VERTICES, to = i % VERTICES;
			if (slow.levels[from] == 1 && slow.edges[from][to] == 1 && slow.levels[to] == 2) {
				slow.levels[to] = 1;
				is_new = true;
			}
		}
	}
	for (size_t i = 0; i < VERTICES * VERTICES; i++) {
		size_t from = i / VERTICES, to = i % VERTICES;
		bool is_usual = slow.levels[from] == 1 && slow.edges[from][to] == 1;
		slow.is_counted[from][to] = slow.edges[from][to] && (is_usual || slow.levels[to] == 2);
	}
}

/** From some objects alone, or from all others. */
static void reach(size_t first, size_t last, bool is_alone) {
	memset(slow.is_reached, 0, sizeof slow.is_reached);
	for (size_t i = 0; i < OBJECTS; i++) {
		slow.is_reached[i] = (i >= first && i <= last) == is_alone;
	}
	for (bool is_new = true; is_new;) {
		is_new = false;
		for (size_t i = 0; i < VERTICES * VERTICES; i++) {
			size_t from = i / VERTICES, to = i % VERTICES;
			if (slow.is_reached[from] && slow.is_counted[from][to] && !slow.is_reached[to]) {
				slow.is_reached[to] = is_new = true;
			}
		}
	}
}

static size_t object_of(const struct graph_root *r) {
	return r->kind == REC_HOLDER_STACK       ? stack_object(r->frame)
			: r->kind == REC_HOLDER_DISGUISE ? DISGUISE_OBJECT
											 : (r->at - DATA_AT) / VARIABLE;
}

/** Who leads to half of what no object holds alone; all of them, if few are to be tried. */
static unsigned compare_sharers(unsigned seed, const struct graph *graph, const bool *is_shared) {
	uint64_t bytes[OBJECTS] = {0}, all = 0;
	unsigned n_objects = 0, n_half = 0;
	for (size_t i = 0; i < w.n; i++) {
		all += is_shared[i] ? w.blocks[i].bytes : 0;
	}
	for (size_t k = 0; k < OBJECTS; k++) {
		reach(k, k, true);
		for (size_t i = 0; i < w.n; i++) {
			bytes[k] += is_shared[i] && slow.is_reached[OBJECTS + i] ? w.blocks[i].bytes : 0;
		}
		n_objects += bytes[k] > 0;
		n_half += bytes[k] > 0 && 2 * bytes[k] >= all;
	}
	for (unsigned i = 0; i < graph->n_sharers; i++) {
		const uint64_t found = bytes[object_of(&graph->sharers[i])];
		if (2 * found < all) {
			fail_msg("seed %u: sharer %u leads to %zu of %zu", seed, i, (size_t)found, (size_t)all);
		}
	}
	if (n_objects <= 4) {
		assert_int_equal(graph->n_sharers, n_half < GRAPH_SHARERS ? n_half : GRAPH_SHARERS);
	}
	return graph->n_sharers;
}

static void compare_holders(unsigned seed, const struct graph *graph) {
	uint64_t want[OBJECTS] = {0}, several = 0, held = 0, found[OBJECTS] = {0}, found_several = 0;
	memset(&slow, 0, sizeof slow);
	for (int i = 0; i < 2; i++) {
		slow.is_counting = i == 0;
		put_slow_edges();
	}
	find_slow_levels();
	bool is_alone[BLOCKS] = {0}, is_there[BLOCKS];
	reach(VERTICES, VERTICES, false);
	memcpy(is_there, slow.is_reached + OBJECTS, sizeof is_there);
	static const uint8_t no_edges[VERTICES];
	for (size_t k = OBJECTS; k-- > 0;) {
		if (memcmp(slow.edges[k], no_edges, sizeof no_edges) == 0) {
			continue;
		}
		// Without a frame there are none that it has called, which hold what they alone lead to
		reach(k, k >= STACK_OBJECT && k <= LAST_FRAME ? LAST_FRAME : k, false);
		for (size_t i = 0; i < w.n; i++) {
			bool is_its = is_there[i] && !slow.is_reached[OBJECTS + i] && !is_alone[i];
			want[k] += is_its ? w.blocks[i].bytes : 0;
			is_alone[i] |= is_its;
		}
	}
	for (size_t i = 0; i < w.n; i++) {
		held += is_there[i] ? w.blocks[i].bytes : 0;
		several += is_there[i] && !is_alone[i] ? w.blocks[i].bytes : 0;
	}
	EACH(holder, graph->holders) {
		if (holder->row.kind == REC_HOLDER_SEVERAL) {
			found_several = holder->row.retained_bytes;
		} else if (holder->row.above == 0 && holder->row.kind != REC_HOLDER_REST) {
			found[object_of(&holder->root)] = holder->row.retained_bytes;
		}
	}
	for (size_t k = 0; k < OBJECTS; k++) {
		if (found[k] != want[k] && (found[k] > 0 || want[k] > held / 1000)) {
			fail_msg("seed %u, object %zu holds %zu and not %zu", seed, k, (size_t)want[k],
					(size_t)found[k]);
		}
	}
	assert_true(found_several == several || several <= held / 1000);
	for (size_t i = 0; i < w.n; i++) {
		is_there[i] &= !is_alone[i];
	}
	if (several > held / 1000) {
		n_sharers += compare_sharers(seed, graph, is_there);
	} else {
		assert_int_equal(graph->n_sharers, 0);
	}
}

// ---- classes

struct slow_class {
	uint64_t blocks, bytes, held_bytes, objects, least;
};

/** What a block's words say: of how many objects, and of what class the first word is. */
static unsigned count_objects(const struct block *b, struct slow_class *inside, uint32_t *first) {
	unsigned n = 0;
	*first = 0;
	for (uint64_t at = b->start; at + 8 <= b->start + b->bytes; at += 8) {
		uint64_t word;
		memcpy(&word, w.heap + (at - HEAP_AT), sizeof word);
		const uint32_t class = word % 8 == 0 ? class_of(NULL, word) : 0;
		*first = at == b->start ? class : *first;
		n += class != 0;
		if (class && inside) {
			inside[class - 100].objects++;
		}
	}
	return n;
}

static void compare_classes(unsigned seed, const struct graph *graph) {
	struct slow_class want[TABLES] = {0};
	uint32_t first[BLOCKS];
	for (size_t i = 0; i < w.n; i++) {
		const struct block *b = &w.blocks[i];
		if (count_objects(b, NULL, &first[i]) >= 4 && b->bytes >= 1024) {
			(void)count_objects(b, want, &first[i]);
			first[i] = 0;
		}
		struct slow_class *c = first[i] ? &want[first[i] - 100] : &want[TABLES - 1];
		c->least = c->least && c->least < b->bytes ? c->least : b->bytes;
	}
	for (size_t i = 0; i < w.n; i++) {
		const struct block *b = &w.blocks[i];
		struct slow_class *c = first[i] ? &want[first[i] - 100] : &want[TABLES - 1];
		if (b->bytes / 2 <= c->least) {
			c->blocks++;
			c->bytes += b->bytes;
			c->held_bytes += b->grade <= REC_DISGUISED ? b->bytes : 0;
		}
	}
	uint64_t by_grade[TABLES] = {0};
	EACH(row, graph->grades) {
		by_grade[row->class ? graph->classes.items[row->class - 1].name - 100
							: 0] += row->class ? row->blocks : 0;
	}
	EACH(class, graph->classes) {
		struct slow_class *c = &want[class->name - 100];
		if (class->blocks != c->blocks || class->bytes != c->bytes ||
				class->objects != c->objects || by_grade[class->name - 100] != c->blocks ||
				class->retained_bytes < c->held_bytes) {
			fail_msg("seed %u, class %u: %u blocks and %u objects, not %u and %u", seed,
					class->name, (unsigned)class->blocks, (unsigned)class->objects,
					(unsigned)c->blocks, (unsigned)c->objects);
		}
		*c = (struct slow_class){0};
	}
	for (size_t i = 0; i + 1 < TABLES; i++) {
		assert_int_equal(want[i].blocks + want[i].objects, 0);
	}
}

// ---- tests

static void finish(void) {
	aggregate_destroy(w.aggregate);
	smaps_finish(&w.areas);
	vec_finish(&w.pages);
}

static struct graph_input input_of(struct parts_input *parts) {
	static const struct parts_range module = {DATA_AT, DATA_AT + DATA_PAGES * PAGE};
	static struct parts_thread thread;
	thread = (struct parts_thread){.sp = w.thread.sp};
	*parts = (struct parts_input){
			.page_bytes = PAGE,
			.areas = &w.areas,
			.pages = &w.pages,
			.blocks = w.aggregate,
			.modules = &module,
			.n_modules = 1,
			.threads = &thread,
			.n_threads = 1,
			.is_glibc = true,
			.knows_all_blocks = true,
	};
	return (struct graph_input){
			.parts = parts,
			.threads = &w.thread,
			.n_threads = 1,
			.kernel_words = w.kernel_words,
			.n_kernel_words = w.n_kernel_words,
			.read = read_memory,
			.variable = variable_of,
			.frame = frame_of,
			.class_of = class_of,
	};
}

static void compare(unsigned seed, size_t seen[REC_GRADES]) {
	struct parts_input parts;
	struct graph graph = {0};
	static struct rec_grade slow_grades[STACKS][REC_GRADES];
	make(seed);
	const struct graph_input in = input_of(&parts);
	assert_true(graph_grade(&in, &graph, NULL));
	grade_slowly(slow_grades);
	compare_classes(seed, &graph);
	size_t n = 0;
	EACH(row, graph.grades) { // of all classes
		struct rec_grade *last = n ? &graph.grades.items[n - 1] : NULL;
		if (last && last->stack == row->stack && last->grade == row->grade) {
			ADD_FIELDS(last, row, blocks, bytes, owned_blocks, owned_bytes);
		} else {
			graph.grades.items[n++] = *row;
		}
	}
	for (size_t i = 0; i < n; i++) {
		struct rec_grade *row = &graph.grades.items[i],
						 *want = &slow_grades[row->stack][row->grade];
		if (row->blocks != want->blocks || row->bytes != want->bytes ||
				row->owned_blocks != want->owned_blocks || row->owned_bytes != want->owned_bytes) {
			fail_msg("seed %u, stack %u, grade %u: %u blocks (%u owned), not %u (%u)", seed,
					row->stack, row->grade, (unsigned)row->blocks, (unsigned)row->owned_blocks,
					(unsigned)want->blocks, (unsigned)want->owned_blocks);
		}
		seen[row->grade] += row->blocks;
		want->blocks = 0;
	}
	for (uint32_t i = 0; i < STACKS * REC_GRADES; i++) {
		assert_int_equal(slow_grades[i / REC_GRADES][i % REC_GRADES].blocks, 0);
	}
	if (seed <= 80 && !w.is_mapped) { // of which the slow version of holders knows nothing
		compare_holders(seed, &graph);
	}
	graph_finish(&graph);
	finish();
}

static void grades_are_the_slow_versions(void **state) {
	(void)state;
	const char *wish = getenv("GRAPH_SEEDS");
	unsigned n = wish ? (unsigned)atoi(wish) : 3000;
	size_t seen[REC_GRADES] = {0};
	for (unsigned seed = 1; seed <= n; seed++) {
		compare(seed, seen);
	}
	for (int grade = 0; grade < REC_GRADES; grade++) {
		assert_true(seen[grade] > 50); // else the worlds are too plain
	}
	assert_true(n_sharers > 20);
}

static bool read_nothing(void *user, uint64_t at, void *out, size_t bytes) {
	(void)user;
	(void)at;
	(void)out;
	(void)bytes;
	return false;
}

/** What cannot be read may hold anything: nothing is said of any block. */
static void unreadable_memory_accuses_nobody(void **state) {
	(void)state;
	struct parts_input parts;
	struct graph graph = {0};
	struct err err = {0};
	make(7);
	struct graph_input in = input_of(&parts);
	in.read = read_nothing;
	assert_false(graph_grade(&in, &graph, &err));
	assert_int_equal(graph.grades.n, 0);
	graph_finish(&graph);
	finish();
}

static struct graph_input failing_input;

static void grade_once(void) {
	struct graph graph = {0};
	(void)graph_grade(&failing_input, &graph, NULL);
	graph_finish(&graph);
}

static void each_lack_of_memory_ends_the_process(void **state) {
	(void)state;
	struct parts_input parts;
	make(7);
	failing_input = input_of(&parts);
	assert_true(ends_at_each(grade_once) > 40);
	finish();
}

/** The lists of free chunks are in the C library's data: a chunk begins in the block before it. */
static void lists_of_free_chunks_hold_nothing(void **state) {
	(void)state;
	for (int is_libcs = 0; is_libcs < 2; is_libcs++) {
		struct parts_input parts;
		struct graph graph = {0};
		memset(&w, 0, sizeof w);
		srand(1);
		put_blocks();
		w.n_words = 0;
		put_area(DATA_AT, DATA_PAGES, SMAPS_FILE, w.data, w.is_there);
		put_area(HEAP_AT, HEAP_PAGES, SMAPS_HEAP, w.heap, w.is_there + DATA_PAGES);
		w.areas.items[0].name = is_libcs ? "/lib/libc.so.6" : "/lib/libother.so";
		w.pages.how = PAGEMAP_SCANNED;
		uint64_t head = (w.blocks[0].start + w.blocks[0].bytes) & ~15ull;
		size_t at = 0;
		while (!w.is_there[at / PAGE]) {
			at += PAGE;
		}
		memcpy(w.data + at, &head, sizeof head);
		const struct graph_input in = input_of(&parts);
		assert_true(graph_grade(&in, &graph, NULL));
		size_t n_held = 0;
		for (size_t i = 0; i < graph.grades.n; i++) {
			n_held += graph.grades.items[i].grade < REC_UNREACHABLE ? graph.grades.items[i].blocks
																	: 0;
		}
		assert_int_equal(n_held, is_libcs ? 0 : 1);
		graph_finish(&graph);
		finish();
	}
}

/**
 * Blocks from before an attach are told by size where they are lost. One that the allocator does
 * not know any more is none; what it knows alone holds.
 */
static void older_blocks_are_told_by_size(void **state) {
	(void)state;
	static const struct extent known[] = {{HEAP_AT + 16, 24}, {HEAP_AT + 48, 24},
			{HEAP_AT + 80, 104}, {HEAP_AT + 192, 40}, {HEAP_AT + 240, 24}, {HEAP_AT + 272, 24}};
	static const struct extent heap[] = {{HEAP_AT + 16, 24}, {HEAP_AT + 80, 104},
			{HEAP_AT + 192, 40}, {HEAP_AT + 240, 24}, {HEAP_AT + 272, 24}, {HEAP_AT + 400, 72}};
	static const struct rec_grade wanted[] = {
			{.grade = REC_HELD, .blocks = 2, .bytes = 24 + 72},
			{.grade = REC_UNREACHABLE, .blocks = 2, .bytes = 48},
			{.grade = REC_UNREACHABLE, .blocks = 1, .bytes = 40},
			{.grade = REC_UNREACHABLE, .blocks = 1, .bytes = 104},
	};
	const uint64_t word = HEAP_AT + 240;
	struct parts_input parts;
	struct graph graph = {0};
	struct extent *old = malloc(sizeof known);
	memset(&w, 0, sizeof w);
	w.aggregate = aggregate_create(NULL);
	aggregate_expect_old_blocks(w.aggregate);
	aggregate_old_blocks(w.aggregate, memcpy(old, known, sizeof known), N_OF(known));
	do {
		vec_finish(&w.areas);
		vec_finish(&w.pages);
		put_area(HEAP_AT, HEAP_PAGES, SMAPS_HEAP, w.heap, w.is_there);
	} while (!w.is_there[0]);
	memcpy(w.heap + 400, &word, sizeof word);
	w.pages.how = PAGEMAP_SCANNED;
	struct graph_input in = input_of(&parts);
	in.heap = heap;
	in.n_heap = N_OF(heap);
	assert_true(graph_grade(&in, &graph, NULL));
	assert_int_equal(graph.grades.n, N_OF(wanted));
	for (size_t i = 0; i < N_OF(wanted); i++) {
		const struct rec_grade *row = &graph.grades.items[i];
		assert_true(row->stack == GRAPH_OLD && row->grade == wanted[i].grade);
		assert_int_equal(row->blocks, wanted[i].blocks);
		assert_int_equal(row->bytes, wanted[i].bytes);
	}
	graph_finish(&graph);
	finish();
}

/** Far apart, next to each other, and over many pages. */
static void blocks_of_all_sizes_are_found(void **state) {
	(void)state;
	static const struct trace_event all[] = {
			{.ptr = 0x10000000, .size = 100},
			{.ptr = 0x13ffffd0, .size = 100},
			{.ptr = 0x20000000, .size = 200 << 20},
			{.ptr = 0x20000000 + (200 << 20) + 16, .size = 16},
			{.ptr = 0x7f0000000000, .size = 1},
	};
	for (uint32_t i = 0; i < 4 * N_OF(all); i++) {
		const struct trace_event *b = &all[i / 4];
		const uint64_t inside[] = {0, b->size / 2, b->size - 1, b->size};
		const uint64_t word = b->ptr + inside[i % 4];
		struct parts_input parts;
		struct graph graph = {0};
		memset(&w, 0, sizeof w);
		w.aggregate = aggregate_create(NULL);
		assert_int_equal(aggregate_thread(w.aggregate, 1, 1, 0), 1);
		for (uint32_t k = 0; k < N_OF(all); k++) {
			struct trace_event e = all[k];
			e.thread = 1;
			e.kind = TRACE_ALLOC;
			e.node = 1 + k;
			aggregate_events(w.aggregate, &e, 1);
		}
		do {
			vec_finish(&w.areas);
			vec_finish(&w.pages);
			memset(&w.areas, 0, sizeof w.areas);
			memset(&w.pages, 0, sizeof w.pages);
			put_area(DATA_AT, 1, SMAPS_FILE, w.data, w.is_there);
		} while (!w.is_there[0]);
		w.pages.how = PAGEMAP_SCANNED;
		memcpy(w.data, &word, sizeof word);
		const struct graph_input in = input_of(&parts);
		assert_true(graph_grade(&in, &graph, NULL));
		EACH(row, graph.grades) {
			bool is_it = aggregate_node(w.aggregate, row->stack) == 1 + i / 4;
			const uint8_t held = inside[i % 4] ? REC_HELD_INSIDE : REC_HELD;
			assert_int_equal(row->grade, is_it ? held : REC_UNREACHABLE);
		}
		graph_finish(&graph);
		finish();
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(grades_are_the_slow_versions),
			cmocka_unit_test(unreadable_memory_accuses_nobody),
			cmocka_unit_test(each_lack_of_memory_ends_the_process),
			cmocka_unit_test(lists_of_free_chunks_hold_nothing),
			cmocka_unit_test(older_blocks_are_told_by_size),
			cmocka_unit_test(blocks_of_all_sizes_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
