// SPDX-License-Identifier: MIT
#include "engine/call_tree.h"
#include "engine/diff.h"
#include "random_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/*
 * Two call trees as one, against paths: every stack is the text of its functions, one per line, and
 * what a node of the merged tree should weigh is what all stacks weigh whose text begins with its.
 */

enum { MOST_STACKS = 400, MOST_PATH = 4096 };

struct path {
	char text[MOST_PATH];
	uint64_t weight[N_DIFF_SIDES];
};

struct two {
	struct made made[N_DIFF_SIDES];
	const struct names *names[N_DIFF_SIDES];
	struct lens lens;
	struct arena arena;
	struct diff_tree tree;
	struct path *paths; // one per different text
	uint32_t n_paths;
};

static void append(char *path, struct slice label) {
	size_t n = strlen(path);
	assert_true(n + label.size + 2 < MOST_PATH);
	memcpy(path + n, label.data, label.size);
	path[n + label.size] = '\n';
	path[n + label.size + 1] = 0;
}

static struct slice match_of(const struct call_tree *t, uint32_t node) {
	const struct name *name = t->nodes[node].name;
	if (t->labels) {
		return call_tree_label(t, node);
	}
	if (!name->has_name) {
		return slice_of_text(strrchr((const char *)name->module.data, '/') + 1);
	}
	return function_bare(name->function);
}

static void write_path(char *path, const struct call_tree *t, uint32_t node) {
	if (node) {
		write_path(path, t, t->nodes[node].parent);
		append(path, match_of(t, node));
	}
}

static void write_merged_path(char *path, const struct diff_tree *t, uint32_t node) {
	if (node) {
		assert_true(t->nodes[node].parent < node);
		write_merged_path(path, t, t->nodes[node].parent);
		append(path, t->labels[t->nodes[node].label]);
	}
}

static void count_paths(struct two *t, enum diff_side side) {
	const struct recording *r = &t->made[side].r;
	struct call_tree tree;
	struct lens_result result;
	tree = call_tree_make(&t->lens, r, t->names[side], &t->arena);
	assert_true(lens_apply(&t->lens, r, t->names[side], &t->arena, &result, NULL));
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		struct path *end = &t->paths[t->n_paths];
		uint32_t at = 0;
		*end = (struct path){0};
		write_path(end->text, &tree, tree.of_stack[i]);
		while (strcmp(t->paths[at].text, end->text) != 0) {
			at++;
		}
		t->n_paths += at == t->n_paths;
		t->paths[at].weight[side] += lens_weight(&t->lens, &result.stacks[i]);
	}
}

static void check_node(const struct two *t, uint32_t node) {
	const struct diff_node *n = &t->tree.nodes[node];
	char path[MOST_PATH] = "";
	uint64_t weight[N_DIFF_SIDES] = {0}, grown = 0, shrunk = 0;
	write_merged_path(path, &t->tree, node);
	for (uint32_t i = 0; i < t->n_paths; i++) {
		const struct path *p = &t->paths[i];
		if (strncmp(p->text, path, strlen(path)) != 0) {
			continue;
		}
		weight[0] += p->weight[0];
		weight[1] += p->weight[1];
		grown += p->weight[0] > p->weight[1] ? p->weight[0] - p->weight[1] : 0;
		shrunk += p->weight[1] > p->weight[0] ? p->weight[1] - p->weight[0] : 0;
	}
	assert_int_equal(n->weight[DIFF_OURS], weight[0]);
	assert_int_equal(n->weight[DIFF_BASE], weight[1]);
	assert_int_equal(n->grown, grown);
	assert_int_equal(n->shrunk, shrunk);
}

static void check_no_siblings_alike(const struct diff_tree *t) {
	for (uint32_t i = 1; i < t->n; i++) {
		for (uint32_t k = 1; k < i; k++) {
			assert_false(t->nodes[i].parent == t->nodes[k].parent &&
					t->nodes[i].label == t->nodes[k].label);
		}
	}
	for (uint32_t i = 0; i < t->n_labels; i++) {
		for (uint32_t k = 0; k < i; k++) {
			assert_false(slice_equal(t->labels[i], t->labels[k]));
		}
	}
}

/** Every path leads to a node: the longest one that is its beginning is all of it. */
static void check_all_there(const struct two *t) {
	char path[MOST_PATH];
	for (uint32_t i = 0; i < t->n_paths; i++) {
		bool is_there = false;
		for (uint32_t node = 0; node < t->tree.n && !is_there; node++) {
			path[0] = 0;
			write_merged_path(path, &t->tree, node);
			is_there = strcmp(path, t->paths[i].text) == 0;
		}
		assert_true(is_there);
	}
}

static void compare(uint64_t seed, const char *lens_text) {
	struct two t = {0};
	struct diff_input input[N_DIFF_SIDES];
	for (uint32_t side = 0; side < N_DIFF_SIDES; side++) {
		const struct make_options o = {seed * 2 + side, 150 + side * 60, 60 + side * 70, 12, 900,
				20 + 15 * side, 3};
		t.made[side] = make_recording(&o);
		t.names[side] = names_create(&t.made[side].r, NULL);
		assert_non_null(t.names[side]);
		input[side] = (struct diff_input){&t.made[side].r, t.names[side], &t.lens};
	}
	assert_true(lens_parse(&t.lens, slice_of_text(lens_text), &t.made[0].r, &t.arena, NULL));
	t.paths = calloc(MOST_STACKS, sizeof *t.paths);
	assert_non_null(t.paths);
	diff_tree_make(N_BREAKDOWNS, input, t.lens.metric, &t.arena, &t.tree);
	count_paths(&t, DIFF_OURS);
	count_paths(&t, DIFF_BASE);
	check_no_siblings_alike(&t.tree);
	check_all_there(&t);
	for (uint32_t i = 0; i < t.tree.n; i++) {
		check_node(&t, i);
	}
	for (int side = 0; side < N_DIFF_SIDES; side++) {
		names_destroy((struct names *)t.names[side]);
		finish_made(&t.made[side]);
	}
	free(t.paths);
	arena_finish(&t.arena);
}

static void merged_nodes_weigh_what_their_stacks_weigh(void **state) {
	(void)state;
	static const char *const lenses[] = {"", "fold=0", "m=allocations", "m=kept&fold=0",
			"group=module", "group=file&m=temporary", "fold=0&hide=f3"};
	for (uint64_t seed = 1; seed <= 6; seed++) {
		for (size_t i = 0; i < sizeof lenses / sizeof *lenses; i++) {
			compare(seed, lenses[i]);
		}
	}
}

/** Stacks that both sides have are followed once: as if there were two trees. */
static void one_tree_is_as_good_as_two(void **state) {
	(void)state;
	const struct make_options o = {8, 400, 200, 20, 900, 20, 2};
	struct made made = make_recording(&o);
	const struct names *names = names_create(&made.r, NULL);
	const struct names *others = names_create(&made.r, NULL);
	struct arena arena = {0};
	const struct lens ours = {.has_range = true, .from = 0, .to = 5};
	const struct lens base = {.has_range = true, .from = 5, .to = 10};
	struct diff_input input[N_DIFF_SIDES] = {{&made.r, names, &ours}, {&made.r, names, &base}};
	struct diff_tree of_two, of_one;
	diff_tree_make(N_BREAKDOWNS, input, LENS_BYTES, &arena, &of_one);
	input[DIFF_BASE].names = others;
	diff_tree_make(N_BREAKDOWNS, input, LENS_BYTES, &arena, &of_two);
	assert_int_equal(of_two.n, of_one.n);
	assert_memory_equal(of_two.nodes, of_one.nodes, of_one.n * sizeof *of_one.nodes);
	assert_true(of_one.nodes[0].grown > 0 && of_one.nodes[0].shrunk > 0);
	arena_finish(&arena);
	names_destroy((struct names *)names);
	names_destroy((struct names *)others);
	finish_made(&made);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(merged_nodes_weigh_what_their_stacks_weigh),
			cmocka_unit_test(one_tree_is_as_good_as_two),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
