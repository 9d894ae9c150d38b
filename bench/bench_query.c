// SPDX-License-Identifier: MIT

/**
 * What questions cost: CPU time, the best of several rounds, of every step of an answer, over
 * made-up recordings of the size of a compiler's run, and of twice and a half that.
 *
 *   bench_query [ROUNDS]
 */

#include "../tests/unit/random_recording.h"
#include "engine/breakdown.h"
#include "engine/call_tree.h"
#include "engine/diff.h"
#include "engine/timeline.h"

#include <inttypes.h>
#include <time.h>

static double cpu_ms(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/** What is asked, and what the questions before it left. */
struct desk {
	const struct recording *r;
	const struct names *names;
	struct lens lens;
	struct arena arena; // of this question
	struct arena kept;
	struct lens_result result;
	struct call_tree tree;
	struct tree_costs costs;
	struct lens_result earlier; // of another range: what a difference is made with
};

static bool ask_range(struct desk *d) {
	return lens_apply(&d->lens, d->r, d->names, &d->arena, &d->result, NULL);
}

static bool ask_tree(struct desk *d) {
	struct call_tree tree;
	return call_tree_make(&d->lens, d->r, d->names, &d->arena, &tree, NULL);
}

static bool ask_inclusive(struct desk *d) {
	return call_tree_costs(&d->tree, &d->result, &d->arena, &d->costs, NULL);
}

static bool ask_functions(struct desk *d) {
	struct call_functions f;
	return call_tree_functions(&d->tree, &d->costs, &d->lens, &d->arena, &f, NULL);
}

static bool ask_bottom_up(struct desk *d) {
	struct up_nodes up;
	return call_tree_bottom_up(&d->tree, &d->costs, &d->lens, &d->arena, &up, NULL);
}

/** All calls of the range against those of an earlier one: as many nodes on both sides. */
static bool ask_difference(struct desk *d) {
	const struct call_tree *const trees[N_DIFF_SIDES] = {&d->tree, &d->tree};
	const struct lens_result *const results[N_DIFF_SIDES] = {&d->result, &d->earlier};
	struct diff_tree tree;
	return diff_tree_merge(trees, results, d->lens.metric, &d->arena, &tree, NULL);
}

static bool ask_timeline(struct desk *d) {
	struct timeline t;
	return timeline_make(&d->lens, d->r, &d->result, &d->arena, &t, NULL);
}

static bool ask_sites(struct desk *d) {
	struct breakdown b;
	return breakdown_make(BY_SITE, &d->lens, d->r, d->names, &d->result, &d->arena, &b, NULL);
}

static bool ask_names(struct desk *d) {
	struct names *n = names_create(d->r, NULL);
	names_destroy(n);
	return n != NULL;
}

/** Ask again and again. What the last answer left in the arena stays until the desk is cleared. */
static void measure(struct desk *d, const char *what, bool (*ask)(struct desk *), int rounds) {
	double best = 1e9;
	for (int i = 0; i < rounds; i++) {
		arena_finish(&d->arena);
		double start = cpu_ms();
		check(ask(d));
		double ms = cpu_ms() - start;
		best = ms < best ? ms : best;
	}
	printf("  %-44s %8.2f ms\n", what, best);
}

static void keep_tree(struct desk *d, struct lens_result *result) {
	check(lens_apply(&d->lens, d->r, d->names, &d->kept, result, NULL));
	d->result = *result;
	check(call_tree_make(&d->lens, d->r, d->names, &d->kept, &d->tree, NULL));
}

static void measure_text(struct desk *d, const char *what, const char *text, bool is_regex,
		int rounds) {
	struct lens_text one = {.text = slice_of_text(text), .is_regex = is_regex};
	d->lens.texts = &one;
	d->lens.n_texts = 1;
	measure(d, what, ask_range, rounds);
	d->lens.n_texts = 0;
}

static void measure_difference(struct desk *d, int rounds) {
	struct lens earlier = d->lens;
	earlier.from = 0;
	earlier.to = d->lens.from;
	check(lens_apply(&earlier, d->r, d->names, &d->kept, &d->earlier, NULL));
	measure(d, "the difference to an earlier range", ask_difference, rounds);
}

static void measure_size(const struct make_options *options, int rounds) {
	struct made m = make_recording(options);
	struct desk d = {.r = &m.r, .lens = lens_whole()};
	struct lens_result range;
	printf("%" PRIu32 " nodes, %" PRIu32 " stacks, %" PRIu32 " intervals, %" PRIu32
		   " edges, %" PRIu32 " functions\n",
			m.r.nodes.n, m.r.stacks.n, m.r.intervals.n, m.r.edges.n, options->functions);
	d.names = names_create(&m.r, NULL);
	check(d.names);
	measure(&d, "names, once per opened recording", ask_names, rounds);
	measure(&d, "the whole recording", ask_range, rounds);
	d.lens.has_range = true;
	d.lens.from = (int32_t)options->edges / 4;
	d.lens.to = (int32_t)options->edges / 2;
	measure(&d, "a range, peak", ask_range, rounds);
	d.lens.metric = LENS_KEPT;
	measure(&d, "a range, kept", ask_range, rounds);
	measure_text(&d, "a range, and a text", "f12", false, rounds);
	measure_text(&d, "a range, and an expression", "f1.*2[(]int", true, rounds);
	measure(&d, "the call tree, once per fold, focus, hide", ask_tree, rounds);
	arena_finish(&d.arena);
	keep_tree(&d, &range);
	measure(&d, "inclusive costs of all its nodes", ask_inclusive, rounds);
	check(call_tree_costs(&d.tree, &range, &d.kept, &d.costs, NULL));
	measure(&d, "by function, recursion once", ask_functions, rounds);
	measure(&d, "bottom-up, first level", ask_bottom_up, rounds);
	measure_difference(&d, rounds);
	measure(&d, "timeline", ask_timeline, rounds);
	measure(&d, "sites", ask_sites, rounds);
	printf("  the tree has %" PRIu32 " nodes\n", d.tree.n);
	arena_finish(&d.arena);
	arena_finish(&d.kept);
	names_destroy((struct names *)d.names);
	finish_made(&m);
}

int main(int argc, char **argv) {
	static const struct make_options sizes[] = {
			{1, 300000, 98000, 1000, 1730000, 25000, 4},
			{2, 1000000, 325000, 1000, 5270000, 50000, 4},
	};
	int rounds = argc > 1 ? atoi(argv[1]) : 7;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		measure_size(&sizes[i], rounds);
	}
	return 0;
}
