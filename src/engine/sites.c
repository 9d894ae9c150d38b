// SPDX-License-Identifier: MIT
#include "engine/sites.h"

#include "engine/rank.h"

#include <stdlib.h>

struct costs costs_of_stack(const struct rec_stack *s, enum metric metric) {
	struct costs c = {.allocations = s->allocations, .temporary = s->temporary};
	switch (metric) {
	case METRIC_PEAK:
		c.bytes = s->peak_bytes;
		c.blocks = s->peak_blocks;
		break;
	case METRIC_NEVER_FREED:
		c.bytes = s->live_bytes;
		c.blocks = s->live_blocks;
		break;
	case METRIC_TEMPORARY:
		c.bytes = s->temporary_bytes;
		c.blocks = s->temporary;
		break;
	case METRIC_ALLOCATIONS:
	case N_METRICS:
		c.bytes = s->allocated_bytes;
		c.blocks = s->allocations;
		break;
	}
	return c;
}

uint64_t costs_weight(const struct costs *c, enum metric metric) {
	return metric == METRIC_TEMPORARY || metric == METRIC_ALLOCATIONS ? c->blocks : c->bytes;
}

static void add(struct costs *to, const struct costs *c) {
	to->bytes += c->bytes;
	to->blocks += c->blocks;
	to->allocations += c->allocations;
	to->temporary += c->temporary;
}

bool rank_stacks(const struct recording *r, enum metric metric, struct arena *arena,
		struct stack_ranking *out) {
	*out = (struct stack_ranking){0};
	struct rank *ranks = malloc((r->stacks.n + 1ul) * sizeof *ranks);
	out->stacks = arena_new(arena, uint32_t, r->stacks.n);
	if (!ranks || !out->stacks) {
		free(ranks);
		return false;
	}
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		struct costs c = costs_of_stack(&r->stacks.items[i], metric);
		add(&out->total, &c);
		// A block of zero bytes weighs nothing, but it is a block
		if (c.blocks > 0) {
			ranks[out->n++] = (struct rank){costs_weight(&c, metric), i};
		}
	}
	qsort(ranks, out->n, sizeof *ranks, rank_heaviest_first);
	for (uint32_t i = 0; i < out->n; i++) {
		out->stacks[i] = ranks[i].index;
	}
	free(ranks);
	return true;
}

// Sites under construction
struct site_table {
	struct site *sites;
	uint32_t n;
	uint32_t *of_function; // site + 1, 0: none yet; the last is that of the empty stack
	const struct recording *recording;
	enum metric metric;
};

static void add_to_site(struct site_table *t, uint32_t function, const struct name *name,
		uint32_t stack) {
	struct costs c = costs_of_stack(&t->recording->stacks.items[stack], t->metric);
	uint32_t *at = &t->of_function[function];
	if (*at == 0) { // stacks come heaviest first
		*at = ++t->n;
		t->sites[t->n - 1] = (struct site){.name = name, .heaviest = stack};
	}
	struct site *s = &t->sites[*at - 1];
	s->n_stacks++;
	add(&s->costs, &c);
}

static bool sort_sites(struct site_ranking *out, const struct site *sites, enum metric metric) {
	struct rank *ranks = malloc((out->n + 1ul) * sizeof *ranks);
	if (!ranks) {
		return false;
	}
	for (uint32_t i = 0; i < out->n; i++) {
		ranks[i] = (struct rank){costs_weight(&sites[i].costs, metric), i};
	}
	qsort(ranks, out->n, sizeof *ranks, rank_heaviest_first);
	for (uint32_t i = 0; i < out->n; i++) {
		out->sites[i] = sites[ranks[i].index];
	}
	free(ranks);
	return true;
}

bool rank_sites(const struct recording *r, const struct names *n, enum metric metric,
		struct arena *arena, struct site_ranking *out) {
	static const struct name nowhere = {.function = {(const uint8_t *)"(no stack)", 10}};
	struct arena scratch = {0};
	struct stack_ranking stacks;
	bool ok = false;
	*out = (struct site_ranking){0};
	if (!rank_stacks(r, metric, &scratch, &stacks)) {
		goto done;
	}
	uint32_t n_functions = names_n_functions(n);
	struct site_table t = {.recording = r, .metric = metric};
	t.of_function = arena_new(&scratch, uint32_t, n_functions + 1ul);
	t.sites = arena_new(&scratch, struct site, stacks.n);
	if (!t.of_function || !t.sites) {
		goto done;
	}
	for (uint32_t i = 0; i < stacks.n; i++) {
		const struct name *name = names_site(n, r->stacks.items[stacks.stacks[i]].node);
		add_to_site(&t, name ? name->function_id : n_functions, name ? name : &nowhere,
				stacks.stacks[i]);
	}
	out->n = t.n;
	out->total = stacks.total;
	out->sites = arena_new(arena, struct site, t.n);
	ok = out->sites && sort_sites(out, t.sites, metric);
done:
	arena_finish(&scratch);
	return ok;
}
