// SPDX-License-Identifier: MIT
/* Compares the parts of two breakdowns, and reduces names to what is the same in another build. */
#include "engine/diff.h"

#include "engine/breakdown.h"

// ---- what of a name is the same in another build: it is cut at brackets of depth 0, from behind

/** "<", "(", "[" and "{" open, "->" closes nothing. */
static bool is_closing(struct slice s, size_t i) {
	uint8_t c = s.data[i];
	bool is_arrow = c == '>' && i > 0 && s.data[i - 1] == '-';
	return c == ')' || c == ']' || c == '}' || (c == '>' && !is_arrow);
}

static bool is_opening(uint8_t c) {
	return c == '(' || c == '[' || c == '{' || c == '<';
}

/** "f(int) const" is "f(int)". */
static struct slice without_qualifiers(struct slice s) {
	static const char *const words[] = {" const", " volatile", " &", " &&", " noexcept"};
	for (size_t i = 0; i < sizeof words / sizeof *words;) {
		if (ends_with(s, words[i])) {
			s.size -= strlen(words[i]);
			i = 0;
		} else {
			i++;
		}
	}
	return s;
}

/** Without the last brackets, if they are parameters: not those of "operator()", nor a name. */
static struct slice without_parameters(struct slice s) {
	if (s.size == 0 || s.data[s.size - 1] != ')') {
		return s;
	}
	int depth = 0;
	for (size_t i = s.size; i-- > 0;) {
		depth += is_closing(s, i);
		depth -= is_opening(s.data[i]);
		if (depth == 0) {
			struct slice name = slice_of(s.data, i);
			bool is_name = i == 0 || ends_with(name, "operator") || ends_with(name, "::");
			return is_name ? s : name;
		}
	}
	return s;
}

/** Behind the last space outside of brackets; "operator new" keeps its own. */
static struct slice without_return_type(struct slice s) {
	static const char operator[] = "operator";
	int depth = 0;
	size_t first = 0;
	for (size_t i = s.size; i-- > 0;) {
		depth += is_closing(s, i);
		depth -= is_opening(s.data[i]);
		if (depth == 0 && s.data[i] == ' ' && !ends_with(slice_of(s.data, i), operator)) {
			first = i + 1;
			break;
		}
	}
	return first < s.size ? slice_of(s.data + first, s.size - first) : s;
}

struct slice diff_label(const struct name *name) {
	bool is_unnamed = !name->has_name && name->module.size;
	return is_unnamed ? path_base(name->module) : diff_match(name->function);
}

struct slice diff_match(struct slice name) {
	struct slice s = without_return_type(without_parameters(without_qualifiers(name)));
	return s.size ? s : name;
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

static bool add_part(struct gathering *g, const struct part *part, enum diff_side side) {
	struct diff_site *site = find_site(g, part->name ? diff_label(part->name) : part->label);
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
		ok = ok && ALL(i, parts[side].n, add_part(&g, &parts[side].parts[i], (enum diff_side)side));
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
