// SPDX-License-Identifier: MIT
/*
 * The main loop of a recording: rounds of events, housekeeping, and sleep in between; at the end it
 * looks up missing names, writes the last state and finishes the file.
 *
 * One thread does all that must keep its order: rings -> order -> aggregate (the last step may be
 * another's: outgoing.c). Three more mostly sleep: watch (signals, the program's end), namer
 * (symbols), keeper (the file).
 *
 * The sleep between two rounds follows from the last ones: none while rings fill fast, 1 ms while
 * events come, then twice as long each time, up to a second. The target rings when a quarter of a
 * ring is full, so a long sleep only costs freshness. While events come steadily and fast it need
 * not ring, which costs a system call: the nap ends before half a ring can be full.
 */
#include "collector/run/parts.h"

enum {
	MANY_EVENTS = 4096, // a round with so many is followed by the next at once
	NAP_NS = 1000000,
	NAP_MIN_NS = 50000,
	STEADY_EVENTS = 2048, // since the last nap: they come fast
	NAPS = 20,            // rounds without events before the sleep grows
	SLEEP_MAX_NS = 1000000000,
	CHILDREN_SLEEP_MAX_NS = 250000000, // to see the last size of children
	LIMIT_SLEEP_MAX_NS = 20000000, // so that the program is looked at before it is killed, and that
								   // what a scanner has found is taken
	JIT_SLEEP_MAX_NS = 50000000,   // so that events of moving code get its name at the time
	FINISH_PATIENCE_NS = 50000000, // at a time, for names missing at the end
};

// ---- how long to sleep

/** How fast events come: the number since the last nap began. */
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

// Sleep, but keep the time label current, from which the target takes the time
static void nap(struct run *run, struct pace *pace) {
	uint64_t now_ns = clock_now_ns(), quiet_ns = quiet_nap_ns(pace, now_ns);
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
	bool is_over = run->only_looks
			? run->old_heap.snapshot == 0
			: run->ends_when_closed && segment_state(&run->segment) == SEGMENT_CLOSED;
	if (!is_over && (run->ends_ns == 0 || clock_now_ns() < run->ends_ns)) {
		return false;
	}
	run->end = (struct watch_end){.is_detached = true, .time_ns = clock_now_ns()};
	run->segment.is_lived_in = true;
	return true;
}

/** Does somebody wait for a look that is possible? */
static bool must_look(const struct run *run) {
	return run_may_scan(run) &&
			(control_asked(run->control) == CONTROL_LOOK ||
					segment_state(&run->segment) == SEGMENT_LOOKING);
}

static void rest(struct run *run, uint64_t *sleep_ns) {
	segment_arm(&run->segment);
	// A ring from before the bell was armed does not end the wait: check everything again
	if (has_ended(run) || run_exec_is_announced(run) ||
			segment_state(&run->segment) == SEGMENT_ENDING ||
			control_asked(run->control) == CONTROL_STATUS || must_look(run) || run_round(run) > 0) {
		return;
	}
	uint64_t most_ns = order_rest_ns(run->order);
	bool is_waiting = most_ns < NAP_NS;
	segment_wait(&run->segment, is_waiting ? most_ns : *sleep_ns);
	uint64_t max_ns = run->jit.fd >= 0 ? JIT_SLEEP_MAX_NS : SLEEP_MAX_NS;
	bool is_watched = run->ending.is_close || run->scanner.pid > 0 || run->members.n > 1 ||
			run->join;
	max_ns = is_watched ? LIMIT_SLEEP_MAX_NS : max_ns;
	max_ns = run->children.n_living > 0 && max_ns > CHILDREN_SLEEP_MAX_NS ? CHILDREN_SLEEP_MAX_NS
																		  : max_ns;
	*sleep_ns = *sleep_ns * 2 > max_ns ? max_ns : *sleep_ns * 2;
}

/** The program found no room in its rings for so long that it gave up on us (docs/wire.md). */
static void note_given_up(struct run *run) {
	if (!run->stopped_early) {
		run_say(run,
				"recording ended at %s while the program kept running: it had waited too long "
				"for heaptrack, which was stopped or got no CPU time",
				HUMAN_DURATION(run->last_event_ns));
	}
	run->stopped_early = true;
}

/** A round and what follows it. Returns the number of its events. */
static size_t take_turn(struct run *run) {
	segment_tick(&run->segment, clock_now_ns());
	size_t n = run_round(run);
	if (!run->tree && segment_state(&run->segment) == SEGMENT_ENDING) {
		run_look_at_end(run);
	}
	enum rec_look_at due = run_housekeep(run, n == 0);
	run_take_grades(run, false);
	if (due != REC_ATS) {
		(void)run_look(run, due);
	}
	if (must_look(run)) {
		run_answer_look(run);
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
	run->first.has_ended = !run->end.is_detached; // else its threads live on
	if (!run->ends_when_closed && segment_state(&run->segment) == SEGMENT_CLOSED) {
		note_given_up(run);
	}
	if (run->leave) {
		while (run->end.is_detached && run->options->leaks && run->old_heap.snapshot != 0) {
			run_drain(run); // the program goes on, until its old blocks are known
			clock_sleep_ns(NAP_NS);
			run_take_old_blocks(run, false);
		}
		if (run->end.is_detached) {
			(void)run_look(run, run->only_looks ? REC_AT_REQUEST : REC_AT_DETACH);
		}
		run->leave(run);
	}
	run_take_grades(run, true);
	run->now_ns = run->end.time_ns - run->segment.start_ns;
	EACH(thread, run->threads) {
		run_take_label(run, thread);
	}
	order_finish(run->order, clock_now_ns());
	feed_drain(&run->feed);
	if (run->tree) {
		run_tree_end(run);
	}
	segment_close(&run->segment); // children that still run must not wait for us
	run_take_modules(run);
	run_note_last_program(run);
	if (run->options->leaks && !run->is_graded) {
		run_say_ungraded(run,
				run->records_mappings ? "the program ended without waiting for heaptrack, by a "
										"signal or a system call of its own"
									  : "what the program maps is not recorded");
	}
	children_take_last(&run->children, run->segment.header, run->now_ns);
	control_settle(run->control, run_put_status, run);
}

// ---- the finished file

/** Of a Python that had run for a while. */
static void tell_runtimes(struct run *run) {
	const struct units *u = &run->units;
	if (u->v8_why.code) {
		run_say(run, "JavaScript functions have no names: %s", u->v8_why.text);
	}
	if (u->why && run->now_ns > 1000000000) {
		run_say(run, "the functions of Python %u.%u have no names: %s", u->candidate.version >> 8,
				u->candidate.version & 255u, u->candidate.n_ranges ? u->why : "it is not known");
	}
}

static void finish_names(struct run *run) {
	size_t n_all = namer_pending(run->names);
	uint64_t start_ns = clock_now_ns();
	run->units.is_last = true;
	units_step(&run->units, &run->tries, run->names, run->now_ns);
	jit_step(&run->jit, &run->tries, run->names, run->now_ns, true);
	tell_runtimes(run);
	namer_step(run->names, &run->tries, run->now_ns, true);
	while (namer_pending(run->names) > 0 && !watch_is_hurried(run->watch)) {
		namer_wait(run->names, FINISH_PATIENCE_NS);
		namer_step(run->names, &run->tries, run->now_ns, true);
		if (clock_now_ns() - start_ns > 1000000000) {
			run->options->progress(run->options->user, namer_pending(run->names), n_all);
		}
	}
}

static bool end(struct run *run, struct run_result *result, struct err *err) {
	if (!run->options->lacks_names) {
		finish_names(run);
	}
	keeper_wait(run->keeper); // two states at a time would take twice the memory
	FREED struct recording *r = run_state(run, true);
	// The last state is a copy of these: free them before writing it takes more memory
	feed_finish(&run->feed);
	mappings_destroy(run->mappings);
	run->mappings = NULL;
	if (namer_pending(run->names) == 0) { // else its thread may still read their modules
		tries_finish(&run->tries);
	}
	result->file_is_whole = keeper_finish(run->keeper, r, err);
	result->recording = *r;
	return result->file_is_whole;
}

void run_close(struct run *run, struct run_result *result) {
	result->was_recorded = atomic_load(&run->segment.header->n_images) > 0;
	result->why = run->exec_why;
	result->was_too_narrow = atomic_load(&run->segment.header->n_too_narrow) > 0;
	if (result->was_recorded) {
		struct err why = {0};
		if (!end(run, result, &why)) {
			result->is_lost = !output_is_there(&run->output);
			(void)err_add(&why,
					result->is_lost ? "the recording is lost"
									: "cannot finish the file; it holds the last saved state");
			run_say(run, "%s", why.text);
		}
		run_tell_notes(run);
		result->texts = run->texts.arena; // the recording's texts point into it
		run->texts.arena = (struct arena){0};
	}
	(void)snprintf(result->path, sizeof result->path, "%s", run->output.path);
}

void run_result_finish(struct run_result *result) {
	recording_finish(&result->recording);
	arena_finish(&result->texts);
}
