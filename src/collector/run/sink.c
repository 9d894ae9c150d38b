// SPDX-License-Identifier: MIT
/* Passes what the order delivers to the aggregate and the file. */
#include "collector/run/parts.h"

static void take_events(void *user, const struct trace_event *events, size_t n) {
	struct run *run = ((const struct member *)user)->run;
	check(n <= FEED_BATCH);
	if (run->tree) {
		run_tree_events(run, events, n);
	} else if (run->is_staged || run->stages == STAGES_TWO_ALWAYS) {
		memcpy(run->feed.events, events, n * sizeof *events);
		run->feed.n = n;
		feed_pass(&run->feed);
	} else {
		aggregate_events(run_aggregate(run), events, n);
	}
	run->last_event_ns = n > 0 ? events[n - 1].time_ns : run->last_event_ns;
	run_keep_events(run, events, n);
}

// What they add to or remove from the heap was missing since their place in the order: meanwhile,
// the sum was too low or too high by that much
static void take_late_events(void *user, const struct trace_event *events, size_t n) {
	struct run *run = ((const struct member *)user)->run;
	for (size_t i = 0; i < n; i++) {
		uint64_t before = aggregate_now(run_aggregate(run)).live_bytes;
		take_events(user, &events[i], 1);
		uint64_t now = aggregate_now(run_aggregate(run)).live_bytes;
		run->late_allocated_bytes += now > before ? now - before : 0;
		run->late_freed_bytes += now < before ? before - now : 0;
	}
}

static void take_mapping(void *user, const struct trace_event *event) {
	struct run *run = ((const struct member *)user)->run;
	run->last_event_ns = event->time_ns;
	if (run->tree) {
		run_tree_mapping(run, event);
	} else if (event->kind != KIND_FORK) {
		mappings_event(run->mappings, event);
	}
}

/** All up to this one: an image that execed before its first allocation has no thread. */
static void note_images(struct member *m, uint32_t image) {
	struct run *run = m->run;
	if (run->tree && image != m->image) {
		if (m == &run->first) {
			run_note_image(run);
		} else {
			(void)vec_add(&run->images, (struct rec_image){.time_ns = run->now_ns});
		}
		run_tree_image(m, image, &run->images.items[run->images.n - 1]);
	}
	for (; !run->tree && m->image < image; m->image++) {
		if (m->image > 0) { // the first was noted at the start
			run_note_image(run);
		}
	}
}

static uint32_t take_thread(void *user, const struct order_thread *thread) {
	struct member *m = user;
	struct run *run = m->run;
	note_images(m, thread->image);
	uint32_t image = run->tree ? m->image_row : thread->image;
	uint32_t id = aggregate_thread(run_aggregate(run), thread->tid, image, thread->time_ns);
	if (run->tree) {
		run_tree_thread(m, id);
	}
	if (id) {
		struct live_thread *live = vec_push(&run->threads);
		*live = (struct live_thread){m, .id = id, .tid = thread->tid, .slot = thread->slot};
		if (run->tree && thread->tid == (uint32_t)m->pid) {
			live->exe = run->images.items[m->image_row - 1].exe;
		}
		run_look_at_thread(run, live);
	}
	return id;
}

static void take_thread_end(void *user, uint32_t id) {
	struct run *run = ((const struct member *)user)->run;
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
	struct member *m = user;
	(m->run->tree ? run_tree_exec : run_begin_program)(m);
	note_images(m, image);
}

static bool is_thread_alive(void *user, uint32_t pid, uint32_t tid) {
	const struct member *m = user;
	return !m->has_ended &&
			((pid_t)pid != m->pid ? process_has_thread_inside(m->pid, (pid_t)tid)
								  : syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM);
}

static bool is_thread_running(void *user, uint32_t pid, uint32_t tid) {
	const struct member *m = user;
	// In a pid namespace, the thread's id inside is all that is known
	return (pid_t)pid != m->pid || process_thread_is_running(m->pid, (pid_t)tid);
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
