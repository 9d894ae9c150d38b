// SPDX-License-Identifier: MIT
/* Compares the parts of two breakdowns. */
#include "engine/diff.h"

struct slice diff_label(const struct name *name) {
	bool is_unnamed = !name->has_name && name->module.size;
	return is_unnamed ? path_base(name->module) : function_bare(name->function);
}

static void add_part(struct diff_sites *out, struct index *ids, const struct part *part, int side,
		const struct lens *lens) {
	struct slice label = part->name ? diff_label(part->name) : part->label;
	const uint32_t hash = (uint32_t)slice_hash(SLICE_HASH, label);
	uint32_t id = INDEX_FIND_OR_PUT(ids, hash, i, slice_equal(out->items[i].label, label),
			out->items, out->n, (struct diff_site){.label = label});
	struct diff_site *site = &out->items[id];
	site->name = site->name || !part->name || !part->name->has_name ? site->name : part->name;
	lens_costs_add(&site->costs[side], &part->costs);
	site->weight[side] += lens_weight(lens, &part->costs);
}

static uint64_t change_of(const struct diff_site *s) {
	uint64_t ours = s->weight[DIFF_OURS], base = s->weight[DIFF_BASE];
	return ours < base ? base - ours : ours - base;
}

ORDER_OF(largest_first, struct diff_site,
		compare_u64(change_of(b), change_of(a)) ?: slice_compare(a->label, b->label));

void diff_apply(const struct diff_input *in, enum lens_metric metric, struct arena *arena,
		struct lens *lens, struct lens_result *out) {
	*lens = *in->lens;
	lens->metric = metric;
	check(lens_apply(lens, in->recording, in->names, arena, out, NULL));
}

void diff_sites_make(enum breakdown_by by, const struct diff_input input[N_DIFF_SIDES],
		enum lens_metric metric, struct arena *arena, struct diff_sites *out) {
	SCOPED(index) ids = {0};
	struct breakdown parts[N_DIFF_SIDES];
	struct lens lens;
	*out = (struct diff_sites){0};
	for (int side = 0; side < N_DIFF_SIDES; side++) {
		const struct diff_input *in = &input[side];
		struct lens_result result;
		diff_apply(in, metric, arena, &lens, &result);
		parts[side] = breakdown_make(by, &lens, in->recording, in->names, &result, arena);
	}
	out->items = arena_new(arena, struct diff_site, parts[0].n + (size_t)parts[1].n);
	for (int side = 0; side < N_DIFF_SIDES; side++) {
		EACH_OF(part, parts[side].parts, parts[side].n) {
			add_part(out, &ids, part, side, &lens);
		}
	}
	qsort(out->items, out->n, sizeof *out->items, largest_first);
	out->n_changed = (uint32_t)SUM(i, out->n, change_of(&out->items[i]) > 0);
}
