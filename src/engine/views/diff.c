// SPDX-License-Identifier: MIT
/* Compares the parts of two breakdowns. */
#include "engine/diff.h"

#include "base/index.h"
#include "base/sorted.h"
#include "engine/breakdown.h"

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

struct gathering {
	struct diff_site *items;
	uint32_t n;
	struct index ids;
};

static struct diff_site *find_site(struct gathering *g, struct slice label) {
	const uint32_t hash = (uint32_t)slice_hash(SLICE_HASH, label);
	uint32_t id = INDEX_FIND_OR_ADD(&g->ids, hash, i, slice_equal(g->items[i].label, label), g->n);
	if (id == g->n) {
		g->items[g->n++].label = label;
	}
	return id != INDEX_NONE ? &g->items[id] : NULL;
}

/** Unnamed code of another build is at other addresses: its module is what is left. */
static struct slice label_of(const struct part *part) {
	bool is_unnamed = part->name && !part->name->has_name && part->name->module.size;
	return is_unnamed    ? path_base(part->name->module)
			: part->name ? diff_match(part->name->function)
						 : part->label;
}

static bool add_part(struct gathering *g, const struct part *part, enum diff_side side) {
	struct diff_site *site = find_site(g, label_of(part));
	if (!site) {
		return false;
	}
	if (!site->name) {
		site->name = part->name;
		site->heaviest = part->heaviest;
		site->seen = side;
	}
	lens_costs_add(&site->costs.side[side], &part->costs);
	return true;
}

static uint64_t size_of(int64_t delta) {
	return delta < 0 ? -(uint64_t)delta : (uint64_t)delta;
}

static int largest_first(const void *a, const void *b, void *user) {
	const struct lens *l = user;
	const struct diff_site *x = a, *y = b;
	int order = compare_u64(size_of(diff_delta(l, &y->costs)), size_of(diff_delta(l, &x->costs)));
	return order ? order : slice_compare(x->label, y->label);
}

bool diff_apply(const struct diff_input *in, enum lens_metric metric, struct arena *arena,
		struct lens *lens, struct lens_result *out, struct err *err) {
	*lens = *in->lens;
	lens->metric = metric;
	return lens_apply(lens, in->recording, in->names, arena, out, err);
}

bool diff_sites_make(const struct diff_input input[N_DIFF_SIDES], enum lens_metric metric,
		struct arena *arena, struct diff_sites *out, struct err *err) {
	struct gathering g = {0};
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
		out->total.side[side] = result.total;
	}
	g.items = arena_new(arena, struct diff_site, parts[0].n + (size_t)parts[1].n);
	bool ok = g.items;
	for (int side = 0; side < N_DIFF_SIDES; side++) {
		for (uint32_t i = 0; ok && i < parts[side].n; i++) {
			ok = add_part(&g, &parts[side].parts[i], (enum diff_side)side);
		}
	}
	index_finish(&g.ids);
	if (!ok) {
		return err_memory(err);
	}
	qsort_r(g.items, g.n, sizeof *g.items, largest_first, &lens);
	out->items = g.items;
	out->n = g.n;
	return true;
}
