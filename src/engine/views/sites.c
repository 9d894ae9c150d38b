// SPDX-License-Identifier: MIT

/* Ranks the stacks and sites of a whole recording. */

#include "engine/sites.h"

#include "base/check.h"
#include "base/sorted.h"
#include "engine/findings.h"

#include <stdlib.h>

bool rank_stacks(const struct recording *r, enum lens_metric metric, struct arena *arena,
		struct stack_ranking *out) {
	*out = (struct stack_ranking){0};
	struct rank *ranks = malloc((r->stacks.n + 1ul) * sizeof *ranks);
	out->stacks = arena_new(arena, uint32_t, r->stacks.n);
	if (!ranks || !out->stacks) {
		free(ranks);
		return false;
	}
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		struct lens_costs c = lens_stack_costs(metric, &r->stacks.items[i]);
		lens_costs_add(&out->total, &c);
		// A block of zero bytes weighs nothing, but it is a block
		if (c.blocks > 0) {
			ranks[out->n++] = (struct rank){lens_metric_weight(metric, &c), i};
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
	const struct recording *recording;
	enum lens_metric metric;
	struct site *sites;
	uint64_t *weights; // per site: of its heaviest stack
	uint32_t n;
	uint32_t *of_function; // site + 1, 0: none yet; the last is that of the empty stack
};

static void add_to_site(struct site_table *t, uint32_t function, const struct name *name,
		uint32_t stack, const struct lens_costs *c) {
	uint64_t weight = lens_metric_weight(t->metric, c);
	uint32_t *at = &t->of_function[function];
	if (*at == 0) {
		*at = ++t->n;
	}
	struct site *s = &t->sites[*at - 1];
	if (s->n_stacks++ == 0 || weight > t->weights[*at - 1]) {
		s->name = name;
		s->heaviest = stack;
		t->weights[*at - 1] = weight;
	}
	lens_costs_add(&s->costs, c);
}

static bool sort_sites(struct site_ranking *out, const struct site_table *t) {
	struct rank *ranks = malloc((t->n + 1ul) * sizeof *ranks);
	if (!ranks) {
		return false;
	}
	out->n = t->n;
	for (uint32_t i = 0; i < t->n; i++) {
		ranks[i] = (struct rank){lens_metric_weight(t->metric, &t->sites[i].costs), i};
	}
	qsort(ranks, t->n, sizeof *ranks, rank_heaviest_first);
	for (uint32_t i = 0; i < t->n; i++) {
		out->sites[i] = t->sites[ranks[i].index];
	}
	free(ranks);
	return true;
}

static void gather_stack(struct site_table *t, const struct names *n, uint32_t stack,
		const struct name *name, struct site_ranking *out) {
	static const struct name nowhere = {.function = {(const uint8_t *)"(no stack)", 10}};
	struct lens_costs c = lens_stack_costs(t->metric, &t->recording->stacks.items[stack]);
	if (c.blocks == 0 && c.allocations == 0) {
		return;
	}
	lens_costs_add(&out->total, &c);
	if (c.blocks == 0) {
		return;
	}
	if (lens_metrics[t->metric].rule == METRIC_NEVER_FREED && name && !name->is_runtime &&
			stack_is_noise(t->recording, n, stack)) {
		lens_costs_add(&out->noise, &c);
		return;
	}
	add_to_site(t, name ? name->function_id : names_n_functions(n), name ? name : &nowhere, stack,
			&c);
}

static bool make_table(struct site_table *t, const struct recording *r, const struct names *n,
		enum lens_metric metric, struct arena *arena, struct arena *scratch,
		struct site_ranking *out) {
	uint32_t most = names_n_functions(n) + 1;
	most = r->stacks.n < most ? r->stacks.n : most;
	*out = (struct site_ranking){.sites = arena_new(arena, struct site, most)};
	*t = (struct site_table){.recording = r,
			.metric = metric,
			.of_function = arena_new(scratch, uint32_t, names_n_functions(n) + 1ul),
			.sites = arena_new(scratch, struct site, most),
			.weights = arena_new(scratch, uint64_t, most)};
	return out->sites && t->of_function && t->sites && t->weights;
}

bool rank_sites(const struct recording *r, const struct names *n, const enum lens_metric *metrics,
		uint32_t n_metrics, struct arena *arena, struct site_ranking *out) {
	struct arena scratch = {0};
	struct site_table tables[N_LENS_METRICS];
	bool ok = true;
	check(n_metrics <= N_LENS_METRICS);
	for (uint32_t k = 0; ok && k < n_metrics; k++) {
		ok = make_table(&tables[k], r, n, metrics[k], arena, &scratch, &out[k]);
	}
	for (uint32_t i = 0; ok && i < r->stacks.n; i++) {
		const struct name *name = names_site(n, r->stacks.items[i].node);
		for (uint32_t k = 0; k < n_metrics; k++) {
			gather_stack(&tables[k], n, i, name, &out[k]);
		}
	}
	for (uint32_t k = 0; ok && k < n_metrics; k++) {
		ok = sort_sites(&out[k], &tables[k]);
	}
	arena_finish(&scratch);
	return ok;
}
