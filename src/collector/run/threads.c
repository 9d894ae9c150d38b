// SPDX-License-Identifier: MIT
/*
 * The names of threads, which may change at any time.
 *
 * A name that the program gave through heaptrack_api.h counts most, then what the kernel shows now,
 * then what the recorder or the watching thread noted before the thread or the program ended.
 */
#include "collector/run/parts.h"

enum { THREAD_LOOKS = 64 }; // names of threads looked up per round, at most

/** The name that the program gave its thread. False: none, or it is being written now. */
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

void run_take_label(struct run *run, const struct live_thread *thread) {
	char label[WIRE_LABEL];
	if (thread_label(run, thread, label)) {
		aggregate_thread_name(run_aggregate(run), thread->id, texts_id_of(&run->texts, label));
	}
}

/** The name before its first event, all that is known of a thread that has ended since. */
static bool first_name(const struct run *run, const struct live_thread *thread,
		char name[WIRE_LABEL]) {
	const struct thread_slot *slot = segment_slot(&run->segment, thread->slot);
	memcpy(name, slot->name, WIRE_THREAD_NAME);
	name[WIRE_THREAD_NAME - 1] = '\0';
	return thread->n_looks == 0 && slot->tid == thread->tid && name[0];
}

/** The main thread's name when the program ended before it was looked at. */
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

void run_look_at_thread(struct run *run, struct live_thread *thread) {
	static const uint64_t gaps_ns[] = {20000000, 200000000, 2000000000, 20000000000};
	char name[WIRE_LABEL];
	if (thread_label(run, thread, name) ||
			process_thread_name(run->program, (pid_t)thread->tid, name, sizeof name) ||
			first_name(run, thread, name) || last_name(run, thread, name)) {
		aggregate_thread_name(run_aggregate(run), thread->id, texts_id_of(&run->texts, name));
	}
	unseen_watch(&run->unseen, (pid_t)thread->tid, thread->n_looks > 0);
	thread->look_ns = run->now_ns + gaps_ns[thread->n_looks];
	thread->n_looks += thread->n_looks + 1 < sizeof gaps_ns / sizeof *gaps_ns;
}

void run_look_at_threads(struct run *run) {
	unsigned left = THREAD_LOOKS;
	for (size_t i = 0; i < run->threads.n && left > 0; i++) {
		if (run->threads.items[i].look_ns <= run->now_ns) {
			run_look_at_thread(run, &run->threads.items[i]);
			left--;
		}
	}
}

void run_take_labels(struct run *run) {
	for (size_t i = 0; i < run->threads.n; i++) {
		run_take_label(run, &run->threads.items[i]);
	}
}
