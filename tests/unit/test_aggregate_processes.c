// SPDX-License-Identifier: MIT

/* Several processes in one aggregate, beside a model that adds up: their totals, peaks and ends. */

#include "aggregate_world.h"

enum { N_PROCESSES = 5, N_SLOTS = 40, RUN_MOST = 30 };
#define REGION ((uint64_t)1 << 22)

struct process {
	uint64_t sizes[N_SLOTS]; // UINT64_MAX: no block
	uint64_t live, peak;
};

struct model {
	struct process processes[N_PROCESSES];
	uint64_t live, peak, left, left_blocks, gone, allocated, allocations;
};

static uint64_t address_of(unsigned process, unsigned slot) {
	// Two regions each, and some addresses that no shadow has a place for
	return (2 * process + 1 + slot % 2) * REGION + slot * 64 + (slot % 7 == 0 ? 8 : 0);
}

static struct trace_event some_event_of(struct world *w, struct model *m, unsigned process,
		uint64_t *highest) {
	struct process *p = &m->processes[process];
	unsigned slot = (unsigned)below(w, N_SLOTS);
	struct trace_event e = {.ptr = address_of(process, slot), .time_ns = w->now += below(w, 900)};
	e.thread = (process + 1) & TRACE_THREAD_MAX;
	if (p->sizes[slot] == UINT64_MAX) {
		e.kind = TRACE_ALLOC;
		e.size = some_size(w);
		e.node = 1 + (uint32_t)below(w, 9);
		p->sizes[slot] = e.size;
		p->live += e.size;
		m->live += e.size;
		m->allocated += e.size;
		m->allocations++;
	} else {
		e.kind = TRACE_FREE;
		p->live -= p->sizes[slot];
		m->live -= p->sizes[slot];
		p->sizes[slot] = UINT64_MAX;
	}
	p->peak = p->live > p->peak ? p->live : p->peak;
	m->peak = m->live > m->peak ? m->live : m->peak;
	*highest = m->live > *highest ? m->live : *highest;
	return e;
}

static void end_process(struct aggregate *a, struct world *w, struct model *m, unsigned process) {
	struct process *p = &m->processes[process];
	bool is_left = below(w, 2);
	uint64_t start = (2 * process + 1) * REGION;
	aggregate_end_range(a, start, start + REGION, w->now, is_left);
	aggregate_end_range(a, start + REGION, start + REGION + 640, w->now, is_left);
	aggregate_end_range(a, start + REGION + 640, start + REGION + N_SLOTS * 64, w->now, is_left);
	for (unsigned i = 0; i < N_SLOTS; i++) {
		m->left_blocks += is_left && p->sizes[i] != UINT64_MAX;
		p->sizes[i] = UINT64_MAX;
	}
	*(is_left ? &m->left : &m->gone) += p->live;
	m->live -= p->live;
	p->live = 0;
	assert_int_equal(aggregate_now(a).live_bytes, m->live);
}

static void check_recording(struct aggregate *a, const struct model *m, uint64_t now) {
	struct recording r = {0};
	struct err err = {0};
	static struct slice none;
	static struct rec_location location;
	static struct rec_node nodes[10];
	static struct rec_module module;
	aggregate_snapshot(a, now, &r);
	r.strings.items = &none;
	r.locations.items = &location;
	r.modules.items = &module;
	r.nodes.items = nodes;
	r.strings.n = r.locations.n = r.modules.n = 1;
	r.nodes.n = 10;
	if (!recording_is_valid(&r, &err)) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(r.summary.live_bytes, m->live + m->left);
	assert_int_equal(r.summary.left_bytes, m->left);
	assert_int_equal(r.summary.left_blocks, m->left_blocks);
	assert_int_equal(r.summary.gone_at_exec_bytes, m->gone);
	assert_int_equal(r.summary.peak_bytes, m->peak);
	assert_int_equal(r.summary.allocated_bytes, m->allocated);
	assert_int_equal(r.summary.allocations, m->allocations);
	assert_int_equal(r.quality.unknown_frees, 0);
	recording_finish(&r);
}

static void play(uint64_t seed) {
	struct world w = {.random = seed * 77 + 1, .has_huge_sizes = seed % 3 == 0};
	struct model m = {0};
	memset(m.processes, 0xff, sizeof m.processes);
	struct aggregate *a = aggregate_create(NULL);
	for (unsigned i = 0; i < N_PROCESSES; i++) {
		m.processes[i].live = m.processes[i].peak = 0;
		assert_int_equal(aggregate_thread(a, 100 + i, 1, 0), i + 1);
	}
	for (int step = 0; step < 400; step++) {
		unsigned process = (unsigned)below(&w, N_PROCESSES);
		struct process *p = &m.processes[process];
		struct trace_event events[RUN_MOST];
		uint64_t above = m.live + p->peak - p->live, highest = above;
		uint64_t peak = p->peak;
		size_t n = 1 + below(&w, RUN_MOST);
		for (size_t i = 0; i < n; i++) {
			events[i] = some_event_of(&w, &m, process, &highest);
		}
		(void)aggregate_watch(a, above);
		aggregate_events(a, events, n);
		assert_int_equal(aggregate_watch(a, UINT64_MAX), highest);
		assert_int_equal(peak + highest - above, p->peak);
		assert_int_equal(aggregate_now(a).live_bytes, m.live);
		if (below(&w, 20) == 0) {
			end_process(a, &w, &m, process);
		}
	}
	check_recording(a, &m, w.now);
	aggregate_destroy(a);
}

static void processes_come_and_go(void **state) {
	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		play(seed);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(processes_come_and_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
