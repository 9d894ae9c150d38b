// SPDX-License-Identifier: MIT
/*
 * Finds who owns which addresses, by claims in layers: claims of one layer do not overlap, and an
 * address belongs to the first layer that claims it. A line of smaps is cut wherever a claim begins
 * or ends; what nobody claims is the line's own.
 *
 *   heaptrack     |    |##|                         |
 *   calls         |    |  |     |##mmap()##|        |
 *   arenas        |    |##########|                 |
 *   stacks        |    |                        |###|
 *   line of smaps |----------------------------------|
 */
#include "engine/parts/owners.h"

#include "wire/event.h"

enum { LAYER_OURS, LAYER_CALLS, LAYER_ARENAS, LAYER_STACKS, LAYERS };
enum { GUARD_MOST_BYTES = 1 << 20, STACK_MOST_BYTES = 16 << 20 };
#define ARENA_FIRST (1ull << 40) // below are only mappings at requested addresses: Go's heap

struct claim {
	uint64_t start, end;
	struct owner owner;
};

struct layer {
	VEC(struct claim);
	size_t at;
};

struct finding {
	const struct parts_input *in;
	const struct live_block *blocks;
	size_t n_blocks;
	VEC(uint64_t) sps; // of all threads, rising
	struct layer layers[LAYERS];
};

static void claim(struct finding *f, int layer, uint64_t start, uint64_t end, uint8_t part,
		uint32_t mapping) {
	struct layer *l = &f->layers[layer];
	uint64_t before = l->n ? l->items[l->n - 1].end : 0;
	start = start > before ? start : before;
	if (start < end) {
		(void)vec_add(l, (struct claim){start, end, {mapping, AREA_NONE, part}});
	}
}

static bool has_block(const struct finding *f, uint64_t start, uint64_t end) {
	size_t i = sorted_first_of(f->blocks, f->n_blocks, sizeof *f->blocks, start);
	const struct live_block *before = i > 0 ? &f->blocks[i - 1] : NULL;
	return (i < f->n_blocks && f->blocks[i].start < end) ||
			(before && before->start + before->bytes > start);
}

// ---- recorded calls that map

static void sort_sps(struct finding *f) {
	for (size_t i = 0; i < f->in->n_threads; i++) {
		(void)vec_add(&f->sps, f->in->threads[i].sp);
	}
	vec_sort(&f->sps, by_number);
}

static bool has_sp(const struct finding *f, const struct mapped_range *range) {
	size_t i = sorted_first(f->sps.items, f->sps.n, range->start);
	return i < f->sps.n && f->sps.items[i] < range->end;
}

/** What the allocator mapped holds blocks, or its tables if no block was ever near. */
static uint8_t part_of_call(const struct finding *f, const struct mapped_range *range) {
	const struct parts_input *in = f->in;
	enum wire_map_what what = (enum wire_map_what)(range->sort >> 4);
	if (has_block(f, range->start, range->end)) {
		return REC_PART_HEAP_FREE;
	}
	if (what == WIRE_MAP_STACK || has_sp(f, range)) {
		return REC_PART_STACKS;
	}
	if (what == WIRE_MAP_INSIDE ||
			(in->is_allocators && in->is_allocators(in->user, range->node))) {
		return aggregate_ever_had(in->blocks, range->start, range->end) ? REC_PART_HEAP_FREE
																		: REC_PART_ALLOCATOR_TABLES;
	}
	return REC_PART_MAPPED;
}

static void claim_call(void *user, const struct mapped_range *range) {
	struct finding *f = user;
	uint8_t part = part_of_call(f, range);
	claim(f, LAYER_CALLS, range->start, range->end, part, range->mapping + 1);
}

// ---- without a recorded call

static bool is_plain(const struct smaps_area *a) {
	return a->kind == SMAPS_ANONYMOUS && !a->is_shared && !*a->name;
}

/** Is there a block without a mapping of its own? */
static bool has_small_block(const struct finding *f, uint64_t start, uint64_t end) {
	size_t i = sorted_first_of(f->blocks, f->n_blocks, sizeof *f->blocks, start);
	while (i < f->n_blocks && glibc_has_mapped(f->in, &f->blocks[i])) {
		i++;
	}
	return i < f->n_blocks && f->blocks[i].start < end;
}

/**
 * glibc's further arenas are 64 MiB each, and aligned to that; their unused part is inaccessible.
 */
static void claim_arenas(struct finding *f, const struct smaps_area *a, bool is_last) {
	uint64_t at = (a->start + ARENA_BYTES - 1) & -ARENA_BYTES, last = a->end & -ARENA_BYTES;
	while (at < last) { // full ones
		size_t i = sorted_first_of(f->blocks, f->n_blocks, sizeof *f->blocks, at);
		uint64_t next = i < f->n_blocks ? f->blocks[i].start & -ARENA_BYTES : last;
		at = next < last ? next : last;
		if (at < last && has_small_block(f, at, at + ARENA_BYTES)) {
			claim(f, LAYER_ARENAS, at, at + ARENA_BYTES, REC_PART_HEAP_FREE, 0);
		}
		at += at < last ? ARENA_BYTES : 0;
	}
	bool has_reserve = !is_last && a[1].start == a->end && !a[1].is_writable && is_plain(&a[1]) &&
			a[1].end >= at + ARENA_BYTES && at >= ARENA_FIRST;
	if (has_reserve && at < a->end) {
		claim(f, LAYER_ARENAS, at, a->end, REC_PART_HEAP_FREE, 0);
	}
}

/** Where the bss of the file in the previous line ends in this one. */
static uint64_t bss_end(const struct parts_input *in, const struct smaps_area *a) {
	if (a == in->areas->items || a[-1].end != a->start || a[-1].kind != SMAPS_FILE) {
		return a->start;
	}
	size_t i = sorted_first_of(in->modules, in->n_modules, sizeof *in->modules, a->start);
	uint64_t end = i > 0 ? in->modules[i - 1].end : 0;
	end = (end + in->page_bytes - 1) & -in->page_bytes;
	end = in->n_modules == 0 || end > a->end ? a->end : end;
	return end > a->start ? end : a->start;
}

/**
 * A thread's part of a line: a stack ends with the page of its thread area; if that is elsewhere,
 * as the main thread's, that page and two before it are its variables. Others may share the line.
 */
static void claim_stack(struct finding *f, const struct parts_thread *t, uint64_t of) {
	const struct smaps_area *a = smaps_at(f->in->areas, of);
	if (!a || !is_plain(a)) {
		return;
	}
	uint64_t page = f->in->page_bytes, area = t->fs_base & -page;
	bool has_sp = t->sp >= a->start && t->sp < a->end && !has_block(f, t->sp, t->sp + 1);
	bool has_area = t->fs_base >= a->start && t->fs_base < a->end;
	bool is_whole = has_sp && has_area && t->sp < t->fs_base;
	uint64_t start = bss_end(f->in, a);
	uint64_t end = is_whole || (has_area && !has_sp) ? area + page : a->end;
	if (has_area && !has_sp && t->sp != 0) {
		RAISE_TO(start, area - 2 * page);
	}
	if ((has_sp || has_area) && start < end && (is_whole || end - start <= STACK_MOST_BYTES)) {
		(void)vec_add(&f->layers[LAYER_STACKS],
				(struct claim){start, end, {0, AREA_NONE, REC_PART_STACKS}});
	}
}

static void claim_stacks(struct finding *f) {
	for (size_t i = 0; i < f->in->n_threads; i++) {
		claim_stack(f, &f->in->threads[i], f->in->threads[i].sp);
		claim_stack(f, &f->in->threads[i], f->in->threads[i].fs_base);
	}
	vec_sort(&f->layers[LAYER_STACKS], by_number);
}

/** Was it mapped before the attach? *end: lowered to where the answer changes. */
static bool was_before(const struct parts_input *in, uint64_t at, uint64_t *end) {
	const struct smaps *s = in->before;
	size_t i = s ? sorted_first_of(s->items, s->n, sizeof *s->items, at + 1) : 0;
	bool was = i > 0 && at < s->items[i - 1].end;
	uint64_t to = was ? s->items[i - 1].end : s && i < s->n ? s->items[i].start : *end;
	*end = to < *end ? to : *end;
	return was;
}

/** Who mapped it by a call that was not recorded, or NULL. *end: as in was_before. */
static const struct parts_seen *seen_at(const struct parts_input *in, uint64_t at, uint64_t *end) {
	const struct parts_seen *newest = NULL;
	EACH_OF(s, in->seen, in->mappings ? in->n_seen : 0) {
		if (s->start > at) {
			LOWER_TO(*end, s->start);
		} else if (s->end > at && (!newest || s->time_ns > newest->time_ns)) {
			newest = s;
		}
	}
	LOWER_TO(*end, newest ? newest->end : *end);
	return newest;
}

/** What an unclaimed part of an anonymous line is. *end: as in was_before. */
static struct owner owner_of_rest(const struct finding *f, uint32_t i, uint64_t at, uint64_t *end) {
	const struct smaps *s = f->in->areas;
	const struct smaps_area *a = &s->items[i], *before = i > 0 ? a - 1 : NULL;
	struct owner o = {.area = AREA_NONE, .part = REC_PART_UNKNOWN};
	bool touches = before && before->end == a->start;
	const struct parts_seen *seen = NULL;
	if (a->kind == SMAPS_HEAP) {
		o.part = REC_PART_HEAP_FREE;
	} else if (a->kind == SMAPS_STACK) {
		o.part = REC_PART_STACKS;
	} else if (*a->name) {
		o.part = REC_PART_MAPPED;
		o.area = i;
	} else if (at < bss_end(f->in, a)) {
		o.part = REC_PART_MODULES_WRITTEN;
		o.area = i - 1;
		*end = *end < bss_end(f->in, a) ? *end : bss_end(f->in, a);
	} else if (touches && is_plain(before) && !before->is_writable && a->is_writable &&
			before->end - before->start <= GUARD_MOST_BYTES &&
			a->end - a->start <= STACK_MOST_BYTES) {
		o.part = REC_PART_STACKS; // an ended thread's, which glibc keeps with its guard
	} else if (!f->in->is_glibc && has_block(f, a->start, a->end)) {
		o.part = REC_PART_HEAP_FREE; // an allocator that makes system calls itself
	} else if ((seen = seen_at(f->in, at, end)) || was_before(f->in, at, end)) {
		o.part = REC_PART_MAPPED;
		o.area = seen ? AREA_SEEN + (uint32_t)(seen - f->in->seen) : AREA_BEFORE;
	}
	o.area = o.part == REC_PART_UNKNOWN ? i : o.area;
	return o;
}

// ---- putting it together

/** The first claim on `at`. *end is lowered to where the claim ends or a stronger one begins. */
static const struct claim *claim_at(struct finding *f, int first, int last, uint64_t at,
		uint64_t *end) {
	const struct claim *found = NULL;
	for (int k = first; k <= last && !found; k++) {
		struct layer *l = &f->layers[k];
		while (l->at < l->n && l->items[l->at].end <= at) {
			l->at++;
		}
		const struct claim *c = l->at < l->n ? &l->items[l->at] : NULL;
		if (c && c->start <= at) {
			*end = c->end < *end ? c->end : *end;
			found = c;
		} else if (c && c->start < *end) {
			*end = c->start;
		}
	}
	return found;
}

static struct owner owner_of_line(const struct smaps_area *a, uint32_t i) {
	return (struct owner){.area = i,
			.part = a->kind == SMAPS_SHARED   ? REC_PART_SHARED
					: a->kind == SMAPS_FILE   ? REC_PART_MODULES_WRITTEN
					: a->kind == SMAPS_KERNEL ? REC_PART_FILES
											  : REC_PART_UNKNOWN};
}

static void divide(struct finding *f, uint32_t i, struct owners *out) {
	const struct smaps_area *a = &f->in->areas->items[i];
	bool is_own = a->kind > SMAPS_STACK || (a->is_shared && a->kind == SMAPS_ANONYMOUS);
	bool has_calls = a->kind == SMAPS_SHARED || a->kind == SMAPS_HEAP;
	int last = has_calls                       ? LAYER_CALLS
			: is_own || a->kind == SMAPS_STACK ? LAYER_OURS
											   : LAYER_STACKS;
	uint64_t end;
	for (uint64_t at = a->start; at < a->end; at = end) {
		end = a->end;
		const struct claim *c = claim_at(f, LAYER_OURS, last, at, &end);
		bool is_lines = is_own && !(c && c->owner.part == REC_PART_OURS);
		struct owner owner = is_lines ? owner_of_line(a, i)
				: c                   ? c->owner
									  : owner_of_rest(f, i, at, &end);
		if (is_lines && c) {
			owner.mapping = c->owner.mapping; // of shared memory: who mapped it
		}
		(void)vec_add(&out->spans, (struct owner_span){at, end, owner, i, is_lines});
	}
}

void owners_find(const struct parts_input *in, const struct live_block *blocks, size_t n_blocks,
		struct owners *out) {
	struct finding f = {.in = in, .blocks = blocks, .n_blocks = n_blocks};
	for (size_t i = 0; i < in->n_ours; i++) {
		claim(&f, LAYER_OURS, in->ours[i].start, in->ours[i].end, REC_PART_OURS, 0);
	}
	sort_sps(&f);
	if (in->mappings) {
		mappings_each(in->mappings, claim_call, &f);
	}
	EACH_THAT(a, *in->areas,
			in->is_glibc && a->kind == SMAPS_ANONYMOUS && !a->is_shared && a->is_writable) {
		claim_arenas(&f, a, a + 1 == in->areas->items + in->areas->n);
	}
	claim_stacks(&f);
	for (uint32_t i = 0; i < in->areas->n; i++) {
		divide(&f, i, out);
	}
	for (int k = 0; k < LAYERS; k++) {
		vec_finish(&f.layers[k]);
	}
	vec_finish(&f.sps);
}
