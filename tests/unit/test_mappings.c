// SPDX-License-Identifier: MIT

/*
 * Random calls that map, against a slow version that keeps what each page is: ranges, stacks, the
 * peak's composition, and what every stack had mapped at every edge. Longer: MAPPINGS_SEEDS=10000.
 */

#include "engine/mappings.h"
#include "wire/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { PAGES = 96, PAGE = 4096, STACKS = 6, CALLS = 2000, NOBODY = -1 };
#define BASE 0x7f0000000000ull

struct page {
	int mapping; // NOBODY: none
	uint32_t sort;
};

struct maker {
	uint64_t maps, mapped, live_maps, live, peak_maps, peak, first_ns, last_ns;
};

// ---- the slow version

static struct {
	struct page pages[PAGES];
	struct {
		uint32_t stack, left;
		int from;
		uint64_t born_ns;
	} mappings[CALLS];
	int n_mappings;
	struct maker stacks[STACKS];
	uint64_t live, peak, peak_ns;
	struct {
		int thread, page;
		uint32_t stack, sort;
	} last; // unmapped. page NOBODY: nothing
	struct {
		uint64_t calls, bytes, first_ns, last_ns;
		bool is_inside;
	} changes[STACKS][WIRE_CHANGES];
	struct {
		uint64_t time_ns, live[STACKS];
	} history[CALLS + 1];
	int n_history;
} slow;

static int n_detached; // of all seeds, in parts or whole

static void slow_unmap_page(int page, int thread, bool is_call) {
	struct page *p = &slow.pages[page];
	if (p->mapping == NOBODY) {
		return;
	}
	uint32_t stack = slow.mappings[p->mapping].stack;
	if (is_call && slow.last.page == NOBODY) {
		slow.last.thread = thread;
		slow.last.page = page;
		slow.last.stack = stack;
		slow.last.sort = p->sort;
	}
	slow.stacks[stack].live -= PAGE;
	slow.stacks[stack].live_maps -= --slow.mappings[p->mapping].left == 0;
	slow.live -= PAGE;
	p->mapping = NOBODY;
}

static void slow_map(int from, int n, uint32_t stack, uint32_t sort, int thread, uint64_t now_ns) {
	bool is_known = slow.last.page != NOBODY && slow.last.thread == thread;
	for (int i = 0; i < n; i++) {
		slow_unmap_page(from + i, thread, false);
	}
	if (sort >> 4 == WIRE_MAP_BACK && is_known && slow.last.page == from) {
		stack = slow.last.stack;
	}
	if (sort >> 4 >= WIRE_MAP_MOVED) {
		sort = is_known ? slow.last.sort : 0;
	}
	struct maker *s = &slow.stacks[stack];
	slow.mappings[slow.n_mappings].stack = stack;
	slow.mappings[slow.n_mappings].left = (uint32_t)n;
	slow.mappings[slow.n_mappings].from = from;
	slow.mappings[slow.n_mappings].born_ns = now_ns;
	for (int i = 0; i < n; i++) {
		slow.pages[from + i] = (struct page){slow.n_mappings, sort};
	}
	slow.n_mappings++;
	s->first_ns = s->maps ? s->first_ns : now_ns;
	s->last_ns = now_ns;
	s->maps++;
	s->live_maps++;
	s->mapped += (uint64_t)n * PAGE;
	s->live += (uint64_t)n * PAGE;
	slow.live += (uint64_t)n * PAGE;
	if (slow.live > slow.peak) {
		slow.peak = slow.live;
		slow.peak_ns = now_ns;
		for (int i = 0; i < STACKS; i++) {
			slow.stacks[i].peak = slow.stacks[i].live;
			slow.stacks[i].peak_maps = slow.stacks[i].live_maps;
		}
	}
}

/** Of what begins at this page nothing but the beginning may be gone. */
static void slow_detach(int from, int thread) {
	int first = from;
	while (first < PAGES && slow.pages[first].mapping == NOBODY) {
		first++;
	}
	int mapping = first < PAGES ? slow.pages[first].mapping : NOBODY;
	if (mapping != NOBODY && slow.pages[first].sort >> 4 == WIRE_MAP_SHM &&
			slow.mappings[mapping].from == from) {
		n_detached++;
		for (int i = first; i < PAGES; i++) {
			if (slow.pages[i].mapping == mapping) {
				slow_unmap_page(i, thread, false);
			}
		}
	}
}

static void slow_call(const struct trace_event *e) {
	int from = (int)((e->ptr - BASE) / PAGE), n = (int)((e->size + PAGE - 1) / PAGE);
	uint32_t sort = e->ptr & 0xff;
	slow.last.page = e->kind == KIND_UNMAP ? NOBODY : slow.last.page;
	if (e->kind == KIND_UNMAP && sort >> 4 == WIRE_MAP_SHM) {
		slow_detach(from, (int)e->thread);
		return;
	}
	for (int i = from; i < from + n && e->kind == KIND_UNMAP; i++) {
		slow_unmap_page(i, (int)e->thread, true);
	}
	if (e->kind == KIND_CHANGED && sort >> 4 != WIRE_CHANGE_PROTECTION) {
		__typeof__(slow.changes[0][0]) *c = &slow.changes[e->node - 1][sort >> 4];
		c->first_ns = c->calls++ ? c->first_ns : e->time_ns;
		c->last_ns = e->time_ns;
		c->bytes += (uint64_t)n * PAGE;
		c->is_inside |= sort >> 3 & 1;
		return;
	}
	for (int i = from; i < from + n && e->kind == KIND_CHANGED; i++) {
		slow.pages[i].sort = (slow.pages[i].sort & ~7u) | (sort & 7);
	}
	if (e->kind == KIND_MAP) {
		slow_map(from, n, e->node - 1, sort, (int)e->thread, e->time_ns);
	}
}

// ---- comparing

static void compare_range(void *user, const struct mapped_range *range) {
	uint64_t *end = user;
	assert_true(range->start >= *end && range->end > range->start);
	for (uint64_t at = *end; at < range->start; at += PAGE) {
		assert_int_equal(slow.pages[(at - BASE) / PAGE].mapping, NOBODY);
	}
	for (uint64_t at = range->start; at < range->end; at += PAGE) {
		const struct page *p = &slow.pages[(at - BASE) / PAGE];
		assert_int_not_equal(p->mapping, NOBODY);
		assert_int_equal(slow.mappings[p->mapping].stack + 1, range->node);
		assert_int_equal(slow.mappings[p->mapping].born_ns, range->born_ns);
		assert_int_equal(p->sort, range->sort);
	}
	*end = range->end;
}

struct now {
	uint64_t bytes;
	int n_ranges;
};

static void count_range(void *user, const struct mapped_range *range) {
	struct now *now = user;
	now->bytes += range->end - range->start;
	now->n_ranges++;
}

static struct now now_of(const struct mappings *m) {
	struct now now = {0};
	mappings_each(m, count_range, &now);
	return now;
}

static void compare_ranges(const struct mappings *m) {
	uint64_t end = BASE;
	mappings_each(m, compare_range, &end);
	for (; end < BASE + (uint64_t)PAGES * PAGE; end += PAGE) {
		assert_int_equal(slow.pages[(end - BASE) / PAGE].mapping, NOBODY);
	}
	assert_int_equal(now_of(m).bytes, slow.live);
}

static void compare_stacks(const struct recording *r) {
	int n_seen = 0;
	for (int i = 0; i < STACKS; i++) {
		n_seen += slow.stacks[i].maps > 0;
	}
	assert_int_equal(r->mappings.n, n_seen);
	for (uint32_t i = 0; i < r->mappings.n; i++) {
		const struct rec_mapping *m = &r->mappings.items[i];
		const struct maker *s = &slow.stacks[m->node - 1];
		assert_int_equal(m->maps, s->maps);
		assert_int_equal(m->mapped_bytes, s->mapped);
		assert_int_equal(m->peak_maps, s->peak_maps);
		assert_int_equal(m->peak_bytes, s->peak);
		assert_int_equal(m->live_maps, s->live_maps);
		assert_int_equal(m->live_bytes, s->live);
		assert_int_equal(m->first_ns, s->first_ns);
		assert_int_equal(m->last_ns, s->last_ns);
	}
	assert_int_equal(r->summary.mapped_peak_bytes, slow.peak);
	assert_int_equal(r->summary.mapped_peak_time_ns, slow.peak_ns);
	assert_int_equal(r->summary.never_unmapped_bytes, slow.live);
}

static void compare_changes(const struct recording *r) {
	uint32_t n_seen = 0;
	for (int i = 0; i < STACKS * WIRE_CHANGES; i++) {
		n_seen += slow.changes[i / WIRE_CHANGES][i % WIRE_CHANGES].calls > 0;
	}
	assert_int_equal(r->changes.n, n_seen);
	for (uint32_t i = 0; i < r->changes.n; i++) {
		const struct rec_change *a = &r->changes.items[i];
		const __typeof__(slow.changes[0][0]) *b = &slow.changes[a->node - 1][a->what];
		assert_int_equal(a->calls, b->calls);
		assert_int_equal(a->bytes, b->bytes);
		assert_int_equal(a->first_ns, b->first_ns);
		assert_int_equal(a->last_ns, b->last_ns);
		assert_int_equal(a->is_inside, b->is_inside);
	}
}

/** What each stack had mapped at each edge, by the intervals. */
static void compare_edges(const struct recording *r) {
	for (uint32_t e = 0; e < r->mapping_edges.n; e++) {
		uint64_t live[STACKS] = {0}, time_ns = r->mapping_edges.items[e].time_ns;
		for (uint32_t i = 0; i < r->mapping_intervals.n; i++) {
			const struct rec_interval *v = &r->mapping_intervals.items[i];
			if (v->from <= e && e < v->until) {
				live[r->mappings.items[v->stack].node - 1] += v->bytes;
			}
		}
		int k = slow.n_history - 1;
		while (k > 0 && slow.history[k].time_ns > time_ns) {
			k--;
		}
		assert_memory_equal(live, slow.history[k].live, sizeof live);
	}
}

static void compare(const struct mappings *m, uint64_t now_ns) {
	struct rec_node nodes[STACKS + 1] = {0};
	struct recording r = {0};
	mappings_snapshot(m, now_ns, &r);
	r.nodes.items = nodes;
	r.nodes.n = STACKS + 1;
	compare_stacks(&r);
	compare_edges(&r);
	compare_changes(&r);
	recording_finish(&r);
}

// ---- tests

static struct mappings *begin(void) {
	memset(&slow, 0, sizeof slow);
	slow.last.page = NOBODY;
	slow.n_history = 1;
	for (int i = 0; i < PAGES; i++) {
		slow.pages[i].mapping = NOBODY;
	}
	struct mappings *m = mappings_create(PAGE);
	return m;
}

static void call(struct mappings *m, struct trace_event e) {
	mappings_event(m, &e);
	slow_call(&e);
	slow.history[slow.n_history].time_ns = e.time_ns;
	for (int i = 0; i < STACKS; i++) {
		slow.history[slow.n_history].live[i] = slow.stacks[i].live;
	}
	slow.n_history++;
}

static int below(int n) {
	return rand() % n;
}

static struct trace_event random_call(uint64_t time_ns) {
	static const uint32_t sorts[] = {3, 5, 3 | WIRE_MAP_FILE << 4, WIRE_MAP_MOVED << 4,
			WIRE_MAP_BACK << 4, 11 | WIRE_MAP_STACK << 4, 11 | WIRE_MAP_SHM << 4};
	int from = below(PAGES), n = 1 + below(below(4) ? 6 : PAGES - from);
	n = n < PAGES - from ? n : PAGES - from;
	int which = below(10);
	struct trace_event e = {.time_ns = time_ns,
			.ptr = BASE + (uint64_t)from * PAGE,
			.size = (uint64_t)n * PAGE - (uint64_t)below(PAGE)};
	e.kind = which < 5 ? KIND_MAP : which < 8 ? KIND_UNMAP : KIND_CHANGED;
	e.thread = (1 + (uint32_t)below(2)) & TRACE_THREAD_MAX;
	if (e.kind == KIND_MAP) {
		e.node = 1 + (uint32_t)below(STACKS);
		e.ptr |= sorts[below(7)];
		if (slow.last.page != NOBODY && below(2)) { // where something was unmapped last
			e.ptr = (BASE + (uint64_t)slow.last.page * PAGE) | (e.ptr & 0xff);
			e.size = PAGE;
		}
	} else if (e.kind == KIND_UNMAP && which == 7 && slow.n_mappings > 0) { // often where one began
		int newest = below(slow.n_mappings < 30 ? slow.n_mappings : 30);
		int at = slow.mappings[slow.n_mappings - 1 - newest].from;
		e.ptr = (BASE + (uint64_t)(below(4) ? at : from) * PAGE) | WIRE_MAP_SHM << 4;
		e.size = PAGE;
	} else if (e.kind == KIND_CHANGED && below(2)) {
		e.node = 1 + (uint32_t)below(STACKS);
		e.ptr |= (uint32_t)below(2) << 3 | (uint32_t)(1 + below(WIRE_CHANGES - 1)) << 4;
	} else if (e.kind == KIND_CHANGED) {
		e.ptr |= (uint32_t)below(8);
	}
	return e;
}

static void test_random_calls(void **state) {
	(void)state;
	const char *wanted = getenv("MAPPINGS_SEEDS");
	int n_seeds = wanted ? atoi(wanted) : 60;
	for (int seed = 0; seed < n_seeds; seed++) {
		srand((unsigned)seed);
		struct mappings *m = begin();
		const uint64_t step_ns = 2ull << below(20);
		for (int i = 1; i <= CALLS - 1; i++) {
			call(m, random_call((uint64_t)i * step_ns + 1));
			if (below(20) == 0) {
				compare_ranges(m);
			}
			if (below(500) == 0) {
				compare(m, (uint64_t)i * step_ns + 2);
			}
		}
		compare(m, CALLS * step_ns);
		mappings_end(m, 0, UINT64_MAX, CALLS * step_ns + 1, false);
		assert_int_equal(now_of(m).bytes, 0);
		assert_int_equal(now_of(m).n_ranges, 0);
		mappings_destroy(m);
	}
	assert_true(n_detached > 5 * n_seeds);
}

static void test_changed_pages_do_not_stay_apart(void **state) {
	(void)state;
	struct mappings *m = begin();
	const uint64_t bytes = (uint64_t)PAGES * PAGE;
	call(m,
			(struct trace_event){.kind = KIND_MAP,
					.ptr = BASE | 3,
					.size = bytes,
					.node = 1,
					.time_ns = 1});
	for (uint64_t i = 0; i < 2 * PAGES; i++) {
		call(m,
				(struct trace_event){.kind = KIND_CHANGED,
						.size = PAGE,
						.time_ns = 3 + 2 * i,
						.ptr = (BASE + i / 2 * PAGE) | (i % 2 ? 3 : 5)});
		assert_true(now_of(m).n_ranges <= 3);
	}
	assert_int_equal(now_of(m).n_ranges, 1);
	mappings_destroy(m);
}

static void test_any_addresses(void **state) {
	(void)state;
	struct mappings *m = begin();
	for (unsigned i = 0; i < 100000; i++) {
		struct trace_event e = {.time_ns = i, .node = 1 + i % 3};
		e.kind = (KIND_MAP + (unsigned)below(3)) & 0xf;
		e.ptr = (uint64_t)rand() << below(40);
		e.size = below(4) ? (uint64_t)rand() << below(40) : UINT64_MAX - (unsigned)rand();
		mappings_event(m, &e);
	}
	struct recording r = {0};
	mappings_snapshot(m, 100000, &r);
	recording_finish(&r);
	mappings_destroy(m);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_random_calls),
			cmocka_unit_test(test_changed_pages_do_not_stay_apart),
			cmocka_unit_test(test_any_addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
