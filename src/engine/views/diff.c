// SPDX-License-Identifier: MIT
/* Compares the parts of two breakdowns. */
#include "engine/diff.h"

#include "engine/breakdown.h"

struct slice diff_label(const struct name *name) {
	bool is_unnamed = !name->has_name && name->module.size;
	return is_unnamed ? path_base(name->module) : function_bare(name->function);
}

// ---- changes

int64_t diff_delta(const struct lens *l, const struct diff_costs *c) {
	return (int64_t)(lens_weight(l, &c->side[DIFF_OURS]) - lens_weight(l, &c->side[DIFF_BASE]));
}

static bool is_nothing(const struct lens *l, const struct lens_costs *c) {
	return lens_weight(l, c) == 0 && c->blocks == 0;
}

enum diff_change diff_change_of(const struct lens *l, const struct diff_costs *c) {
	bool ours = !is_nothing(l, &c->side[DIFF_OURS]), base = !is_nothing(l, &c->side[DIFF_BASE]);
	if (ours != base) {
		return ours ? DIFF_NEW : DIFF_GONE;
	}
	return diff_delta(l, c) ? DIFF_CHANGED : DIFF_SAME;
}

// ---- sites

static bool add_part(struct diff_sites *out, struct index *ids, const struct part *part, int side) {
	struct slice label = part->name ? diff_label(part->name) : part->label;
	const uint32_t hash = (uint32_t)slice_hash(SLICE_HASH, label);
	uint32_t id = INDEX_FIND_OR_PUT(ids, hash, i, slice_equal(out->items[i].label, label),
			out->items, out->n, (struct diff_site){.label = label});
	if (id == INDEX_NONE) {
		return false;
	}
	struct diff_site *site = &out->items[id];
	site->name = site->name ? site->name : part->name;
	lens_costs_add(&site->costs.side[side], &part->costs);
	return true;
}

static uint64_t size_of(int64_t delta) {
	return delta < 0 ? -(uint64_t)delta : (uint64_t)delta;
}

ORDER_BY(largest_first, struct diff_site,
		compare_u64(size_of(diff_delta(user, &b->costs)), size_of(diff_delta(user, &a->costs)))
				?: slice_compare(a->label, b->label));

bool diff_apply(const struct diff_input *in, enum lens_metric metric, struct arena *arena,
		struct lens *lens, struct lens_result *out, struct err *err) {
	*lens = *in->lens;
	lens->metric = metric;
	return lens_apply(lens, in->recording, in->names, arena, out, err);
}

bool diff_sites_make(const struct diff_input input[N_DIFF_SIDES], enum lens_metric metric,
		struct arena *arena, struct diff_sites *out, struct err *err) {
	SCOPED(index) ids = {0};
	struct breakdown parts[N_DIFF_SIDES];
	struct lens lens;
	*out = (struct diff_sites){0};
	for (int side = 0; side < N_DIFF_SIDES; side++) {
		const struct diff_input *in = &input[side];
		struct lens_result result;
		if (!diff_apply(in, metric, arena, &lens, &result, err) ||
				!breakdown_make(BY_SITE, &lens, in->recording, in->names, &result, arena,
						&parts[side], err)) {
			return false;
		}
	}
	out->items = arena_new(arena, struct diff_site, parts[0].n + (size_t)parts[1].n);
	bool ok = out->items &&
			ALL(side, (int)N_DIFF_SIDES,
					ALL(i, parts[side].n, add_part(out, &ids, &parts[side].parts[i], side)));
	if (!ok) {
		return err_memory(err);
	}
	qsort_r(out->items, out->n, sizeof *out->items, largest_first, &lens);
	return true;
}
