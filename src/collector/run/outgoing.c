// SPDX-License-Identifier: MIT
/*
 * Messages to the user, and events on their way to the aggregate and the file. The loop's thread
 * applies events to the aggregate or, while rings fill up and a core is free, the feed's. Only the
 * loop's thread uses the aggregate otherwise, after run_aggregate, which leaves nothing to apply.
 */
#include "base/parallel.h"
#include "collector/run/parts.h"

void run_say(struct run *run, const char *fmt, ...) {
	char text[1024];
	(void)FORMAT_ARGS(text, sizeof text, fmt);
	run->options->say(run->options->user, text);
}

void run_keep_events(struct run *run, const struct trace_event *events, size_t n) {
	struct err why;
	if (run->keeps_events && !keeper_events(run->keeper, events, n, &why)) {
		run->keeps_events = false;
		run->detail_ends_ns = run->now_ns;
		run_say(run, "individual events are no longer kept: %s", why.text);
	}
}

void run_begin_program(struct member *m) {
	struct run *run = m->run;
	aggregate_exec(run_aggregate(run), run->now_ns);
	mappings_end(run->mappings, 0, UINT64_MAX, run->now_ns, false);
	run_keep_events(run, &(struct trace_event){.kind = TRACE_EXEC, .time_ns = run->now_ns}, 1);
}

// ---- who applies events

enum {
	PRESSURE_MOST = 64, // then the feed's thread applies them, until there is none
	PRESSURE_STEP = 8,  // of a round with half a ring's events: so many came while the last one ran
	STAGES_CORES = 3,   // one is the program's
};

static bool may_have_thread(void) {
	struct cgroup group;
	return parallel_cores() >= STAGES_CORES &&
			(!cgroup_of_process(&group, getpid(), "cpu") || cgroup_cores(&group) >= STAGES_CORES);
}

static void choose_stages(struct run *run, size_t n_events) {
	bool is_behind = n_events >= RING_BIG_ENTRIES / 2;
	run->pressure = is_behind ? run->pressure + PRESSURE_STEP : run->pressure - (run->pressure > 0);
	LOWER_TO(run->pressure, PRESSURE_MOST);
	run->is_staged = run->is_staged ? run->pressure > 0 : run->pressure == PRESSURE_MOST;
	if (run->is_staged && run->stages == STAGES_UNKNOWN) {
		run->stages = may_have_thread() ? STAGES_TWO : STAGES_ONE;
	}
	run->is_staged &= run->stages == STAGES_TWO;
}

// ---- rounds

size_t run_round(struct run *run) {
	uint64_t now = clock_now_ns();
	run->now_ns = now - run->segment.start_ns;
	size_t n = order_round(run->order, now);
	choose_stages(run, n);
	return n;
}

void run_drain(void *user) {
	struct run *run = user;
	segment_tick(&run->segment, clock_now_ns());
	(void)run_round(run);
}

bool run_drain_all(struct run *run, uint64_t within_ns, unsigned n_idle) {
	uint64_t until_ns = clock_now_ns() + within_ns;
	while (n_idle > 0 && clock_now_ns() < until_ns) {
		size_t n = run_round(run);
		if (n == 0 && !order_is_behind(run->order)) {
			return true;
		}
		if (n == 0) {
			n_idle--;
			clock_sleep_ns(RUN_PAUSE_NS);
		}
	}
	return false;
}

struct aggregate *run_aggregate(struct run *run) {
	feed_drain(&run->feed);
	return run->feed.aggregate;
}
