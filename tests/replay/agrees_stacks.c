// SPDX-License-Identifier: MIT

/* Compares the stacks of a recording with the replay: costs, lifetimes, intervals and sizes. */

#include "replay/agrees.h"

/** Which row of the recording a block belongs to: that of its node and thread, else of the node. */
struct stack_map {
	struct stack_key {
		uint64_t key; // node << 32 | thread
		uint32_t stack;
	} * keys;
	size_t n;
};

static int compare_keys(const void *x, const void *y) {
	const struct stack_key *a = x;
	const struct stack_key *b = y;
	return a->key < b->key ? -1 : a->key > b->key;
}

static struct stack_map map_stacks(const struct recording *rec) {
	struct stack_map map = {.keys = need(rec->stacks.n, sizeof *map.keys), .n = rec->stacks.n};
	for (uint32_t i = 0; i < rec->stacks.n; i++) {
		const struct rec_stack *s = &rec->stacks.items[i];
		map.keys[i] = (struct stack_key){(uint64_t)s->node << 32 | s->thread, i};
	}
	if (map.n) {
		qsort(map.keys, map.n, sizeof *map.keys, compare_keys);
	}
	return map;
}

static uint32_t find_stack(const struct stack_map *map, uint32_t node, uint32_t thread) {
	struct stack_key wanted = {.key = (uint64_t)node << 32 | thread};
	const struct stack_key *found = map->n
			? bsearch(&wanted, map->keys, map->n, sizeof wanted, compare_keys)
			: NULL;
	return found ? found->stack : REPLAY_NONE;
}

static uint32_t stack_of(const struct stack_map *map, const struct replay_block *b) {
	uint32_t own = find_stack(map, b->node, b->thread);
	return own != REPLAY_NONE ? own : find_stack(map, b->node, 0);
}

static void fold_stack(struct rec_stack *into, const struct rec_stack *s) {
	if (into->allocations == 0 || s->first_ns < into->first_ns) {
		into->first_ns = s->first_ns;
		into->usual_size = s->usual_size;
	}
	into->node = s->node;
	into->last_ns = s->last_ns > into->last_ns ? s->last_ns : into->last_ns;
	into->allocations += s->allocations;
	into->allocated_bytes += s->allocated_bytes;
	into->temporary += s->temporary;
	into->temporary_bytes += s->temporary_bytes;
	into->short_lived += s->short_lived;
	into->peak_blocks += s->peak_blocks;
	into->peak_bytes += s->peak_bytes;
	into->live_blocks += s->live_blocks;
	into->live_bytes += s->live_bytes;
	into->reallocs += s->reallocs;
}

/**
 * Threads that are merged are no longer known by their ids: one row per node, of all threads. The
 * caller frees its stacks and intervals.
 */
static struct recording without_threads(const struct recording *rec) {
	struct recording out = *rec;
	struct stack_map map = map_stacks(rec);
	uint32_t *row_of = need(rec->stacks.n, sizeof *row_of);
	out.stacks.items = need(rec->stacks.n, sizeof *out.stacks.items);
	out.lifetimes.items = need(rec->stacks.n, sizeof *out.lifetimes.items);
	out.stacks.n = 0;
	for (size_t i = 0; i < map.n; i++) {
		bool is_new = i == 0 || map.keys[i].key >> 32 != map.keys[i - 1].key >> 32;
		out.stacks.n += is_new;
		row_of[map.keys[i].stack] = out.stacks.n - 1;
		uint32_t own = map.keys[i].stack;
		fold_stack(&out.stacks.items[out.stacks.n - 1], &rec->stacks.items[own]);
		rec_lifetimes_add(&out.lifetimes.items[out.stacks.n - 1], &rec->lifetimes.items[own]);
	}
	out.intervals.items = need(rec->intervals.n, sizeof *out.intervals.items);
	for (uint32_t i = 0; i < rec->intervals.n; i++) {
		out.intervals.items[i] = rec->intervals.items[i];
		out.intervals.items[i].stack = row_of[rec->intervals.items[i].stack];
	}
	free(row_of);
	free(map.keys);
	return out;
}

static unsigned lifetime_class(uint64_t life_ns) {
	unsigned n = 0;
	for (uint64_t limit = 1000; n < 15 && life_ns >= limit; limit *= 4) {
		n++;
	}
	return n;
}

// A stack by the slow way
struct slow_stack {
	struct rec_stack sum;
	struct rec_lifetimes lifetimes;
};

static void add_to_stack(struct slow_stack *slow, const struct replay_block *b, uint64_t peak) {
	struct rec_stack *s = &slow->sum;
	if (s->allocations == 0) {
		s->first_ns = b->birth;
		s->usual_size = b->size < UINT32_MAX ? (uint32_t)b->size : UINT32_MAX;
	}
	s->last_ns = b->birth;
	s->allocations++;
	s->allocated_bytes += b->size;
	s->reallocs += b->is_by_realloc;
	s->temporary += b->is_temporary;
	s->temporary_bytes += b->is_temporary ? b->size : 0;
	s->short_lived += b->is_short_lived;
	if (b->birth <= peak && b->death > peak) {
		s->peak_blocks++;
		s->peak_bytes += b->size;
	}
	if (b->death == UINT64_MAX) {
		s->live_blocks++;
		s->live_bytes += b->size;
	} else if (!b->is_gone) {
		slow->lifetimes.blocks[lifetime_class(b->death - b->birth)]++;
	}
}

static bool lifetimes_agree(const struct rec_lifetimes *ours, const struct rec_lifetimes *theirs,
		struct err *why) {
	for (int i = 0; i < REC_LIFETIMES; i++) {
		if (!SAME(why, "a lifetime class", ours->blocks[i], theirs->blocks[i])) {
			return false;
		}
	}
	return true;
}

static bool stack_agrees(const struct rec_stack *ours, const struct rec_stack *theirs,
		struct err *why) {
	return SAME(why, "usual_size", ours->usual_size, theirs->usual_size) &&
			SAME(why, "allocations", ours->allocations, theirs->allocations) &&
			SAME(why, "allocated_bytes", ours->allocated_bytes, theirs->allocated_bytes) &&
			SAME(why, "temporary", ours->temporary, theirs->temporary) &&
			SAME(why, "temporary_bytes", ours->temporary_bytes, theirs->temporary_bytes) &&
			SAME(why, "short_lived", ours->short_lived, theirs->short_lived) &&
			SAME(why, "peak_blocks", ours->peak_blocks, theirs->peak_blocks) &&
			SAME(why, "peak_bytes", ours->peak_bytes, theirs->peak_bytes) &&
			SAME(why, "live_blocks", ours->live_blocks, theirs->live_blocks) &&
			SAME(why, "live_bytes", ours->live_bytes, theirs->live_bytes) &&
			SAME(why, "reallocs", ours->reallocs, theirs->reallocs) &&
			SAME(why, "first_ns", ours->first_ns, theirs->first_ns) &&
			SAME(why, "last_ns", ours->last_ns, theirs->last_ns);
}

static bool stacks_agree(const struct replay *r, const struct recording *rec,
		const struct stack_map *map, struct err *why) {
	struct slow_stack *ours = need(rec->stacks.n, sizeof *ours);
	for (size_t i = 0; i < r->blocks.n; i++) {
		const struct replay_block *b = &r->blocks.items[i];
		add_to_stack(&ours[stack_of(map, b)], b, rec->summary.peak_time_ns);
	}
	bool ok = true;
	for (uint32_t i = 0; ok && i < rec->stacks.n; i++) {
		ok = (stack_agrees(&ours[i].sum, &rec->stacks.items[i], why) &&
					 lifetimes_agree(&ours[i].lifetimes, &rec->lifetimes.items[i], why)) ||
				err_add(why, "stack %" PRIu32, i);
	}
	free(ours);
	return ok;
}

/** The first edge at or after a moment. */
static uint16_t edge_after(const struct recording *rec, uint64_t moment) {
	uint32_t low = 0;
	uint32_t high = rec->edges.n;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (rec->edges.items[middle].time_ns >= moment) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return (uint16_t)low;
}

static int compare_intervals(const void *x, const void *y) {
	const struct rec_interval *a = x;
	const struct rec_interval *b = y;
	if (a->stack != b->stack) {
		return a->stack < b->stack ? -1 : 1;
	}
	if (a->from != b->from) {
		return a->from < b->from ? -1 : 1;
	}
	return a->until < b->until ? -1 : a->until > b->until;
}

/** Sort, and add up what is equal. Gives how many are left. */
static size_t add_up_intervals(struct rec_interval *items, size_t n) {
	qsort(items, n, sizeof *items, compare_intervals);
	size_t n_out = 0;
	for (size_t i = 0; i < n; i++) {
		if (n_out && compare_intervals(&items[n_out - 1], &items[i]) == 0) {
			items[n_out - 1].count += items[i].count;
			items[n_out - 1].bytes += items[i].bytes;
			items[n_out - 1].temporary += items[i].temporary;
		} else {
			items[n_out++] = items[i];
		}
	}
	return n_out;
}

static struct rec_interval interval_of(const struct recording *rec, const struct replay_block *b,
		const struct stack_map *map) {
	return (struct rec_interval){
			.stack = stack_of(map, b),
			.from = edge_after(rec, b->birth),
			.until = b->death == UINT64_MAX ? REC_NEVER : edge_after(rec, b->death),
			.count = 1,
			.temporary = b->is_temporary,
			.bytes = b->size,
	};
}

static bool interval_agrees(const struct rec_interval *ours, const struct rec_interval *theirs,
		struct err *why) {
	return SAME(why, "stack", ours->stack, theirs->stack) &&
			SAME(why, "from", ours->from, theirs->from) &&
			SAME(why, "until", ours->until, theirs->until) &&
			SAME(why, "count", ours->count, theirs->count) &&
			SAME(why, "temporary", ours->temporary, theirs->temporary) &&
			SAME(why, "bytes", ours->bytes, theirs->bytes);
}

/**
 * A block lives at edge k if and only if from <= k < until. So equal intervals are the same as equal
 * compositions at each edge, block by block.
 */
static bool intervals_agree(const struct replay *r, const struct recording *rec,
		const struct stack_map *map, struct err *why) {
	struct rec_interval *ours = need(r->blocks.n, sizeof *ours);
	for (size_t i = 0; i < r->blocks.n; i++) {
		ours[i] = interval_of(rec, &r->blocks.items[i], map);
	}
	size_t n_ours = add_up_intervals(ours, r->blocks.n);
	struct rec_interval *theirs = need(rec->intervals.n, sizeof *theirs);
	for (uint32_t i = 0; i < rec->intervals.n; i++) {
		theirs[i] = recording_interval(rec, i);
	}
	size_t n_theirs = add_up_intervals(theirs, rec->intervals.n);
	bool ok = true;
	for (size_t i = 0; ok && i < n_ours && i < n_theirs; i++) {
		ok = interval_agrees(&ours[i], &theirs[i], why) || err_add(why, "interval %zu", i);
	}
	ok = ok && SAME(why, "number of intervals", n_ours, n_theirs);
	// Each is there once (a count of 2^32 would be reason enough for two)
	ok = ok &&
			(are_merged(rec) ||
					SAME(why, "number of different intervals", n_theirs, rec->intervals.n));
	free(theirs);
	free(ours);
	return ok;
}

static int compare_sizes(const void *x, const void *y) {
	const struct rec_size *a = x;
	const struct rec_size *b = y;
	if (a->stack != b->stack) {
		return a->stack < b->stack ? -1 : 1;
	}
	if (a->size != b->size) {
		return a->size < b->size ? -1 : 1;
	}
	return (int)a->is_class - (int)b->is_class;
}

/** A size of a stack that is counted exactly, or a class, in the order of appearance. */
struct size_list {
	struct rec_size *items;
	size_t n, capacity;
	uint32_t n_exact;
};

static struct rec_size *find_size(struct size_list *list, uint64_t size, bool is_class) {
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].size == size && list->items[i].is_class == is_class) {
			return &list->items[i];
		}
	}
	return NULL;
}

static struct rec_size *size_of(struct size_list *list, uint64_t size, uint32_t max_exact) {
	struct rec_size *known = find_size(list, size, false);
	if (known) {
		return known;
	}
	bool is_class = list->n_exact >= max_exact && size != 0;
	uint64_t smallest = size;
	if (is_class) {
		for (smallest = 1; size / smallest >= 2;) {
			smallest *= 2;
		}
		known = find_size(list, smallest, true);
		if (known) {
			return known;
		}
	}
	list->n_exact += !is_class && (size != 0 || list->n == 0);
	if (list->n == list->capacity) {
		list->capacity = list->capacity * 2 + 4;
		list->items = realloc(list->items, list->capacity * sizeof *list->items);
		check(list->items);
	}
	list->items[list->n++] = (struct rec_size){.size = smallest, .is_class = is_class};
	return &list->items[list->n - 1];
}

static bool size_list_agrees(struct size_list *list, uint32_t stack, const struct recording *rec,
		uint32_t *at, struct err *why) {
	qsort(list->items, list->n, sizeof *list->items, compare_sizes);
	for (size_t i = 0; i < list->n; i++, (*at)++) {
		const struct rec_size *ours = &list->items[i];
		if (*at >= rec->sizes.n) {
			return err_set(why, ERR_FORMAT, "sizes are missing");
		}
		const struct rec_size *theirs = &rec->sizes.items[*at];
		if (!SAME(why, "stack", stack, theirs->stack) ||
				!SAME(why, "size", ours->size, theirs->size) ||
				!SAME(why, "is_class", ours->is_class, theirs->is_class) ||
				!SAME(why, "count", ours->count, theirs->count) ||
				!SAME(why, "bytes", ours->bytes, theirs->bytes) ||
				!SAME(why, "live", ours->live, theirs->live)) {
			return err_add(why, "size %" PRIu32, *at);
		}
	}
	return true;
}

static bool sizes_agree(const struct replay *r, const struct recording *rec,
		const struct stack_map *map, struct err *why) {
	struct size_list *lists = need(rec->stacks.n, sizeof *lists);
	for (size_t i = 0; i < r->blocks.n; i++) {
		const struct replay_block *b = &r->blocks.items[i];
		struct rec_size *size = size_of(&lists[stack_of(map, b)], b->size, r->max_sizes_per_stack);
		size->count++;
		size->bytes += b->size;
		size->live += b->death == UINT64_MAX;
	}
	bool ok = true;
	uint32_t at = 0;
	for (uint32_t i = 0; i < rec->stacks.n; i++) {
		ok = ok && size_list_agrees(&lists[i], i, rec, &at, why);
		free(lists[i].items);
	}
	free(lists);
	return ok && SAME(why, "number of sizes", at, rec->sizes.n);
}

/** Edges and threads are compared as they are; stacks, and what belongs to them, as `rec` has them. */
static bool rows_agree(const struct replay *r, const struct recording *rec, struct err *why) {
	struct stack_map map = map_stacks(rec);
	bool ok = true;
	for (size_t i = 0; ok && i < r->blocks.n; i++) {
		ok = stack_of(&map, &r->blocks.items[i]) != REPLAY_NONE ||
				err_set(why, ERR_FORMAT, "there is no stack for node %" PRIu32,
						r->blocks.items[i].node);
	}
	// How many sizes of a row are exact depends on the row: folded ones have too many
	ok = ok && stacks_agree(r, rec, &map, why) && intervals_agree(r, rec, &map, why) &&
			(are_merged(rec) || sizes_agree(r, rec, &map, why));
	free(map.keys);
	return ok;
}

bool agrees_by_stack(const struct replay *r, const struct recording *rec, struct err *why) {
	if (!are_merged(rec)) {
		return rows_agree(r, rec, why);
	}
	struct recording folded = without_threads(rec);
	bool ok = rows_agree(r, &folded, why);
	free(folded.stacks.items);
	free(folded.lifetimes.items);
	free(folded.intervals.items);
	return ok;
}
