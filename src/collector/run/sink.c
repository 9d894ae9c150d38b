// SPDX-License-Identifier: MIT
#include "base/path.h"
#include "base/vec.h"
#include "collector/run/parts.h"
#include "sys/file.h"
#include "sys/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// What order tells, events, threads and images, on its way to the aggregate and to the file; and what is
// seen of the program from outside, where it does not tell by itself.

enum { THREAD_LOOKS = 64 }; // names of threads looked up per round, at most

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

void run_look_at_threads(struct run *run) {
	unsigned left = THREAD_LOOKS;
	for (size_t i = 0; i < run->threads.n && left > 0; i++) {
		if (run->threads.items[i].look_ns <= run->now_ns) {
			look_at_thread(run, &run->threads.items[i]);
			left--;
		}
	}
}

void run_take_labels(struct run *run) {
	for (size_t i = 0; i < run->threads.n; i++) {
		take_label(run, &run->threads.items[i]);
	}
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

void run_note_unrecorded(struct run *run) {
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
		if (m && m->image == image && strcmp(path_base_name(m->path), name) == 0) {
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

void run_look_at_program(struct run *run) {
	uint32_t n_images = atomic_load(&run->segment.header->n_images);
	uint64_t since_ns = run->exec_watch.since_ns;
	enum exec_news news = exec_watch_look(&run->exec_watch, run->program, n_images, run->now_ns);
	if (run->exec_watch.since_ns != since_ns) {
		run->exec_presence = REASON_UNKNOWN;
	}
	look_into_program(run);
	switch (news) {
	case EXEC_NOTHING_NEW: return;
	case EXEC_UNRECORDED: run_note_unrecorded(run); return;
	case EXEC_RECORDED: // it took long to load; its own entry is about to come
		if (run->images.n > 0 && run->images.items[run->images.n - 1].is_unrecorded) {
			run->images.n--;
		}
		return;
	}
}

void run_look_at_first_image(struct run *run) {
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
