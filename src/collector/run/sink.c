// SPDX-License-Identifier: MIT
/* Passes what the order delivers on to the aggregate and the file. */
#include "collector/run/parts.h"

static void take_events(void *user, const struct trace_event *events, size_t n) {
	struct run *run = user;
	check(n <= FEED_BATCH);
	if (run->is_staged || run->stages == STAGES_TWO_ALWAYS) {
		memcpy(run->feed.events, events, n * sizeof *events);
		run->feed.n = n;
		feed_pass(&run->feed);
	} else {
		aggregate_events(run_aggregate(run), events, n);
	}
	run->last_event_ns = n > 0 ? events[n - 1].time_ns : run->last_event_ns;
	run_keep_events(run, events, n);
}

// What they add to the heap, or remove, was missing since their place in the order: in between, the
// sum was too low, or too high, by that much
static void take_late_events(void *user, const struct trace_event *events, size_t n) {
	struct run *run = user;
	for (size_t i = 0; i < n; i++) {
		uint64_t before = aggregate_now(run_aggregate(run)).live_bytes;
		take_events(run, &events[i], 1);
		uint64_t now = aggregate_now(run_aggregate(run)).live_bytes;
		run->late_allocated_bytes += now > before ? now - before : 0;
		run->late_freed_bytes += now < before ? before - now : 0;
	}
}

static void take_mapping(void *user, const struct trace_event *event) {
	struct run *run = user;
	run->last_event_ns = event->time_ns;
	mappings_event(run->mappings, event);
}

/** All up to this one: an image that allocated nothing before its exec has no thread. */
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
	uint32_t id = aggregate_thread(run_aggregate(run), thread->tid, thread->image, thread->time_ns);
	if (id) {
		struct live_thread *live = vec_push(&run->threads);
		*live = (struct live_thread){.id = id, .tid = thread->tid, .slot = thread->slot};
		run_look_at_thread(run, live);
	}
	return id;
}

static void take_thread_end(void *user, uint32_t id) {
	struct run *run = user;
	aggregate_thread_ended(run_aggregate(run), id, run->now_ns);
	struct trace_event end = {.kind = TRACE_THREAD_ENDED, .time_ns = run->now_ns};
	end.thread = id & TRACE_THREAD_MAX;
	run_keep_events(run, &end, 1);
	struct live_thread *thread = FIND_IN(t, run->threads, t->id == id);
	if (thread) {
		run_take_label(run, thread);
		unseen_end(&run->unseen, (pid_t)thread->tid);
		*thread = run->threads.items[--run->threads.n];
	}
}

static void take_image(void *user, uint32_t image) {
	run_begin_program(user);
	note_images(user, image);
}

static bool is_thread_alive(void *user, uint32_t pid, uint32_t tid) {
	const struct run *run = user;
	if (run->end.time_ns > 0 && !run->end.is_detached) { // after a detach its threads live on
		return false;
	}
	if (run->program_inside != 0 && run->program_inside != run->program) {
		return process_has_thread_inside(run->program, (pid_t)tid);
	}
	return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM;
}

static bool is_thread_running(void *user, uint32_t pid, uint32_t tid) {
	const struct run *run = user;
	(void)pid; // inside a namespace of its own, the thread's id there is all that is known
	return run->program_inside == 0 || run->program_inside == run->program
			? process_thread_is_running(run->program, (pid_t)tid)
			: true;
}

const struct order_sink run_sink = {
		.events = take_events,
		.late_events = take_late_events,
		.mapping = take_mapping,
		.thread = take_thread,
		.thread_ended = take_thread_end,
		.image = take_image,
		.is_thread_alive = is_thread_alive,
		.is_thread_running = is_thread_running,
};
