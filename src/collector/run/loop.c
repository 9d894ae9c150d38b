// SPDX-License-Identifier: MIT
/*
 * The main loop of a recording: rounds of events, housekeeping, and how long to sleep in between;
 * then the missing names are looked up, the last state is written and the file is finished.
 *
 * One thread does all that must keep its order: rings -> order -> aggregate. The last step may be
 * another's (outgoing.c). Three more mostly sleep: watch (signals, the program's end), namer
 * (symbols), keeper (the file).
 *
 * How long the loop sleeps between two rounds follows from what the last ones brought: not at all
 * while rings fill fast, 1 ms while events come, then twice as long each time, up to a second. The
 * target rings when a quarter of a ring is full, so a long sleep only costs freshness. While events
 * come steadily and fast it need not ring, which would cost a system call: the nap then ends before
 * half a ring can be full.
 */
#include "collector/run/parts.h"
#include "sys/futex.h"
#include "sys/sys.h"

#include <sys/stat.h>

enum {
	MANY_EVENTS = 4096, // a round with so many is followed by the next at once
	NAP_NS = 1000000,
	NAP_MIN_NS = 50000,
	STEADY_EVENTS = 2048, // since the last nap: they come fast
	NAPS = 20,            // rounds without events before the sleep gets longer
	SLEEP_MAX_NS = 1000000000,
	CHILDREN_SLEEP_MAX_NS = 250000000, // so that the last size of children is seen
	LIMIT_SLEEP_MAX_NS = 20000000,     // so that the program is looked at before it is killed
	JIT_SLEEP_MAX_NS = 50000000,       // so that events of code that moves get the name it had then
	LAST_ROUNDS_NS = 20000000, // for events before the look at the end: other threads may go on
	LAST_PAUSE_NS = 20000,
	LOOK_ROUNDS = 10,              // for events before another look
	FINISH_PATIENCE_NS = 50000000, // for names that are missing at the end, at a time
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
		run_choose_stages(run, *n);
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

// ---- looks at the program's memory

static bool has_all_blocks(const struct run *run) {
	bool has_old = run->meta.source != REC_ATTACHED ||
			(run->meta.old_unknown == REC_OLD_KNOWN && run->old_heap.snapshot == 0);
	return has_old && !run->has_failed && run_lost_events(run) == 0 &&
			!FIND_IN(it, run->allocators, it->why);
}

/** Where the stacks of threads are that have allocated. Their slots are the program's memory. */
static struct parts_thread *find_stacks(const struct run *run) {
	struct parts_thread *threads = calloc(run->threads.n + 1, sizeof *threads);
	for (size_t i = 0; threads && i < run->threads.n; i++) {
		const struct thread_slot *slot = segment_slot(&run->segment, run->threads.items[i].slot);
		threads[i] = (struct parts_thread){.sp = slot->stack_at,
				.fs_base = slot->thread_area,
				.tid = run->threads.items[i].tid};
	}
	return threads;
}

static struct looks_known known_of(struct run *run, const struct parts_thread *threads,
		bool has_all) {
	unseen_take(&run->unseen);
	return (struct looks_known){
			.in = {.blocks = run_aggregate(run),
					.mappings = run->mappings,
					.before = run->before.n > 0 ? &run->before : NULL,
					.seen = run->unseen.items,
					.n_seen = run->unseen.n,
					.threads = threads,
					.n_threads = threads ? run->threads.n : 0,
					.knows_all_blocks = has_all && has_all_blocks(run)},
			.limit_bytes = run->ending.limit_bytes,
			.texts = &run->texts,
			.modules = &run->modules,
			.tries = &run->tries,
	};
}

static bool keep_look(struct run *run, struct view *view, enum rec_look_at at, bool has_all) {
	FREED struct parts_thread *threads = find_stacks(run);
	const struct looks_known known = known_of(run, threads, has_all);
	bool had_unseen = run->looks.has_unseen;
	unseen_name(&run->unseen, &view->areas);
	bool ok = looks_add(&run->looks, view, &known, run->program, at, run->now_ns);
	if (run->looks.has_unseen && !had_unseen) {
		unseen_ask_for_code(&run->unseen);
	}
	return ok;
}

static bool read_view(struct run *run, struct view *view) {
	bool ok = view_read(view, run->program, &run->ending.group, run->segment.header->own);
	run->looks_refused += view->is_refused;
	struct units *u = &run->units;
	bool is_python = u->candidate.n_ranges > 0 && !u->why;
	struct python_types types = {is_python ? &u->candidate : NULL, modules_read, u->modules,
			&run->texts, {0}};
	if (ok) {
		nim_put_types(&u->nim, &types);
	}
	if (ok && (is_python || types.known.n > 0)) {
		types_read(view, run_aggregate(run), &types);
	}
	return ok;
}

/** Look at the memory now. False: that is not recorded, or impossible. */
static bool look(struct run *run, enum rec_look_at at) {
	SCOPED(view) view = {0};
	bool ok = run->records_mappings && read_view(run, &view);
	// Else nobody has mapped what came just before; events may have to wait for another round
	for (int i = 0; ok && i < LOOK_ROUNDS && (i == 0 || order_is_behind(run->order)); i++) {
		run_drain(run);
		clock_sleep_ns(LAST_PAUSE_NS);
	}
	if (ok) {
		view_take_rss(&view, run->program);
		ok = keep_look(run, &view, at, true);
	}
	if (at == REC_AT_REQUEST || at == REC_AT_TRIGGER) {
		run->last_events = 0; // it shall be in the file soon, also if nothing else happens
		run->next_checkpoint_ns = 0;
	}
	return ok;
}

// ---- what points to live blocks, at the end

/** The threads of a program that stands still, none of them within an allocation function. */
struct held {
	struct graph_thread *threads;
	size_t n;
};

static void release(struct run *run, struct held *held) {
	guardian_release(&run->guardian);
	free(held->threads);
	*held = (struct held){0};
}

/** The threads that are inside, as many as can be asked for at a time. */
static size_t find_inside(const struct run *run, pid_t out[GUARDIAN_AGAIN_MOST]) {
	size_t n = 0;
	for (size_t i = 0; i < run->threads.n && n < GUARDIAN_AGAIN_MOST; i++) {
		const struct live_thread *t = &run->threads.items[i];
		if (segment_is_inside(segment_slot(&run->segment, t->slot))) {
			out[n++] = (pid_t)t->tid;
		}
	}
	return n;
}

/**
 * Stop the program where no thread is inside of an allocation function, whose block nobody knows
 * yet. Those that are inside go on until they are not, while the others stand: their events are
 * taken, for whose room they may wait.
 */
static int stop_outside(struct run *run, struct err *err) {
	enum { ROUNDS = 1000 };
	pid_t inside[GUARDIAN_AGAIN_MOST] = {0};
	size_t n = 0;
	int fd = guardian_hold(&run->guardian, run->program, inside, n, err);
	for (unsigned i = 0; fd >= 0 && (n = find_inside(run, inside)) > 0; i++) {
		file_close(fd);
		run_drain(run);
		fd = i < ROUNDS ? guardian_hold(&run->guardian, run->program, inside, n, err) : -1;
		if (i == ROUNDS) {
			guardian_release(&run->guardian);
			(void)err_set(err, ERR_UNSUPPORTED, "thread %d stays in malloc", (int)inside[0]);
		}
	}
	return fd;
}

/** `held` is zeroed. False: `err` says why the program goes on. */
static bool hold(struct run *run, struct held *held, struct err *err) {
	if (run->guardian.pid == 0) {
		return err_set(err, ERR_UNSUPPORTED, "the program cannot be stopped");
	}
	struct stat s = {0};
	CLOSED int fd = stop_outside(run, err);
	if (fd < 0) {
		return false;
	}
	(void)fstat(fd, &s);
	held->n = (size_t)s.st_size / sizeof *held->threads;
	held->threads = malloc((size_t)s.st_size + 1);
	bool ok = held->threads && pread(fd, held->threads, (size_t)s.st_size, 0) == s.st_size;
	if (!ok) {
		release(run, held);
	}
	return ok || err_memory(err);
}

/** What is not known is said. */
static void say_ungraded(struct run *run, const char *why) {
	run->is_graded = true;
	run_say(run, "what points to live blocks is not known: %s", why);
}

/** The program stands still and was read into `view`; then it goes on. */
static void grade(struct run *run, struct view *view, struct held *held, bool has_all) {
	FREED struct parts_thread *threads = find_stacks(run);
	const struct looks_known known = known_of(run, threads, has_all);
	const uint64_t within_ns = (RUN_LEAKS_WAIT_MS - RUN_LEAKS_WAIT_MS / 30) * 1000000ull;
	struct err err;
	run->is_graded = true;
	if (!graph_read(view, &known, held->threads, held->n, run->program, within_ns, &err)) {
		say_ungraded(run, err.text);
	}
	release(run, held);
}

/**
 * The program waits at its end, no longer than until it has been read: what was read is joined
 * later. `has_all`: the rings are empty.
 */
static void look_at_end(struct run *run, bool has_all, struct held *held) {
	_Atomic uint32_t *state = &run->segment.header->state;
	SCOPED(view) view = {0};
	bool is_read = read_view(run, &view);
	if (held->n > 0) {
		uint64_t start_ns = clock_now_ns();
		grade(run, &view, held, has_all);
		run->segment.start_ns += clock_now_ns() -
				start_ns; // it has waited for us: no time of its own
	}
	uint32_t ending = SEGMENT_ENDING;
	segment_tick(&run->segment, clock_now_ns()); // what it still does is later than the look
	bool has_waited = atomic_compare_exchange_strong(state, &ending, SEGMENT_OPEN);
	futex_wake(state, INT32_MAX);
	if (is_read && has_waited) {
		atomic_store(&run->segment.header->end_wait_ms, 0); // it is looked at once
		(void)keep_look(run, &view, REC_AT_END, has_all);
	}
}

/** The program waits to be looked at: what it has done so far is taken before. */
static void end_program(struct run *run) {
	struct held held = {0};
	struct err err = {0};
	if (run->options->leaks && !hold(run, &held, &err)) {
		say_ungraded(run, err.text);
	}
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
	run_take_modules(run);
	run->units.is_last = true;
	units_step(&run->units, &run->tries, run->names, run->now_ns); // they are read in its memory
	look_at_end(run, !is_behind, &held);
}

// ---- how long to sleep

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
	bool is_over = run->only_looks
			? run->old_heap.snapshot == 0
			: run->ends_when_closed && segment_state(&run->segment) == SEGMENT_CLOSED;
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
	if (has_ended(run) || run_exec_is_announced(run) ||
			segment_state(&run->segment) == SEGMENT_ENDING ||
			control_asked(run->control) == CONTROL_STATUS || must_look(run) ||
			(round_of_events(run, &n) && n > 0)) {
		return;
	}
	uint64_t most_ns = order_rest_ns(run->order);
	bool is_waiting = most_ns < NAP_NS;
	segment_wait(&run->segment, is_waiting ? most_ns : *sleep_ns);
	uint64_t max_ns = run->jit.fd >= 0 ? JIT_SLEEP_MAX_NS : SLEEP_MAX_NS;
	max_ns = run->ending.is_close ? LIMIT_SLEEP_MAX_NS : max_ns;
	max_ns = run->children.n_living > 0 && max_ns > CHILDREN_SLEEP_MAX_NS ? CHILDREN_SLEEP_MAX_NS
																		  : max_ns;
	*sleep_ns = *sleep_ns * 2 > max_ns ? max_ns : *sleep_ns * 2;
}

/** The program found no room in its rings for so long that it gave us up (docs/wire.md). */
static void note_given_up(struct run *run) {
	if (!run->stopped_early) {
		run_say(run,
				"recording ended at %s while the program kept running: it had waited too long "
				"for heaptrack, which was stopped or got no CPU time",
				HUMAN_DURATION(run->last_event_ns));
	}
	run->stopped_early = true;
}

/** A round and what follows it; how many events it brought. */
static size_t take_turn(struct run *run) {
	size_t n;
	segment_tick(&run->segment, clock_now_ns());
	(void)round_of_events(run, &n);
	if (segment_state(&run->segment) == SEGMENT_ENDING) {
		end_program(run);
	}
	run_housekeep(run, n == 0);
	if (run->wanted_look != REC_ATS) {
		(void)look(run, run->wanted_look);
		run->wanted_look = REC_ATS;
	}
	if (must_look(run)) {
		bool ok = look(run, REC_AT_REQUEST);
		control_answer(run->control, ok ? run_put_look : run_put_no_look, run);
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
	if (!run->ends_when_closed && segment_state(&run->segment) == SEGMENT_CLOSED) {
		note_given_up(run);
	}
	if (run->leave) {
		if (run->end.is_detached) {
			(void)look(run, run->only_looks ? REC_AT_REQUEST : REC_AT_DETACH);
		}
		run->leave(run);
	}
	run->now_ns = run->end.time_ns - run->segment.start_ns;
	run_take_labels(run);
	struct err err = {0};
	if (!run->has_failed &&
			!(order_finish(run->order, clock_now_ns(), &err) && feed_drain(&run->feed, &err))) {
		run->stopped_early = true;
	}
	segment_close(&run->segment); // children that still run must not wait for us
	run_take_modules(run);
	run_note_last_program(run);
	if (run->options->leaks && !run->is_graded) {
		say_ungraded(run,
				"the program ended without waiting for heaptrack, by a signal or a system call of "
				"its own");
	}
	children_take_last(&run->children, run->segment.header, run->now_ns);
	control_settle(run->control, run_put_status, run);
}

// ---- the finished file

/** Of a Python that has run for a while. */
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
	run_take_modules(run);
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
	FREED struct recording *r = run_state(run, true, err);
	if (!r) {
		return false;
	}
	// The last state is a copy of these; the memory that writing it takes is not added to theirs
	feed_finish(&run->feed);
	mappings_destroy(run->mappings);
	run->mappings = NULL;
	if (namer_pending(run->names) == 0) { // else its thread may still read the modules in them
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
		result->texts = run->texts.arena; // what the recording's texts point into
		run->texts.arena = (struct arena){0};
	}
	(void)snprintf(result->path, sizeof result->path, "%s", run->output.path);
}

void run_result_finish(struct run_result *result) {
	recording_finish(&result->recording);
	arena_finish(&result->texts);
}
