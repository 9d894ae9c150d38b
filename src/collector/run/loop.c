// SPDX-License-Identifier: MIT
/*
 * The main loop of a recording: rounds of events, housekeeping, and how long to sleep in between.
 *
 * One thread does all that must keep its order: rings -> order -> aggregate. Three others mostly
 * sleep: watch (signals, the program's end), namer (symbols), keeper (the file).
 *
 * How long the loop sleeps between two rounds follows from what the last ones brought: not at all
 * while rings fill fast, 1 ms while events come, then twice as long each time, up to a second. The
 * target rings when a quarter of a ring is full, so a long sleep only costs freshness. While events
 * come steadily and fast it need not ring, which would cost a system call: the nap then ends before
 * half a ring can be full.
 */
#include "base/human.h"
#include "collector/run/parts.h"
#include "sys/clock.h"

enum {
	MANY_EVENTS = 4096, // a round with so many is followed by the next at once
	NAP_NS = 1000000,
	NAP_MIN_NS = 50000,
	STEADY_EVENTS = 2048, // since the last nap: they come fast
	NAPS = 20,            // rounds without events before the sleep gets longer
	SLEEP_MAX_NS = 1000000000,
	CHILDREN_SLEEP_MAX_NS = 250000000, // so that the last size of children is seen
	JIT_SLEEP_MAX_NS = 50000000,       // so that events of code that moves get the name it had then
	LAST_ROUNDS_NS = 20000000, // for events before the look at the end: other threads may go on
	LAST_PAUSE_NS = 20000,
};

static bool round_of_events(struct run *run, size_t *n) {
	*n = 0;
	if (run->has_failed) {
		return false;
	}
	uint64_t now = clock_now_ns();
	run->now_ns = now - run->segment.start_ns;
	struct err err = {0};
	if (order_round(run->order, now, n, &err)) {
		return true;
	}
	run->has_failed = run->stopped_early = true;
	segment_close(&run->segment);
	run_say(run, "recording has stopped; the program keeps running: %s", err.text);
	return false;
}

void run_drain(struct run *run) {
	size_t n;
	segment_tick(&run->segment, clock_now_ns());
	(void)round_of_events(run, &n);
}

/** The program waits to be looked at: what it has done so far is taken before. */
static void end_program(struct run *run) {
	uint64_t until_ns = clock_now_ns() + LAST_ROUNDS_NS;
	bool is_behind = true;
	while (is_behind && clock_now_ns() < until_ns) {
		size_t n;
		bool is_taken = round_of_events(run, &n);
		is_behind = is_taken && (n > 0 || order_is_behind(run->order));
		if (is_behind && n == 0) {
			clock_sleep_ns(LAST_PAUSE_NS);
		}
	}
	run_look_at_end(run, !is_behind);
}

/** How fast events come: so many since the last nap began. */
struct pace {
	uint64_t n_events, since_ns;
};

/** How long a nap may be without a bell if events keep coming at this rate. 0: not at all. */
static uint64_t quiet_nap_ns(const struct pace *pace, uint64_t now_ns) {
	if (pace->n_events < STEADY_EVENTS) {
		return 0;
	}
	uint64_t half_ring = wire_ring_entries(RING_BIG) / 2;
	uint64_t ns = (now_ns - pace->since_ns) * half_ring / pace->n_events;
	return ns < NAP_MIN_NS ? 0 : ns < NAP_NS ? ns : NAP_NS;
}

// Sleep, but keep the time label, from which the target takes the time
static void nap(struct run *run, struct pace *pace) {
	uint64_t now_ns = clock_now_ns();
	uint64_t quiet_ns = quiet_nap_ns(pace, now_ns);
	*pace = (struct pace){.since_ns = now_ns};
	if (quiet_ns > 0) {
		clock_sleep_ns(quiet_ns);
		return;
	}
	atomic_store(&run->segment.common->bell, 0);
	segment_wait(&run->segment, NAP_NS);
}

static bool has_ended(struct run *run) {
	if (watch_has_ended(run->watch, &run->end)) {
		return true;
	}
	bool is_over = run->only_looks ? run->old_heap.snapshot == 0
								   : run->ends_when_closed && segment_is_closed(&run->segment);
	if (!is_over) {
		return false;
	}
	run->end = (struct watch_end){.is_detached = true, .time_ns = clock_now_ns()};
	run->segment.is_lived_in = true;
	return true;
}

/** Somebody waits for a look; the blocks from before an attach are known, or will not be. */
static bool must_look(const struct run *run) {
	return control_asked(run->control) == CONTROL_LOOK && run->old_heap.snapshot == 0;
}

static void rest(struct run *run, uint64_t *sleep_ns) {
	size_t n;
	segment_arm(&run->segment);
	// A ring from before the bell was armed does not end the wait: check everything once more
	if (has_ended(run) || run_exec_is_announced(run) || segment_is_ending(&run->segment) ||
			control_asked(run->control) == CONTROL_STATUS || must_look(run) ||
			(round_of_events(run, &n) && n > 0)) {
		return;
	}
	uint64_t most_ns = order_rest_ns(run->order);
	bool is_waiting = most_ns < NAP_NS;
	segment_wait(&run->segment, is_waiting ? most_ns : *sleep_ns);
	uint64_t max_ns = run->jit.source.fd >= 0 ? JIT_SLEEP_MAX_NS : SLEEP_MAX_NS;
	max_ns = run->children.n_living > 0 && max_ns > CHILDREN_SLEEP_MAX_NS ? CHILDREN_SLEEP_MAX_NS
																		  : max_ns;
	*sleep_ns = *sleep_ns * 2 > max_ns ? max_ns : *sleep_ns * 2;
}

/** The program found no room in its rings for so long that it gave us up (docs/wire.md). */
static void note_given_up(struct run *run) {
	char at[HUMAN_MAX];
	if (!run->stopped_early) {
		run_say(run,
				"recording ended at %s while the program kept running: it had waited too long "
				"for heaptrack, which was stopped or got no CPU time",
				human_duration(at, run->last_event_ns));
	}
	run->stopped_early = true;
}

/** A round and what follows it; how many events it brought. */
static size_t take_turn(struct run *run) {
	size_t n;
	segment_tick(&run->segment, clock_now_ns());
	(void)round_of_events(run, &n);
	if (segment_is_ending(&run->segment)) {
		end_program(run);
	}
	run_housekeep(run, n == 0);
	if (run->wants_look) {
		run->wants_look = false;
		(void)run_look(run, REC_AT_RSS_PEAK, run_drain);
	}
	if (must_look(run)) {
		run_answer_look(run, run_drain);
	}
	run_follow_exec(run);
	return n;
}

void run_loop(struct run *run) {
	struct pace pace = {.since_ns = clock_now_ns()};
	uint64_t sleep_ns = NAP_NS;
	unsigned n_empty = 0;
	while (!has_ended(run)) {
		size_t n = take_turn(run);
		pace.n_events += n;
		n_empty = n > 0 ? 0 : n_empty + 1;
		if (n_empty == 0) {
			sleep_ns = NAP_NS;
		}
		if (n >= MANY_EVENTS) {
			continue;
		}
		if (n_empty <= NAPS) {
			nap(run, &pace);
		} else {
			rest(run, &sleep_ns);
		}
	}
	if (!run->ends_when_closed && segment_is_closed(&run->segment)) {
		note_given_up(run);
	}
	if (run->leave) {
		if (run->end.is_detached) {
			(void)run_look(run, run->only_looks ? REC_AT_REQUEST : REC_AT_DETACH, run_drain);
		}
		run->leave(run);
	}
	run->now_ns = run->end.time_ns - run->segment.start_ns;
	run_take_labels(run);
	struct err err = {0};
	if (!run->has_failed && !order_finish(run->order, clock_now_ns(), &err)) {
		run->stopped_early = true;
	}
	segment_close(&run->segment); // children that still run must not wait for us
	run_take_modules(run);
	run_note_last_program(run);
	children_take_last(&run->children, run->segment.header, run->now_ns);
	control_settle(run->control, run_put_status, run);
}
