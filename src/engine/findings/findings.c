// SPDX-License-Identifier: MIT
/* Runs the rules one after another over the same sites and curves, and ranks their findings. */
#include "engine/findings/parts.h"

static const struct rule rules[] = {
#define RULE(find, needs, id, title) {find, needs, id, title},
#include "engine/findings/rules.def"
};

/** What would be noticed counts triple what only explains; facts come last. */
static uint64_t rank_of(const struct finding *f) {
	const uint64_t all = 4000000; // more than three times the largest weight
	const uint64_t before[] =
			{[FINDING_EXPLAINS] = all, [FINDING_WORTH_IT] = all, [FINDING_LOOK_FIRST] = 2 * all};
	return before[f->severity] + (f->severity == FINDING_WORTH_IT ? 3 : 1) * f->weight;
}

ORDER_OF(most_important_first, struct finding,
		compare_u64(rank_of(b), rank_of(a)) ?: LOWEST(number));

/** A run this short is all start-up: who holds the peak comes first, then what grew or was kept. */
static void rank_of_short_run(struct finder *f) {
	EACH(out, f->found) {
		bool is_most = out->weight >= 500000;
		bool is_kept = strcmp(out->id, "never-freed") == 0 || strcmp(out->id, "growing") == 0;
		if (is_kept && out->severity > FINDING_EXPLAINS) {
			out->severity = is_most ? FINDING_EXPLAINS : FINDING_WORTH_IT;
			out->weight /= is_most ? 2 : 1;
		}
	}
}

struct findings findings_make(const struct recording *r, const struct names *n,
		struct arena *arena) {
	struct findings out = {0};
	struct finder f = {.r = r, .names = n, .arena = arena, .out = &out};
	finder_gather(&f);
	finder_find_holder(&f, false);
	finder_make_curves(&f);
	if (holder_is_replaced(&f)) {
		finder_find_holder(&f, true);
		finder_make_curves(&f);
	}
	EACH_OF(rule, rules, N_OF(rules)) {
		f.rule = rule;
		finder_begin(&f, f.rule->id, f.rule->title);
		if (!(r->missing & f.rule->needs)) {
			f.rule->find(&f);
		}
	}
	if (!(r->missing & REC_TIME) && r->meta.duration_ns < 100000000) {
		rank_of_short_run(&f);
	}
	vec_sort(&f.found, most_important_first);
	runtime_say_flag(&f);
	out.items = arena_copy(arena, f.found.items, f.found.n, sizeof *f.found.items);
	out.n = (uint32_t)f.found.n;
	vec_finish(&f.found);
	arena_finish(&f.scratch);
	return out;
}
