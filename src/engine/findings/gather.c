// SPDX-License-Identifier: MIT
/*
 * Gathers the stacks by site, and makes the curves of the sites that a finding could be about:
 * those largest by bytes at the peak, never freed and allocated. One scan over the intervals fills
 * all curves as differences, which are then summed up.
 */
#include "engine/findings/parts.h"
#include "engine/names/owner.h"

enum { LARGEST = 16 }; // per order

static struct place *place_for(struct finder *f, uint32_t *place_of_function,
		const struct name *name) {
	uint32_t *at = &place_of_function[name->function_id];
	if (*at == 0) {
		*at = ++f->n_places;
		f->places[*at - 1] = (struct place){.name = name, .first_ns = UINT64_MAX};
	}
	return &f->places[*at - 1];
}

static void add_stack(struct finder *f, struct place *p, uint32_t stack) {
	const struct rec_stack *stacks = f->r->stacks.items, *s = &stacks[stack];
	if (p->n_stacks++ == 0 || s->allocated_bytes > stacks[p->heaviest].allocated_bytes) {
		p->heaviest = stack;
		p->name = finder_site(f, stack);
	}
	ADD_FIELDS(p, s, allocations, allocated_bytes, short_lived, peak_bytes, peak_blocks);
	p->first_ns = s->first_ns < p->first_ns ? s->first_ns : p->first_ns;
	p->last_ns = s->last_ns > p->last_ns ? s->last_ns : p->last_ns;
	p->end_bytes += s->live_bytes - s->left_bytes;
	if (s->live_blocks > 0 && finder_is_noise(f, stack)) {
		f->out->noise_bytes += s->live_bytes;
		f->out->noise_blocks += s->live_blocks;
		p->noise_bytes += s->live_bytes;
		p->noise_blocks += s->live_blocks;
		return;
	}
	ADD_FIELDS(p, s, live_bytes, live_blocks, left_bytes);
}

static void gather_places(struct finder *f) {
	uint32_t n = f->r->stacks.n, most = names_n_functions(f->names);
	uint32_t *place_of_function = arena_new(&f->scratch, uint32_t, most + 1ul);
	f->place_of = arena_new(&f->scratch, uint32_t, n + 1ul);
	f->places = arena_new(&f->scratch, struct place, (most < n ? most : n) + 1ul);
	for (uint32_t i = 0; i < n; i++) {
		const struct name *name = finder_site(f, i);
		struct place *p = name ? place_for(f, place_of_function, name) : NULL;
		f->place_of[i] = p ? (uint32_t)(p - f->places) : UINT32_MAX;
		if (p) {
			add_stack(f, p, i);
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		LOWER_TO(f->place_of[i], f->n_places);
	}
	EACH(s, f->r->suppressed) { // suppressed blocks are live, too
		struct place *p = &f->places[f->place_of[s->stack]];
		p->noise_bytes += s->bytes;
		p->noise_blocks += s->blocks;
		p->end_bytes += s->bytes - s->left_bytes;
	}
}

/** A runtime's memory matters only if it holds it for the scripts that it runs. */
static uint64_t rank_of(const struct finder *f, const struct place *p, int order) {
	const uint64_t ranks[] = {p->peak_bytes, p->live_bytes, p->allocated_bytes};
	return p->name->is_runtime && !f->runs_scripts ? 0 : ranks[order];
}

/** Tag the largest of each order and return how many. `ranks` has room for all places. */
static uint32_t choose(const struct finder *f, struct rank *ranks, uint32_t *tag_of_place) {
	uint32_t n_tags = 0;
	for (int order = 0; order < 3; order++) {
		for (uint32_t i = 0; i < f->n_places; i++) {
			ranks[i] = (struct rank){rank_of(f, &f->places[i], order), i};
		}
		qsort(ranks, f->n_places, sizeof *ranks, rank_heaviest_first);
		EACH_OF_WHILE(rank, ranks, f->n_places, rank < ranks + LARGEST && rank->weight > 0) {
			uint32_t *tag = &tag_of_place[rank->index];
			*tag = *tag ? *tag : ++n_tags;
		}
	}
	return n_tags;
}

/** Curves in progress: 0 is the holder's, others tagged places'; rows have a point for the end. */
struct curves {
	uint64_t *all;
	size_t stride;
	const uint32_t *tag_of_place;
	uint32_t n_tags;
	uint64_t *lasting; // by number
};

enum { COME, GONE, KEPT, N_ROWS };

static uint64_t *row_of(const struct curves *c, uint32_t number, int row) {
	return c->all + ((size_t)number * N_ROWS + (size_t)row) * c->stride;
}

/** Add what the intervals of a stack change at each edge. */
static void add_changes(const struct finder *f, struct curves *c, uint32_t number,
		const struct rec_interval_row *row, const struct rec_interval_row *end) {
	uint64_t *come = row_of(c, number, COME), *gone = row_of(c, number, GONE);
	uint64_t *kept = row_of(c, number, KEPT);
	const uint32_t stack = row->stack;
	const uint64_t run = f->times_ns[f->n_points - 1];
	// As in live_bytes: a place does not keep what is suppressed or a runtime's own
	bool is_kept = f->r->stacks.items[stack].live_blocks > 0 && !finder_is_noise(f, stack);
	for (; row < end; row++) {
		const struct rec_interval v = rec_interval_of(row, f->r->wide.items);
		come[v.from] += v.bytes;
		bool is_late = v.until == REC_NEVER || f->times_ns[v.until] >= run / 10 * 9;
		c->lasting[number] += is_late && f->times_ns[v.from] <= run / 2 ? v.bytes : 0;
		if (v.until != REC_NEVER) {
			gone[v.until] += v.bytes;
		} else if (is_kept) {
			kept[v.from] += v.bytes;
		}
	}
}

static void scan_intervals(const struct finder *f, struct curves *c) {
	const struct rec_interval_row *rows = f->r->intervals.items;
	for (uint32_t i = 0, end; i < f->r->intervals.n; i = end) {
		const uint32_t stack = rows[i].stack, tag = c->tag_of_place[f->place_of[stack]];
		for (end = i; end < f->r->intervals.n && rows[end].stack == stack; end++) {}
		if (f->holder.tags && f->holder.tags[stack]) {
			add_changes(f, c, 0, rows + i, rows + end);
		}
		if (tag) {
			add_changes(f, c, tag, rows + i, rows + end);
		}
	}
}

/** Turn changes into live bytes. `end`: those at the end, which no edge shows. */
static const uint64_t *sum_up(uint64_t *come, const uint64_t *gone, size_t stride, uint64_t end) {
	uint64_t live = 0;
	for (size_t i = 0; i < stride; i++) {
		live += come[i] - (gone ? gone[i] : 0);
		come[i] = live;
	}
	come[stride - 1] = end;
	return come;
}

void finder_make_curves(struct finder *f) {
	uint32_t *tag_of_place = arena_new(&f->scratch, uint32_t, f->n_places + 1ul);
	struct rank *ranks = arena_new(&f->scratch, struct rank, f->n_places + 1ul);
	struct curves c = {.stride = f->r->edges.n + 1ul, .tag_of_place = tag_of_place};
	c.n_tags = choose(f, ranks, tag_of_place);
	c.all = arena_new(&f->scratch, uint64_t, (c.n_tags + 1ul) * N_ROWS * c.stride);
	c.lasting = arena_new(&f->scratch, uint64_t, c.n_tags + 1ul);
	scan_intervals(f, &c);
	const struct rec_stack *s = f->r->stacks.items;
	if (f->holder.tags) {
		f->holder.curve = sum_up(row_of(&c, 0, COME), row_of(&c, 0, GONE), c.stride,
				SUM(i, f->r->stacks.n, f->holder.tags[i] ? s[i].live_bytes - s[i].left_bytes : 0));
	}
	EACH_OF_THAT(p, f->places, f->n_places, tag_of_place[p - f->places]) {
		uint32_t tag = tag_of_place[p - f->places];
		p->live_curve = sum_up(row_of(&c, tag, COME), row_of(&c, tag, GONE), c.stride,
				p->end_bytes);
		p->kept_curve = sum_up(row_of(&c, tag, KEPT), NULL, c.stride, p->live_bytes);
		p->lasting_bytes = c.lasting[tag];
		p->gone_curve = sum_up(row_of(&c, tag, GONE), NULL, c.stride, 0);
	}
}

void finder_gather(struct finder *f) {
	const struct recording *r = f->r;
	f->runs_scripts = owner_is_runtime(r->strings.items[r->meta.exe]);
	f->times_ns = arena_new(&f->scratch, uint64_t, r->edges.n + 1ul);
	for (uint32_t i = 0; i < r->edges.n; i++) {
		f->times_ns[i] = r->edges.items[i].time_ns;
	}
	f->n_points = r->edges.n + 1;
	uint64_t last = r->edges.n ? f->times_ns[r->edges.n - 1] : 0, run = r->meta.duration_ns;
	// A short idle end does not count: a server that idles before its stop has not stopped growing
	run = run > last && run - last <= run / 4 ? last + 1 : run;
	f->times_ns[r->edges.n] = run > last ? run : last;
	for (uint32_t i = 0; i < r->edges.n && r->edges.items[i].bytes == 0; i++) {
		f->start_ns = f->times_ns[i];
	}
	f->start_ns = r->meta.source == REC_ATTACHED ? UINT64_MAX : f->start_ns;
	gather_places(f);
}
