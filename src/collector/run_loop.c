// SPDX-License-Identifier: MIT
#include "base/human.h"
#include "base/vec.h"
#include "collector/control/status.h"
#include "collector/exec_follow.h"
#include "collector/run_parts.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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
	THREAD_LOOKS = 64, // names of threads looked up per round, at most
	FINISH_PATIENCE_NS = 50000000,
};

// ---- what order tells

// The single events as well, if they were asked for
static void keep_events(struct run *run, const struct trace_event *events, size_t n) {
	struct err why;
	if (run->keeps_events && !keeper_events(run->keeper, events, n, &why)) {
		run->keeps_events = false;
		run->detail_ends_ns = run->now_ns;
		char text[640];
		(void)snprintf(text, sizeof text, "individual events are no longer kept: %s", why.text);
		run->options->say(run->options->user, text);
	}
}

static bool take_events(void *user, const struct trace_event *events, size_t n, struct err *err) {
	struct run *run = user;
	size_t done;
	if (!aggregate_events(run->aggregate, events, n, &done, err)) {
		return false;
	}
	run->last_event_ns = n > 0 ? events[n - 1].time_ns : run->last_event_ns;
	keep_events(run, events, n);
	return true;
}

// What they add to the heap, or take away, was so since their place in the row: in between the sum of all
// was too low, or too high, by as much
static bool take_late_events(void *user, const struct trace_event *events, size_t n,
		struct err *err) {
	struct run *run = user;
	for (size_t i = 0; i < n; i++) {
		uint64_t before = aggregate_now(run->aggregate).live_bytes;
		if (!take_events(run, &events[i], 1, err)) {
			return false;
		}
		uint64_t now = aggregate_now(run->aggregate).live_bytes;
		run->late_allocated_bytes += now > before ? now - before : 0;
		run->late_freed_bytes += now < before ? before - now : 0;
	}
	return true;
}

/** What the program calls its thread itself. False: nothing, or it is writing there now. */
static bool thread_label(const struct run *run, const struct live_thread *thread,
		char label[WIRE_LABEL]) {
	const struct thread_slot *slot = segment_slot(&run->segment, thread->slot);
	uint32_t version = atomic_load(&slot->label_version);
	memcpy(label, slot->label, WIRE_LABEL);
	label[WIRE_LABEL - 1] = '\0';
	atomic_thread_fence(memory_order_acquire);
	return version != 0 && version % 2 == 0 && atomic_load(&slot->label_version) == version &&
			slot->tid == thread->tid && label[0];
}

/** One that was given since the thread was last looked at. */
static void take_label(struct run *run, const struct live_thread *thread) {
	char label[WIRE_LABEL];
	if (thread_label(run, thread, label)) {
		aggregate_thread_name(run->aggregate, thread->id, texts_id_of(&run->texts, label));
	}
}

/** What it was called before its first event: all that is known of one that has ended since. */
static bool first_name(const struct run *run, const struct live_thread *thread,
		char name[WIRE_LABEL]) {
	const struct thread_slot *slot = segment_slot(&run->segment, thread->slot);
	memcpy(name, slot->name, WIRE_THREAD_NAME);
	name[WIRE_THREAD_NAME - 1] = '\0';
	return thread->n_looks == 0 && slot->tid == thread->tid && name[0];
}

/** What the main thread was called when the program ended, before anybody had looked at it. */
static bool last_name(const struct run *run, const struct live_thread *thread,
		char name[WIRE_LABEL]) {
	pid_t main_thread = run->program_inside ? run->program_inside : run->program;
	struct watch_end end;
	if (thread->n_looks > 0 || thread->tid != (uint32_t)main_thread || !run->watch ||
			!watch_has_ended(run->watch, &end)) {
		return false;
	}
	memcpy(name, end.name, sizeof end.name);
	return name[0];
}

static void look_at_thread(struct run *run, struct live_thread *thread) {
	static const uint64_t gaps_ns[] = {20000000, 200000000, 2000000000, 20000000000};
	char name[WIRE_LABEL];
	if (thread_label(run, thread, name) ||
			process_thread_name(run->program, (pid_t)thread->tid, name, sizeof name) ||
			first_name(run, thread, name) || last_name(run, thread, name)) {
		aggregate_thread_name(run->aggregate, thread->id, texts_id_of(&run->texts, name));
	}
	thread->look_ns = run->now_ns + gaps_ns[thread->n_looks];
	thread->n_looks += thread->n_looks + 1 < sizeof gaps_ns / sizeof *gaps_ns;
}

/** Up to this one: nobody tells of one that allocated nothing before its exec. */
static void note_images(struct run *run, uint32_t image) {
	for (; run->n_images_taken < image; run->n_images_taken++) {
		if (run->n_images_taken > 0) { // the first was noted at the start
			run_note_image(run);
		}
	}
}

static uint32_t take_thread(void *user, const struct order_thread *thread) {
	struct run *run = user;
	note_images(run, thread->image);
	uint32_t id = aggregate_thread(run->aggregate, thread->tid, thread->image, thread->time_ns);
	struct live_thread *live = id ? vec_push(&run->threads) : NULL;
	if (live) {
		*live = (struct live_thread){.id = id, .tid = thread->tid, .slot = thread->slot};
		look_at_thread(run, live);
	}
	return id;
}

static void take_thread_end(void *user, uint32_t id) {
	struct run *run = user;
	aggregate_thread_ended(run->aggregate, id, run->now_ns);
	struct trace_event end = {.kind = TRACE_THREAD_ENDED, .time_ns = run->now_ns};
	end.thread = id & ((1u << 28) - 1);
	keep_events(run, &end, 1);
	for (size_t i = 0; i < run->threads.n; i++) {
		if (run->threads.items[i].id == id) {
			take_label(run, &run->threads.items[i]);
			run->threads.items[i] = run->threads.items[--run->threads.n];
			return;
		}
	}
}

void run_note_image(struct run *run) {
	char exe[4096];
	struct rec_image *entry = vec_push(&run->images);
	if (entry) {
		if (process_link(run->program, "exe", exe, sizeof exe)) {
			run->meta.exe = texts_id_of(&run->texts, exe);
		}
		*entry = (struct rec_image){.exe = run->meta.exe, .time_ns = run->now_ns};
	}
}

// The process became a program without the recorder: what lived before is gone
static void note_unrecorded(struct run *run) {
	struct err err;
	if (run->has_failed || !aggregate_exec(run->aggregate, run->now_ns, &err)) {
		return;
	}
	keep_events(run, &(struct trace_event){.kind = TRACE_EXEC, .time_ns = run->now_ns}, 1);
	struct rec_image *entry = vec_push(&run->images);
	if (entry) {
		uint64_t before_ns = run->images.n > 1 ? entry[-1].time_ns : 0;
		uint64_t since_ns = run->exec_watch.since_ns;
		run->meta.exe = texts_id_of(&run->texts, run->exec_watch.path);
		*entry = (struct rec_image){
				.exe = run->meta.exe,
				.is_unrecorded = true,
				.is_too_narrow = atomic_load(&run->segment.header->n_too_narrow) > 0,
				.why = (uint8_t)run->exec_why,
				.time_ns = since_ns > before_ns ? since_ns : before_ns,
		};
	}
}

static bool has_module(void *user, uint32_t image, const char *name) {
	const struct run *run = user;
	for (uint32_t id = 1; id <= run->tries.n_modules; id++) {
		const struct wire_module *m = tries_module(&run->tries, id);
		if (m && m->image == image && strcmp(file_base_name(m->path), name) == 0) {
			return true;
		}
	}
	return false;
}

void run_watch_exec(struct run *run, bool is_running) {
	run->exec_watch.has_module = has_module;
	run->exec_watch.user = run;
	exec_watch_init(&run->exec_watch, (const char *)run->texts.items[run->meta.exe].data,
			run->program, is_running);
}

/** Is the recorder in what the process became? Asked until that can be told. */
static void look_into_program(struct run *run) {
	struct exec_watch *w = &run->exec_watch;
	if (w->since_ns == 0 || run->exec_presence != REASON_UNKNOWN || w->looked_ns != run->now_ns) {
		return;
	}
	run->exec_presence = reason_presence(&run->children.reason, run->program);
	w->is_absent = run->exec_presence == REASON_ABSENT;
	run->exec_why = w->is_absent ? reason_of_process(&run->children.reason, run->program)
								 : REC_WHY_NONE;
}

static void look_at_program(struct run *run) {
	uint32_t n_images = atomic_load(&run->segment.header->n_images);
	uint64_t since_ns = run->exec_watch.since_ns;
	enum exec_news news = exec_watch_look(&run->exec_watch, run->program, n_images, run->now_ns);
	if (run->exec_watch.since_ns != since_ns) {
		run->exec_presence = REASON_UNKNOWN;
	}
	look_into_program(run);
	switch (news) {
	case EXEC_NOTHING_NEW: return;
	case EXEC_UNRECORDED: note_unrecorded(run); return;
	case EXEC_RECORDED: // it took long to load; its own entry is about to come
		if (run->images.n > 0 && run->images.items[run->images.n - 1].is_unrecorded) {
			run->images.n--;
		}
		return;
	}
}

/** None has announced itself: if that stays so, this is why. */
static void look_at_first_image(struct run *run) {
	if (run->exec_why == REC_WHY_NONE && atomic_load(&run->segment.header->n_images) == 0 &&
			reason_presence(&run->children.reason, run->program) == REASON_ABSENT) {
		run->exec_why = reason_of_process(&run->children.reason, run->program);
	}
}

static bool take_image(void *user, uint32_t image, struct err *err) {
	struct run *run = user;
	if (!aggregate_exec(run->aggregate, run->now_ns, err)) {
		return false;
	}
	keep_events(run, &(struct trace_event){.kind = TRACE_EXEC, .time_ns = run->now_ns}, 1);
	note_images(run, image);
	return true;
}

static bool is_thread_alive(void *user, uint32_t pid, uint32_t tid) {
	const struct run *run = user;
	if (run->end.time_ns > 0) {
		return false;
	}
	if (run->program_inside != 0 && run->program_inside != run->program) {
		return process_has_thread_inside(run->program, (pid_t)tid);
	}
	return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM;
}

static bool is_thread_running(void *user, uint32_t pid, uint32_t tid) {
	const struct run *run = user;
	(void)pid;
	// Its id, where it has others of its own, is not known here
	return run->program_inside == 0 || run->program_inside == run->program
			? process_thread_is_running(run->program, (pid_t)tid)
			: true;
}

const struct order_sink run_sink = {
		.events = take_events,
		.late_events = take_late_events,
		.thread = take_thread,
		.thread_ended = take_thread_end,
		.image = take_image,
		.is_thread_alive = is_thread_alive,
		.is_thread_running = is_thread_running,
};

// ---- what is done now and then

static void announce(void *user, uint32_t id, const struct wire_module *module) {
	struct run *run = user;
	(void)modules_add(&run->modules, id, module);
}

static void look_at_threads(struct run *run) {
	unsigned left = THREAD_LOOKS;
	for (size_t i = 0; i < run->threads.n && left > 0; i++) {
		if (run->threads.items[i].look_ns <= run->now_ns) {
			look_at_thread(run, &run->threads.items[i]);
			left--;
		}
	}
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
	look_at_threads(run);
	look_at_program(run);
	if (samples_take(&run->samples, run->program, run->now_ns, is_idle,
				aggregate_now(run->aggregate).live_bytes, run->segment.memory.fd)) {
		ending_look(&run->ending, run->program, run->now_ns);
		look_at_first_image(run);
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
	for (size_t i = 0; i < run->threads.n; i++) {
		take_label(run, &run->threads.items[i]);
	}
	struct err err = {0};
	if (!run->has_failed && !order_finish(run->order, clock_now_ns(), &err)) {
		run->stopped_early = true;
	}
	segment_close(&run->segment); // children that still run shall not wait for us
	tries_poll_modules(&run->tries, announce, run);
	if (exec_watch_end(&run->exec_watch, atomic_load(&run->segment.header->n_images))) {
		note_unrecorded(run);
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
