// SPDX-License-Identifier: MIT
/*
 * Chooses the stacks that the page shows. Stacks of one thread and command that end in the same
 * node of the frames are one. Those that are too small to matter, if a limit asks for it, end at
 * the nearest caller that stays: so each number stays in the sum of everything above it.
 */
#include "web/encode/columns.h"

static const struct recording *recording_of(const struct columns *c, uint32_t metric) {
	return metric == LENS_PEAK ? c->r : c->others[metric];
}

/**
 * Nodes that stay: those whose subtree is worth `least_bytes`. A stack is worth keeping for the
 * largest of its bytes, or a share of the calls.
 */
static const uint64_t *weigh_nodes(struct columns *c) {
	const struct rec_summary *all = &c->r->summary;
	uint64_t *weights = arena_new(c->arena, uint64_t, c->frames->nodes.n);
	for (uint32_t m = 0; m < N_LENS_METRICS; m++) {
		const struct recording *r = recording_of(c, m);
		EACH_OF(s, r ? r->stacks.items : NULL, r ? r->stacks.n : 0) {
			bool is_of_calls = m == LENS_PEAK && all->allocations;
			double share = is_of_calls ? (double)s->allocations / (double)all->allocations : 0;
			uint64_t weight = (uint64_t)(share * (double)all->peak_bytes);
			RAISE_TO(weight, s->peak_bytes);
			RAISE_TO(weight, s->live_bytes);
			weights[c->frames->node_of[s->node]] += weight;
		}
	}
	for (uint32_t i = c->frames->nodes.n; i-- > 1;) {
		weights[c->frames->nodes.items[i].parent] += weights[i];
	}
	return weights;
}

/** The node of a frame of a stack; 0: there is none. */
static uint32_t find_frame(const struct columns *c, uint32_t rec_node, const struct name *frame) {
	struct stack_walk w = stack_walk_init(c->r, c->names, rec_node);
	uint32_t node = c->frames->node_of[rec_node];
	const struct name *f;
	while ((f = stack_walk_next(&w)) && f != frame) {
		node = c->frames->nodes.items[node].parent;
	}
	return f ? node : 0;
}

static struct page_site site_of(const struct columns *c, uint32_t rec_node,
		const struct name *site) {
	const struct name *frame = names_site_frame(c->names, rec_node, site);
	return (struct page_site){.node = frame ? find_frame(c, rec_node, frame) : 0,
			.module = site != frame ? site->function : (struct slice){0}};
}

/** Where a stack ends in the page. */
static uint32_t end_of(const struct columns *c, const uint64_t *weights, uint32_t rec_node) {
	uint32_t node = c->frames->node_of[rec_node];
	while (node != 0 && weights[node] < c->options->least_bytes) {
		node = c->frames->nodes.items[node].parent;
	}
	return node;
}

/** A stack of a recording, and what it is in the page. */
struct place {
	uint32_t stack;
	uint32_t node, thread, command;
	uint32_t metric; // of c->others; LENS_PEAK: of the recording itself
};

ORDER_OF(compare_places, struct place,
		LOWEST(node) ?: LOWEST(thread) ?: LOWEST(command) ?: LOWEST(metric) ?: LOWEST(stack));

/** They are one stack of the page. */
static bool is_same(const struct place *a, const struct place *b) {
	return a->node == b->node && a->thread == b->thread && a->command == b->command;
}

/** What is not of blocks; adds up how many stacks there are. */
static void find_others(struct columns *c, size_t *n) {
	for (uint32_t m = 0; m < N_LENS_METRICS; m++) {
		struct recording *as = arena_new(c->arena, struct recording, 1);
		if (lens_metrics[m].of != METRIC_OF_BLOCKS &&
				memory_as_recording(c->r, &(struct lens){.metric = m}, c->arena, as, NULL)) {
			c->others[m] = as;
			*n += as->stacks.n;
		}
	}
}

/** All stacks, by where they end and whose they are. */
static struct place *find_places(struct columns *c, size_t *n) {
	*n = c->r->stacks.n;
	find_others(c, n);
	const uint64_t *weights = weigh_nodes(c);
	struct place *places = arena_new(c->arena, struct place, *n + 1);
	*n = 0;
	for (uint32_t m = 0; m < N_LENS_METRICS; m++) {
		const struct recording *r = recording_of(c, m);
		for (uint32_t i = 0; r && i < r->stacks.n; i++) {
			const struct rec_stack *s = &r->stacks.items[i];
			const uint32_t end = end_of(c, weights, s->node);
			places[(*n)++] = (struct place){i, end, s->thread, s->command, m};
		}
	}
	qsort(places, *n, sizeof *places, compare_places);
	return places;
}

static void add_stack(struct columns *c, const struct place *at, const struct rec_stack *s) {
	struct page_stack *stack = &c->stacks.items[c->stacks.n - 1];
	if (at->metric != LENS_PEAK) {
		struct lens_costs costs = lens_stack_costs(at->metric, s);
		lens_costs_add(&stack->others[at->metric], &costs);
		if (at->metric == LENS_MAPPED) {
			c->stacks.mapping[at->stack] = c->stacks.n - 1;
		}
		return;
	}
	c->stacks.of[at->stack] = c->stacks.n - 1;
	rec_stack_add(&stack->sum, s);
	if (c->r->lifetimes.n) {
		rec_lifetimes_add(&stack->lifetimes, &c->r->lifetimes.items[at->stack]);
	}
}

void columns_find_stacks(struct columns *c) {
	struct page_stacks *p = &c->stacks;
	size_t n = 0;
	const struct place *places = find_places(c, &n);
	p->of = arena_new(c->arena, uint32_t, (size_t)c->r->stacks.n + 1);
	p->mapping = arena_new(c->arena, uint32_t, (size_t)c->r->mappings.n + 1);
	p->items = arena_new(c->arena, struct page_stack, n + 1);
	for (size_t i = 0; i < n; i++) {
		const struct place *at = &places[i];
		const struct rec_stack *s = &recording_of(c, at->metric)->stacks.items[at->stack];
		if (i == 0 || !is_same(at, at - 1)) {
			p->items[p->n++] = (struct page_stack){.node = at->node,
					.thread = at->thread,
					.command = at->command};
		}
		struct page_stack *stack = &p->items[p->n - 1];
		if (at->node != c->frames->node_of[s->node]) {
			stack->site = stack->keeper = (struct page_site){.node = at->node};
			p->n_merged += at->metric == LENS_PEAK;
		} else {
			stack->site = site_of(c, s->node, names_site(c->names, s->node));
			stack->keeper = site_of(c, s->node, names_keeper(c->names, s->node));
		}
		add_stack(c, at, s);
	}
}
