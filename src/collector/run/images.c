// SPDX-License-Identifier: MIT
/*
 * The programs that the process executes, as seen from outside; and the names of its threads, which
 * may change at any time: the one given through heaptrack_api.h, else the one the kernel shows now,
 * else what the recorder or the watching thread noted before the thread or program ended.
 */
#include "collector/run/parts.h"

void run_note_image(struct run *run) {
	char exe[4096], link[sizeof exe];
	if (process_link(run->program, "exe", exe, sizeof exe)) {
		run->meta.exe = texts_id_of(&run->texts, exe);
		run->meta.called = process_called(run->program, exe, link, sizeof link)
				? texts_id_of(&run->texts, link)
				: 0;
	}
	(void)vec_add(&run->images, (struct rec_image){.exe = run->meta.exe, .time_ns = run->now_ns});
}

/** The process execed a program without the recorder: what was live before is gone. */
static void run_note_unrecorded(struct run *run) {
	(run->tree ? run_tree_exec : run_begin_program)(&run->first);
	struct rec_image *entry = vec_push(&run->images);
	uint64_t before_ns = run->images.n > 1 ? entry[-1].time_ns : 0;
	uint64_t since_ns = run->exec_watch.since_ns;
	run->meta.exe = texts_id_of(&run->texts, run->exec_watch.path);
	run->meta.called = 0;
	*entry = (struct rec_image){
			.exe = run->meta.exe,
			.is_unrecorded = true,
			.is_too_narrow = atomic_load(&run->segment.header->n_too_narrow) > 0,
			.why = (uint8_t)run->exec_why,
			.time_ns = since_ns > before_ns ? since_ns : before_ns,
	};
}

static bool has_module(void *user, uint32_t image, const char *name) {
	const struct run *run = user;
	const struct wire_module *m;
	return ANY(id, run->tries.n_modules + 1,
			(m = tries_module(&run->tries, id)) && m->image == image &&
					strcmp(path_base_name(m->path), name) == 0);
}

void run_watch_exec(struct run *run, bool is_running) {
	run->exec_watch.has_module = has_module;
	run->exec_watch.user = run;
	exec_watch_init(&run->exec_watch, (const char *)run->texts.items[run->meta.exe].data,
			run->program, is_running);
	if (!run->tree) {
		run_note_image(run);
	}
}

void run_look_at_program(struct run *run) {
	struct exec_watch *w = &run->exec_watch;
	uint32_t n_images = atomic_load(&run->segment.header->n_images);
	uint64_t since_ns = w->since_ns;
	enum exec_news news = exec_watch_look(w, run->program, n_images, run->now_ns);
	if (w->since_ns != since_ns) {
		// Its exec may be later than now_ns, the round's start, but not than the look
		w->since_ns = clock_now_ns() - run->segment.start_ns;
	}
	// Is the recorder in the new program? Asked until known
	if (w->since_ns != 0 && w->presence == REASON_UNKNOWN && w->looked_ns == run->now_ns) {
		w->presence = reason_presence(&run->children.reason, run->program, &run->exec_why);
	}
	if (news == EXEC_UNRECORDED) {
		run_note_unrecorded(run);
	} else if (news == EXEC_RECORDED && run->images.n > 0 &&
			run->images.items[run->images.n - 1].is_unrecorded) {
		run->images.n--; // it loaded slowly; its own entry is about to come
	}
}

void run_note_last_program(struct run *run) {
	const struct segment_header *h = run->segment.header;
	struct exec_watch *w = &run->exec_watch;
	uint64_t exec_ns = atomic_load(&h->exec_ns);
	// It ended, or we do, before anybody looked; or its file was gone at the look
	bool is_unseen = w->since_ns < exec_ns || (exec_ns > 0 && !w->path[0]);
	if (is_unseen) {
		const char *name = run->end.name[0] ? run->end.name : "another program";
		(void)snprintf(w->path, sizeof w->path, "%s", name);
		w->since_ns = exec_ns;
		run->exec_why = REC_WHY_NONE;
	}
	if (is_unseen || exec_watch_end(w, atomic_load(&h->n_images))) {
		run_note_unrecorded(run);
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

// ---- threads

enum { THREAD_LOOKS = 64 }; // names looked up per round, at most

/** The name that the program gave its thread. False: none, or it is being written. */
static bool thread_label(const struct live_thread *thread, char label[WIRE_LABEL]) {
	const struct thread_slot *slot = segment_slot(thread->member->segment, thread->slot);
	uint32_t version = atomic_load(&slot->label_version);
	memcpy(label, slot->label, WIRE_LABEL);
	label[WIRE_LABEL - 1] = '\0';
	atomic_thread_fence(memory_order_acquire);
	return version != 0 && version % 2 == 0 && atomic_load(&slot->label_version) == version &&
			slot->tid == thread->tid && label[0];
}

void run_take_label(struct run *run, const struct live_thread *thread) {
	char label[WIRE_LABEL];
	if (thread_label(thread, label)) {
		aggregate_thread_name(run_aggregate(run), thread->id, texts_id_of(&run->texts, label));
	}
}

/** The name before its first event: all that is known of a thread that has ended. */
static bool first_name(const struct live_thread *thread, char name[WIRE_LABEL]) {
	const struct thread_slot *slot = segment_slot(thread->member->segment, thread->slot);
	memcpy(name, slot->name, WIRE_THREAD_NAME);
	name[WIRE_THREAD_NAME - 1] = '\0';
	return thread->n_looks == 0 && slot->tid == thread->tid && name[0];
}

/** The main thread's name if the program ended before a look. */
static bool last_name(const struct run *run, const struct live_thread *thread,
		char name[WIRE_LABEL]) {
	pid_t main_thread = run->program_inside ? run->program_inside : run->program;
	struct watch_end end;
	if (thread->member != &run->first || thread->n_looks > 0 ||
			thread->tid != (uint32_t)main_thread || !run->watch ||
			!watch_has_ended(run->watch, &end)) {
		return false;
	}
	memcpy(name, end.name, sizeof end.name);
	return name[0];
}

/**
 * In a tree, the main thread's. By now the process may execute another program, which has a name of
 * its own, or be gone.
 */
static bool name_of_program(const struct run *run, const struct live_thread *thread,
		char name[WIRE_LABEL]) {
	const pid_t pid = thread->member->pid;
	const char *exe = (const char *)run->texts.items[thread->exe].data;
	char now[4096];
	if (process_thread_name(pid, pid, name, WIRE_LABEL) &&
			process_link(pid, "exe", now, sizeof now) && strcmp(now, exe) == 0) {
		return true;
	}
	(void)snprintf(name, WIRE_THREAD_NAME, "%s", path_base_name(exe));
	return thread->n_looks == 0;
}

void run_look_at_thread(struct run *run, struct live_thread *thread) {
	static const uint64_t gaps_ns[] = {20000000, 200000000, 2000000000, 20000000000};
	char name[WIRE_LABEL];
	if (thread_label(thread, name) ||
			(thread->exe ? name_of_program(run, thread, name)
						 : process_thread_name(thread->member->pid, (pid_t)thread->tid, name,
								   sizeof name)) ||
			first_name(thread, name) || last_name(run, thread, name)) {
		aggregate_thread_name(run_aggregate(run), thread->id, texts_id_of(&run->texts, name));
	}
	if (run->records_mappings) {
		unseen_watch(&run->unseen, (pid_t)thread->tid, thread->n_looks > 0);
	}
	thread->look_ns = run->now_ns + gaps_ns[thread->n_looks];
	thread->n_looks += thread->n_looks + 1 < N_OF(gaps_ns);
}

void run_look_at_threads(struct run *run) {
	unsigned left = THREAD_LOOKS;
	EACH_THAT(thread, run->threads, left > 0 && thread->look_ns <= run->now_ns) {
		run_look_at_thread(run, thread);
		left--;
	}
}
