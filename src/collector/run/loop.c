// SPDX-License-Identifier: MIT
#include "base/human.h"
#include "base/vec.h"
#include "collector/run/follow.h"
#include "collector/run/parts.h"
#include "collector/run/status.h"
#include "sys/clock.h"
#include "sys/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// One thread does all that must keep its order: rings -> order -> aggregate. Beside it three that
// mostly sleep: watch (signals, the program's end), names (symbols), keeper (the file).
//
// How long it sleeps between two rounds follows from what the last ones brought: not at all while
// rings fill fast, 1 ms while events come, then twice as long each time, up to a second. The
// target rings when a quarter of a ring is full, so a long sleep loses nothing but freshness. While
// events come steadily and fast it need not even ring, which costs it a system call: the nap ends by
// itself before half a ring can be full.

enum {
	MANY_EVENTS = 4096, // a round with so many is followed by the next at once
	NAP_NS = 1000000,
	NAP_MIN_NS = 50000,
	STEADY_EVENTS = 2048, // since the last nap: they come fast
	NAPS = 20,            // rounds without events before the sleep gets longer
	SLEEP_MAX_NS = 1000000000,
	CHILDREN_SLEEP_MAX_NS = 250000000, // how large they are at last shall be seen
	JIT_SLEEP_MAX_NS = 50000000, // the events of code that moves shall not wait for its next name
	CHECKPOINT_GAP_NS = 1000000000,
	CHECKPOINT_GAP_MIN_NS = 300000000,
	AGE_MAX_NS = 1900000000,       // figures in the file are at most 2 s old,
	LARGE_AGE_MAX_NS = 4500000000, // or 5 s
	LARGE_NODES = 500000,          // above so many nodes
	CHECKPOINT_COST = 100,         // a checkpoint takes a 100th of the time, if that is soon enough
	CLOCK_GAP_NS = 1000000000,
	FINISH_PATIENCE_NS = 50000000,
};

// ---- what is done now and then

static void announce(void *user, uint32_t id, const struct wire_module *module) {
	struct run *run = user;
	(void)modules_add(&run->modules, id, module);
}

/**
 * From the start of a checkpoint to that of the next. Until the next is written, which takes as
 * long as this one (the other half is spare), its figures are the newest. How rare they may be is a
 * matter of the CPU time: on a busy machine the rest of it is waiting.
 */
static uint64_t checkpoint_gap_ns(struct keeper_cost cost, uint32_t n_nodes) {
	uint64_t age_ns = n_nodes > LARGE_NODES ? LARGE_AGE_MAX_NS : AGE_MAX_NS;
	uint64_t longest_ns = CHECKPOINT_GAP_MIN_NS;
	if (age_ns > 2 * cost.wall_ns + longest_ns) {
		longest_ns = age_ns - 2 * cost.wall_ns;
	}
	uint64_t gap_ns = cost.cpu_ns * CHECKPOINT_COST;
	gap_ns = gap_ns < CHECKPOINT_GAP_NS ? CHECKPOINT_GAP_NS : gap_ns;
	return gap_ns > longest_ns ? longest_ns : gap_ns;
}

static void keep(struct run *run) {
	uint64_t n_events = order_counts(run->order).events;
	if (run->now_ns < run->next_checkpoint_ns || !keeper_is_ready(run->keeper) ||
			(n_events == run->last_events && run->last_events > 0 && !namer_pending(run->names))) {
		return;
	}
	uint64_t start_ns = clock_now_ns();
	uint64_t start_cpu_ns = clock_thread_cpu_ns();
	struct recording *r = run_state(run, false, NULL);
	if (!r) {
		return; // out of memory: the next try may have more
	}
	keeper_give(run->keeper, r);
	struct keeper_cost cost = keeper_cost(run->keeper);
	cost.wall_ns += clock_now_ns() - start_ns;
	cost.cpu_ns += clock_thread_cpu_ns() - start_cpu_ns;
	run->next_checkpoint_ns = run->now_ns + checkpoint_gap_ns(cost, run->tries.n_nodes);
	run->last_events = n_events;
}

static void tell_failures(struct run *run) {
	struct err err;
	if (keeper_failure(run->keeper, &err)) {
		char text[640];
		(void)snprintf(text, sizeof text, "cannot update the file now; recording continues: %s",
				err.text);
		run->options->say(run->options->user, text);
	}
}

void run_take_old_blocks(struct run *run, bool waits) {
	char line[128];
	old_heap_step(&run->old_heap, &run->guardian, run->aggregate, waits, line, sizeof line);
	if (line[0] != '\0') {
		run->options->say(run->options->user, line);
	}
}

void run_note_sandbox(struct run *run) {
	struct process_memory it, own;
	_Atomic uint32_t *has_filter = &run->segment.header->has_filter;
	if (atomic_load(has_filter) == 0 && process_memory(run->program, &it) && it.seccomp_mode > 1 &&
			process_memory(getpid(), &own) &&
			(own.seccomp_mode != it.seccomp_mode || own.n_filters != it.n_filters)) {
		atomic_store(has_filter, 1);
	}
}

/** Should the kernel no longer trust the clock by which events are ordered, neither do we. */
static void look_at_clock(struct run *run) {
	_Atomic uint32_t *stamps = &run->segment.header->stamps;
	if (run->now_ns < run->next_clock_ns || atomic_load(stamps) != STAMPS_CLOCK) {
		return;
	}
	run->next_clock_ns = run->now_ns + CLOCK_GAP_NS;
	if (!clock_has_stamps()) {
		atomic_store(stamps, STAMPS_COUNTED);
		run->options->say(run->options->user,
				"the kernel marked the processor's clock (TSC) as unstable: until now the order "
				"of events across threads, and so the peak, may be wrong");
	}
}

static void note_own_heap(void *user, const char *module, const char *functions, uint32_t n,
		const char *why) {
	struct run *run = user;
	struct rec_allocator *a = vec_push(&run->allocators);
	if (a) {
		*a = (struct rec_allocator){
				.module = texts_id_of(&run->texts, module),
				.functions = texts_id_of(&run->texts, functions),
				.why = texts_id_of(&run->texts, why),
				.n_functions = n,
		};
	}
}

/** An attached or injected recorder is in each of them, where it can be. */
static void look_for_own_heaps(struct run *run) {
	uint32_t exec = atomic_load(&run->segment.header->exec);
	if (run->recorder && exec != EXEC_SEIZED && exec != EXEC_INJECTED) {
		run->own_heaps.tell = note_own_heap;
		run->own_heaps.user = run;
		own_heaps_look(&run->own_heaps, run->program, run->samples.code_bytes, run->now_ns);
	}
}

static void housekeep(struct run *run, bool is_idle) {
	look_at_clock(run);
	tries_poll_modules(&run->tries, announce, run);
	run_look_at_threads(run);
	run_look_at_program(run);
	if (samples_take(&run->samples, run->program, run->now_ns, is_idle,
				aggregate_now(run->aggregate).live_bytes, run->segment.memory.fd)) {
		ending_look(&run->ending, run->program, run->now_ns);
		run_look_at_first_image(run);
		look_for_own_heaps(run);
	}
	if (run->samples.seccomp_mode == 1) {
		atomic_store(&run->segment.header->no_syscalls, 1);
	}
	if (run->samples.seccomp_mode > 1) {
		run_note_sandbox(run);
	}
	for (pid_t pid; (pid = watch_take_visitor(run->watch)) != 0;) {
		children_note(&run->children, pid);
	}
	children_take(&run->children, run->segment.header, !run->exec_watch.is_told, run->now_ns);
	namer_step(run->names, &run->tries, run->now_ns, false);
	jit_step(&run->jit, &run->tries, run->names, run->now_ns, false);
	run_take_old_blocks(run, false);
	keep(run);
	tell_failures(run);
	if (control_is_asked(run->control)) {
		control_answer(run->control, status_put, run);
	}
}

// ---- the loop

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
	char text[640];
	(void)snprintf(text, sizeof text, "recording has stopped; the program keeps running: %s",
			err.text);
	run->options->say(run->options->user, text);
	return false;
}

void run_drain(struct run *run) {
	size_t n;
	segment_tick(&run->segment, clock_now_ns());
	(void)round_of_events(run, &n);
}

/** How fast events come: so many since the last nap began. */
struct pace {
	uint64_t n_events, since_ns;
};

/** How long a nap may be without a bell, should events go on to come like that. 0: not at all. */
static uint64_t quiet_nap_ns(const struct pace *pace, uint64_t now_ns) {
	if (pace->n_events < STEADY_EVENTS) {
		return 0;
	}
	uint64_t half_ring = wire_ring_entries(RING_BIG) / 2;
	uint64_t ns = (now_ns - pace->since_ns) * half_ring / pace->n_events;
	return ns < NAP_MIN_NS ? 0 : ns < NAP_NS ? ns : NAP_NS;
}

// Sleep, but keep the time label: the target does without the clock
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
	if (!run->ends_when_closed || !segment_is_closed(&run->segment)) {
		return false;
	}
	run->end = (struct watch_end){.is_detached = true, .time_ns = clock_now_ns()};
	run->segment.is_lived_in = true;
	return true;
}

static void rest(struct run *run, uint64_t *sleep_ns) {
	size_t n;
	segment_arm(&run->segment);
	// Who rang before that has rung for nothing: an end that was not seen yet, too
	if (has_ended(run) || exec_follow_is_asked(run) || control_is_asked(run->control) ||
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

/** The program found no room in its rings for so long that it took us for dead (docs/wire.md). */
static void note_given_up(struct run *run) {
	char text[256], at[HUMAN_MAX];
	if (!run->stopped_early) {
		(void)snprintf(text, sizeof text,
				"recording ended at %s while the program kept running: it had waited too long "
				"for heaptrack, which was stopped or got no CPU time",
				human_duration(at, run->last_event_ns));
		run->options->say(run->options->user, text);
	}
	run->stopped_early = true;
}

void run_loop(struct run *run) {
	struct pace pace = {.since_ns = clock_now_ns()};
	uint64_t sleep_ns = NAP_NS;
	unsigned n_empty = 0;
	while (!has_ended(run)) {
		size_t n;
		segment_tick(&run->segment, clock_now_ns());
		(void)round_of_events(run, &n);
		housekeep(run, n == 0);
		exec_follow(run);
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
		run->leave(run);
	}
	run->now_ns = run->end.time_ns - run->segment.start_ns;
	run_take_labels(run);
	struct err err = {0};
	if (!run->has_failed && !order_finish(run->order, clock_now_ns(), &err)) {
		run->stopped_early = true;
	}
	segment_close(&run->segment); // children that still run shall not wait for us
	tries_poll_modules(&run->tries, announce, run);
	if (exec_watch_end(&run->exec_watch, atomic_load(&run->segment.header->n_images))) {
		run_note_unrecorded(run);
	}
	children_take_last(&run->children, run->segment.header, run->now_ns);
	control_settle(run->control, status_put, run);
}

// ---- the end

static void finish_names(struct run *run) {
	size_t n_all = namer_pending(run->names);
	uint64_t start_ns = clock_now_ns();
	jit_step(&run->jit, &run->tries, run->names, run->now_ns, true);
	namer_step(run->names, &run->tries, run->now_ns, true);
	while (namer_pending(run->names) > 0 && !watch_is_hurried(run->watch)) {
		namer_wait(run->names, FINISH_PATIENCE_NS);
		namer_step(run->names, &run->tries, run->now_ns, true);
		if (clock_now_ns() - start_ns > 1000000000) {
			run->options->progress(run->options->user, namer_pending(run->names), n_all);
		}
	}
}

/** The last state is a copy of these: what it takes to write it shall not come on top of them. */
static void forget_tables(struct run *run) {
	aggregate_destroy(run->aggregate);
	run->aggregate = NULL;
	tries_finish(&run->tries);
}

bool run_end(struct run *run, struct run_result *result, struct err *err) {
	// As long as no names are in: what a kill would leave now is whole but for names
	run->next_checkpoint_ns = 0;
	if (!run->options->lacks_names) {
		finish_names(run);
	}
	keeper_wait(run->keeper); // two states at a time would take twice the memory
	struct recording *r = run_state(run, true, err);
	if (!r) {
		return false;
	}
	forget_tables(run);
	result->file_is_whole = keeper_finish(run->keeper, r, err);
	result->recording = *r;
	free(r);
	return result->file_is_whole;
}
