// SPDX-License-Identifier: MIT

/* What a lens selects, against what is counted by hand, block by block. */

#include "engine/breakdown.h"
#include "engine/call_tree.h"
#include "engine/lens.h"
#include "random_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/** Is this block of the metric? The sentences of lens.h, block by block. */
static bool is_counted(const struct made *m, const struct lens *l, const struct made_block *b) {
	int32_t from = l->has_range ? l->from : LENS_START;
	int32_t to = l->has_range ? l->to : (int32_t)m->r.edges.n;
	bool is_made = (int32_t)b->from > from && (int32_t)b->from <= to;
	int32_t largest = -1;
	switch (lens_metrics[l->metric].rule) {
	case METRIC_NEVER_FREED: return is_made && b->until == REC_NEVER;
	case METRIC_KEPT: return is_made && (int32_t)b->until > to;
	case METRIC_MADE_TEMPORARY: return is_made && b->is_temporary;
	case METRIC_MADE: return is_made;
	case METRIC_LIVE_AT_LARGEST:
	case N_METRIC_RULES: break;
	}
	for (int32_t k = from + 1; k <= to && k < (int32_t)m->r.edges.n; k++) {
		if (largest < 0 || m->r.edges.items[k].bytes > m->r.edges.items[largest].bytes) {
			largest = k;
		}
	}
	largest = largest < 0 ? (int32_t)m->r.edges.n : largest;
	return (int32_t)b->from <= largest && largest < (int32_t)b->until;
}

static bool stack_has(const struct made *m, const struct names *n, uint32_t stack,
		bool (*is)(const struct name *, struct slice), struct slice text) {
	struct stack_walk w = stack_walk_init(&m->r, n, m->r.stacks.items[stack].node);
	for (const struct name *f; (f = stack_walk_next(&w));) {
		if (is(f, text)) {
			return true;
		}
	}
	return false;
}

static bool holds(struct slice s, struct slice text) {
	char *a = strndup((const char *)s.data, s.size),
		 *b = strndup((const char *)text.data, text.size);
	bool is = strcasestr(a, b) != NULL;
	free(a);
	free(b);
	return is;
}

static bool frame_holds(const struct name *f, struct slice text) {
	return holds(f->function, text) || holds(f->file, text) || holds(f->module, text);
}

static bool frame_is(const struct name *f, struct slice text) {
	return lens_is_named(f->function, text);
}

static bool is_shown(const struct made *m, const struct names *n, const struct lens *l,
		uint32_t stack) {
	for (uint32_t i = 0; i < l->n_texts; i++) {
		struct slice text = l->texts[i].text;
		if (l->texts[i].is_regex && text.data[0] == '^') {
			text = slice_of(text.data + 1, text.size - 1); // as the expressions below go
		}
		if (stack_has(m, n, stack, frame_holds, text) == l->texts[i].is_negated) {
			return false;
		}
	}
	bool is_focused = l->n_focus == 0;
	for (uint32_t i = 0; i < l->n_focus; i++) {
		is_focused |= stack_has(m, n, stack, frame_is, l->focus[i]);
	}
	uint32_t thread = m->r.stacks.items[stack].thread;
	bool is_thread = l->n_threads == 0;
	for (uint32_t i = 0; i < l->n_threads; i++) {
		is_thread |= thread &&
				slice_equal(m->r.strings.items[m->r.threads.items[thread].name], l->threads[i]);
	}
	return is_focused && is_thread;
}

static struct lens_costs *count_by_hand(const struct made *m, const struct names *n,
		const struct lens *l) {
	struct lens_costs *costs = calloc(m->r.stacks.n, sizeof *costs);
	int32_t from = l->has_range ? l->from : LENS_START;
	int32_t to = l->has_range ? l->to : (int32_t)m->r.edges.n;
	assert_non_null(costs);
	for (uint32_t i = 0; i < m->n_blocks; i++) {
		const struct made_block *b = &m->blocks[i];
		struct lens_costs *c = &costs[b->stack];
		bool is_made = (int32_t)b->from > from && (int32_t)b->from <= to;
		c->bytes += is_counted(m, l, b) ? b->size : 0;
		c->blocks += is_counted(m, l, b);
		c->allocations += is_made;
		c->allocated_bytes += is_made ? b->size : 0;
		c->temporary += is_made && b->is_temporary;
	}
	for (uint32_t i = 0; i < m->r.stacks.n; i++) {
		if (!is_shown(m, n, l, i)) {
			costs[i] = (struct lens_costs){0};
		}
	}
	return costs;
}

static void same(const struct lens_costs *a, const struct lens_costs *b) {
	assert_memory_equal(a, b, sizeof *a);
}

/** A lens from the bag of all lenses. */
static void some_lens(struct made *m, struct lens *l, struct arena *arena) {
	char text[256];
	size_t n = (size_t)snprintf(text, sizeof text, "m=%s&group=%s&fold=%d",
			lens_metric_names[made_random(m, LENS_MAPPED)],
			lens_group_names[made_random(m, N_LENS_GROUPS)], (int)made_random(m, 2));
	static const char *const parts[] = {"&q=f1", "&q=!F2", "&q=/^std::f3/", "&q=libmine",
			"&focus=f1", "&focus=f4()&focus=f5", "&hide=f2", "&hide=std::f3", "&threads=worker0",
			"&threads=worker1,worker2", "&q=a.cpp"};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (made_random(m, 6) == 0) {
			n += (size_t)snprintf(text + n, sizeof text - n, "%s", parts[i]);
		}
	}
	struct err err = {0};
	if (!lens_parse(l, slice_of_text(text), &m->r, arena, &err)) {
		fail_msg("%s", err.text);
	}
	if (made_random(m, 4)) {
		l->has_range = true;
		l->from = (int32_t)made_random(m, m->r.edges.n) - 1;
		l->to = l->from + 1 + (int32_t)made_random(m, m->r.edges.n - (uint32_t)(l->from));
	}
}

static void add_costs(struct lens_costs *sum, const struct up_nodes *level) {
	for (uint32_t i = 0; i < level->n; i++) {
		lens_costs_add(sum, &level->items[i].costs);
	}
	lens_costs_add(sum, &level->outermost);
}

/** Each level below a node sums to the node. */
static void check_up(const struct tree_costs *costs, const struct up_nodes *level,
		bool is_inclusive, int depth, struct arena *arena) {
	for (uint32_t i = 0; depth > 0 && i < level->n; i++) {
		struct up_nodes below;
		below = up_node_open(costs, &level->items[i], is_inclusive, arena);
		struct lens_costs sum = {0};
		add_costs(&sum, &below);
		same(&sum, &level->items[i].costs);
		check_up(costs, &below, is_inclusive, depth - 1, arena);
	}
}

/** What a function costs, its callees included: stack by stack. */
static struct lens_costs inclusive_by_hand(const struct made *m, const struct call_tree *t,
		const struct lens_costs *stacks, uint32_t key) {
	struct lens_costs sum = {0};
	for (uint32_t i = 0; i < m->r.stacks.n; i++) {
		for (uint32_t node = t->of_stack[i]; node; node = t->nodes[node].parent) {
			if (t->nodes[node].key == key) {
				lens_costs_add(&sum, &stacks[i]);
				break;
			}
		}
	}
	return sum;
}

static struct slice label_of(const struct name *f, const struct lens *l) {
	return l->group == LENS_BY_PACKAGE     ? names_package(f)
			: l->group == LENS_BY_MODULE   ? f->module
			: l->group == LENS_BY_FUNCTION ? f->function
			: f->file.size                 ? f->file
										   : f->module;
}

/** What is named after a function or group, as findings are; else it is where the stack ends. */
static struct lens_costs own_by_hand(const struct made *m, const struct names *n,
		const struct call_tree *t, const struct lens *l, const struct lens_costs *stacks,
		uint32_t key) {
	struct lens_costs sum = {0};
	for (uint32_t i = 0; i < m->r.stacks.n; i++) {
		const struct name *site = l->is_unfolded ? NULL : names_site(n, m->r.stacks.items[i].node);
		uint32_t node = t->of_stack[i];
		if (site && site->is_runtime) { // its name is the module's that asked
			struct stack_walk w = stack_walk_init(&m->r, n, m->r.stacks.items[i].node);
			const struct name *f = stack_walk_next(&w);
			while (!slice_equal(path_base(f->module), site->function)) {
				f = stack_walk_next(&w);
			}
			site = f;
		}
		while (site && node && !slice_equal(call_tree_label(t, node), label_of(site, l))) {
			node = t->nodes[node].parent;
		}
		node = node ? node : t->of_stack[i];
		if (node && t->nodes[node].key == key) {
			lens_costs_add(&sum, &stacks[i]);
		}
	}
	return sum;
}

static void check_functions(const struct made *m, const struct names *n, const struct call_tree *t,
		const struct tree_costs *costs, const struct lens *l, const struct lens_result *result,
		struct arena *arena) {
	struct call_functions functions;
	functions = call_tree_functions(costs, arena);
	struct lens_costs sum = {0};
	for (uint32_t i = 0; i < functions.n; i++) {
		const struct call_function *f = &functions.items[i];
		lens_costs_add(&sum, &f->own);
		assert_true(i == 0 ||
				(l->group == LENS_BY_FUNCTION
								? lens_weight(l, &f[-1].all) >= lens_weight(l, &f->all)
								: lens_weight(l, &f[-1].own) >= lens_weight(l, &f->own)));
		if (f->node == 0) {
			continue;
		}
		struct lens_costs all = inclusive_by_hand(m, t, result->stacks, t->nodes[f->node].key);
		same(&f->all, &all);
		struct lens_costs own = own_by_hand(m, n, t, l, result->stacks, t->nodes[f->node].key);
		same(&f->own, &own);
		struct up_nodes callers;
		callers = call_tree_callers(costs, call_tree_label(t, f->node), arena);
		if (l->group == LENS_BY_FUNCTION && callers.n == 1) {
			same(&callers.items[0].costs, &f->all);
			struct up_nodes callees;
			struct lens_costs parts = {0};
			callees = up_node_callees(costs, &callers.items[0], arena);
			add_costs(&parts, &callees);
			same(&parts, &f->all);
			check_up(costs, &callers, true, 3, arena);
		}
	}
	same(&sum, &result->total);
}

static void check_tree(const struct made *m, const struct names *n, const struct lens *l,
		const struct lens_result *result, struct arena *arena) {
	struct call_tree t;
	struct tree_costs costs;
	t = call_tree_make(l, &m->r, n, arena);
	costs = call_tree_costs(&t, l, result, arena);
	struct lens_costs root = call_tree_all(&costs, 0);
	same(&root, &result->total);
	assert_int_equal(t.nodes[0].end, t.n);
	for (uint32_t i = 1; i < t.n; i++) {
		const struct call_node *node = &t.nodes[i];
		const struct call_node *parent = &t.nodes[node->parent];
		assert_true(node->parent < i && node->end <= parent->end && node->end > i);
		assert_true(l->n_hide == 0 || l->group != LENS_BY_FUNCTION ||
				!frame_is(node->name, l->hide[0]));
		struct lens_costs sum = {0}, own = call_tree_own(&costs, i);
		for (uint32_t k = 0; k < m->r.stacks.n; k++) {
			if (t.of_stack[k] == i) {
				lens_costs_add(&sum, &result->stacks[k]);
			}
		}
		same(&own, &sum);
		for (uint32_t k = i + 1; k < node->end; k = t.nodes[k].end) {
			struct lens_costs child = call_tree_all(&costs, k);
			lens_costs_add(&sum, &child);
			assert_true(node->end >= t.nodes[k].end);
			// No two children of one name
			for (uint32_t other = k; (other = t.nodes[other].end) < node->end;) {
				assert_true(t.nodes[other].key != t.nodes[k].key);
			}
		}
		struct lens_costs all = call_tree_all(&costs, i);
		same(&sum, &all);
		if (l->n_focus && node->parent == 0 && l->group == LENS_BY_FUNCTION) {
			bool is_focus = false;
			for (uint32_t k = 0; k < l->n_focus; k++) {
				is_focus |= frame_is(node->name, l->focus[k]);
			}
			assert_true(is_focus);
		}
	}
	check_functions(m, n, &t, &costs, l, result, arena);
	struct up_nodes up;
	struct lens_costs sum = {0};
	up = call_tree_bottom_up(&costs, arena);
	add_costs(&sum, &up);
	same(&sum, &result->total);
	check_up(&costs, &up, false, 4, arena);
}

static void check_breakdowns(const struct made *m, const struct names *n, const struct lens *l,
		const struct lens_result *result, struct arena *arena) {
	for (unsigned by = 0; by < N_BREAKDOWNS; by++) {
		struct breakdown b;
		struct lens_costs sum = {0};
		b = breakdown_make((enum breakdown_by)by, l, &m->r, n, result, arena);
		for (uint32_t i = 0; i < b.n; i++) {
			lens_costs_add(&sum, &b.parts[i].costs);
			assert_true(b.parts[i].costs.blocks <= result->total.blocks);
			assert_true(!b.parts[i].is_rest || i + 1 == b.n);
		}
		same(&sum, &result->total);
	}
}

/** Against blocks that live at each edge, counted one by one. */
static void check_timeline(const struct made *m, const struct names *n, const struct lens *l,
		const struct lens_result *result, struct arena *arena) {
	struct timeline t;
	t = timeline_make(l, &m->r, result, arena);
	uint64_t allocations = 0, temporary = 0, allocated_bytes = 0;
	bool is_peak_there = false;
	for (uint32_t i = 0; i < t.n; i++) {
		const struct timeline_point *p = &t.points[i];
		struct timeline_point hand = {.edge = p->edge, .time_ns = p->time_ns};
		for (uint32_t k = 0; k < m->n_blocks; k++) {
			const struct made_block *b = &m->blocks[k];
			if (is_shown(m, n, l, b->stack)) {
				bool is_live = b->from <= p->edge && p->edge < b->until;
				hand.bytes += is_live ? b->size : 0;
				hand.blocks += is_live;
				hand.allocations += b->from == p->edge;
				hand.allocated_bytes += b->from == p->edge ? b->size : 0;
				hand.temporary += b->from == p->edge && b->is_temporary;
			}
		}
		assert_memory_equal(&hand, p, sizeof hand);
		allocations += p->allocations;
		allocated_bytes += p->allocated_bytes;
		temporary += p->temporary;
		is_peak_there |= p->time_ns == result->moment_ns && p->bytes == result->total.bytes;
	}
	assert_int_equal(allocations, result->total.allocations);
	assert_int_equal(allocated_bytes, result->total.allocated_bytes);
	assert_int_equal(temporary, result->total.temporary);
	assert_true(l->metric != LENS_PEAK || is_peak_there);
}

static void check_lenses(const struct make_options *options, int n_lenses) {
	struct made m = make_recording(options);
	struct err err = {0};
	struct names *n = names_create(&m.r, NULL);
	assert_non_null(n);
	if (!recording_is_valid(&m.r, &err)) {
		fail_msg("%s", err.text);
	}
	for (int i = 0; i < n_lenses; i++) {
		struct arena arena = {0};
		struct lens l;
		struct lens_result result;
		some_lens(&m, &l, &arena);
		assert_true(lens_apply(&l, &m.r, n, &arena, &result, &err));
		struct lens_costs *hand = count_by_hand(&m, n, &l);
		struct lens_costs total = {0};
		for (uint32_t k = 0; k < m.r.stacks.n; k++) {
			same(&result.stacks[k], &hand[k]);
			lens_costs_add(&total, &hand[k]);
		}
		same(&result.total, &total);
		check_tree(&m, n, &l, &result, &arena);
		check_breakdowns(&m, n, &l, &result, &arena);
		check_timeline(&m, n, &l, &result, &arena);
		free(hand);
		arena_finish(&arena);
	}
	names_destroy(n);
	finish_made(&m);
}

static void test_random_lenses(void **state) {
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct make_options options = {
				.seed = seed,
				.nodes = 20 + 30 * (uint32_t)seed,
				.stacks = 10 + 10 * (uint32_t)seed,
				.edges = 1 + 3 * (uint32_t)seed,
				.blocks = 500,
				.functions = 4 + 2 * (uint32_t)seed,
				.threads = 1 + (uint32_t)seed % 5,
		};
		check_lenses(&options, 40);
	}
}

/** Without --fold's box, and with: the same sums, fewer nodes, and the outermost frame's name. */
static void test_library_runs_are_boxes(void **state) {
	(void)state;
	struct make_options options = {.seed = 3,
			.nodes = 300,
			.stacks = 150,
			.edges = 4,
			.blocks = 400,
			.functions = 30,
			.threads = 1};
	struct made m = make_recording(&options);
	struct names *n = names_create(&m.r, NULL);
	struct arena arena = {0};
	struct lens folded = lens_whole(), plain = lens_whole();
	plain.is_unfolded = true;
	struct call_tree a, b;
	a = call_tree_make(&folded, &m.r, n, &arena);
	b = call_tree_make(&plain, &m.r, n, &arena);
	assert_true(a.n < b.n);
	uint32_t n_boxes = 0;
	for (uint32_t i = 1; i < a.n; i++) {
		const struct call_node *node = &a.nodes[i];
		n_boxes += node->n_folded > 0;
		if (node->parent && node->name->owner == OWNER_LIBRARY) {
			assert_true(a.nodes[node->parent].name->owner != OWNER_LIBRARY);
		}
	}
	assert_true(n_boxes > 0);
	for (uint32_t i = 1; i < b.n; i++) {
		assert_int_equal(b.nodes[i].n_folded, 0);
	}
	arena_finish(&arena);
	names_destroy(n);
	finish_made(&m);
}
int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_random_lenses),
			cmocka_unit_test(test_library_runs_are_boxes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
