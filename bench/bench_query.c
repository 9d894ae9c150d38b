// SPDX-License-Identifier: MIT

/**
 * What questions cost: time and CPU time, the best and the median of several rounds, of every step of an
 * answer, over made-up recordings of the size of a compiler's run, and of twice and a half that.
 *
 *   bench_query [ROUNDS]
 */

#include "../tests/unit/random_recording.h"
#include "engine/breakdown.h"
#include "engine/call_tree.h"
#include "engine/diff.h"

#include <inttypes.h>
#include <time.h>

enum { ROUNDS_MOST = 1000 };

static double ms_of(clockid_t clock) {
	struct timespec t;
	(void)clock_gettime(clock, &t);
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
	struct lens earlier;        // another range: what a difference is made with
	const struct names *others; // names of the recording once more, as another recording has them
	uint64_t sum;               // of what was asked for: else the compiler need not answer
};

static bool ask_range(struct desk *d) {
	return lens_apply(&d->lens, d->r, d->names, &d->arena, &d->result, NULL);
}

static bool ask_tree(struct desk *d) {
	return call_tree_make(&d->lens, d->r, d->names, &d->arena).nodes;
}

static bool ask_costs(struct desk *d) {
	return call_tree_costs(&d->tree, &d->lens, &d->result, &d->arena).before;
}

static bool ask_inclusive(struct desk *d) {
	const struct tree_costs costs = call_tree_costs(&d->tree, &d->lens, &d->result, &d->arena);
	for (uint32_t i = 0; i < d->tree.n; i++) {
		struct lens_costs all = call_tree_all(&costs, i);
		d->sum += all.bytes ^ all.blocks ^ all.allocations ^ all.allocated_bytes ^ all.temporary;
	}
	return true;
}

/** What moving a range takes. */
static bool ask_range_and_inclusive(struct desk *d) {
	struct lens_result before = d->result;
	bool ok = lens_apply(&d->lens, d->r, d->names, &d->arena, &d->result, NULL) && ask_inclusive(d);
	d->result = before;
	return ok;
}

static bool ask_functions(struct desk *d) {
	return call_tree_functions(&d->costs, &d->arena).items;
}

static bool ask_bottom_up(struct desk *d) {
	return call_tree_bottom_up(&d->costs, &d->arena).items;
}

/** All calls of the range against those of an earlier one: as many nodes on both sides. */
static bool diff_against(struct desk *d, const struct names *names) {
	const struct diff_input input[N_DIFF_SIDES] = {{d->r, d->names, &d->lens},
			{d->r, names, &d->earlier}};
	struct diff_tree merged;
	diff_tree_make(N_BREAKDOWNS, input, d->lens.metric, &d->arena, &merged);
	return merged.nodes;
}

static bool ask_difference(struct desk *d) {
	return diff_against(d, d->names);
}

static bool ask_difference_to_another(struct desk *d) {
	return diff_against(d, d->others);
}

static bool ask_timeline(struct desk *d) {
	return timeline_make(&d->lens, d->r, &d->result, &d->arena).points;
}

static bool ask_sites(struct desk *d) {
	return breakdown_make(BY_SITE, &d->lens, d->r, d->names, &d->result, &d->arena).parts;
}

static bool ask_names(struct desk *d) {
	struct names *n = names_create(d->r, NULL);
	names_destroy(n);
	return n != NULL;
}

static int by_value(const void *a, const void *b) {
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/** Ask again and again. What the last answer left in the arena stays until the desk is cleared. */
static void measure(struct desk *d, const char *what, bool (*ask)(struct desk *), int rounds) {
	double wall[ROUNDS_MOST], cpu[ROUNDS_MOST];
	for (int i = 0; i < rounds; i++) {
		arena_finish(&d->arena);
		double start = ms_of(CLOCK_MONOTONIC), cpu_start = ms_of(CLOCK_PROCESS_CPUTIME_ID);
		check(ask(d));
		wall[i] = ms_of(CLOCK_MONOTONIC) - start;
		cpu[i] = ms_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
	}
	qsort(wall, (size_t)rounds, sizeof *wall, by_value);
	qsort(cpu, (size_t)rounds, sizeof *cpu, by_value);
	printf("  %-44s %8.2f %8.2f ms   CPU %8.2f %8.2f ms\n", what, wall[0], wall[rounds / 2], cpu[0],
			cpu[rounds / 2]);
}

static void keep_tree(struct desk *d, struct lens_result *result) {
	check(lens_apply(&d->lens, d->r, d->names, &d->kept, result, NULL));
	d->result = *result;
	d->tree = call_tree_make(&d->lens, d->r, d->names, &d->kept);
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
	d->earlier = d->lens;
	d->earlier.from = 0;
	d->earlier.to = d->lens.from;
	d->others = names_create(d->r, NULL);
	check(d->others);
	measure(d, "the difference to an earlier range", ask_difference, rounds);
	measure(d, "the same as to another recording", ask_difference_to_another, rounds);
	names_destroy((struct names *)d->others);
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
	measure(&d, "costs laid over it", ask_costs, rounds);
	measure(&d, "the same, and told of each of its nodes", ask_inclusive, rounds);
	measure(&d, "the range, and inclusive costs", ask_range_and_inclusive, rounds);
	d.costs = call_tree_costs(&d.tree, &d.lens, &range, &d.kept);
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
	check(rounds >= 1 && rounds <= ROUNDS_MOST);
	printf("%-46s  least   median          least   median\n", "");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		measure_size(&sizes[i], rounds);
	}
	return 0;
}
