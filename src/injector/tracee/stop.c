// SPDX-License-Identifier: MIT
/*
 * Stops and resumes a process. All threads are seized before the first is asked to stop, and the
 * list of threads is read again until all in it are held: stopped threads make no more. For a
 * thread that waits for a child of vfork, the child is stopped instead.
 */
#include "injector/tracee/tracee.h"
#include "regs.h"

#include <linux/kcmp.h>

enum { STOP_TRIES = 50 };

static const uint64_t TRY_AGAIN_NS = 2000000;
static const uint64_t PATIENCE_NS = 1000000000;
static const uint64_t BUSY_PATIENCE_NS = 10000000000; // a busy machine runs a thread that late
static const uint64_t VFORK_PATIENCE_NS = 2000000;    // until we see whether it waits for a child

/** Wait for the stop that was asked for; signals before it are delivered. */
static enum tracee_wait wait_for_stop(struct tracee_thread *thread, uint64_t until_ns) {
	enum tracee_wait wait = tracee_run_to(thread->tid, PTRACE_EVENT_STOP, PTRACE_CONT, until_ns,
			NULL);
	if (wait != WAIT_STOPPED) {
		return wait;
	}
	thread->is_stopped = true;
	if (!regs_get(thread->tid, &thread->regs)) {
		return WAIT_GONE;
	}
	if (regs_is_interrupted(&thread->regs) && !task_has_signal(thread)) {
		regs_repeat_call(&thread->regs); // the program must not notice the stop
		thread->is_changed = true;
	}
	return WAIT_STOPPED;
}

/** Ask seized threads, from `first` on, to stop. One that is gone is noticed later. */
static void interrupt(struct tracee *t, size_t first) {
	t->since_ns = first == 0 ? clock_now_ns() : t->since_ns;
	for (size_t i = first; i < t->threads.n; i++) {
		(void)ptrace(PTRACE_INTERRUPT, t->threads.items[i].tid, 0, 0);
	}
}

/** Wait for one: longer if it is only not scheduled, shorter if it waits for a child. */
static enum tracee_wait wait_for_one(const struct tracee *t, struct tracee_thread *thread,
		uint64_t until_ns, bool *is_in_vfork) {
	uint64_t first_ns = clock_now_ns() + VFORK_PATIENCE_NS;
	enum tracee_wait wait = wait_for_stop(thread, first_ns < until_ns ? first_ns : until_ns);
	*is_in_vfork = wait == WAIT_LATE && task_waits_for_vfork(t, thread);
	if (wait == WAIT_LATE && !*is_in_vfork) {
		wait = wait_for_stop(thread, until_ns);
	}
	if (wait == WAIT_LATE && !*is_in_vfork && task_state(thread) == 'R') {
		wait = wait_for_stop(thread, until_ns + BUSY_PATIENCE_NS);
	}
	return wait;
}

/** Wait for all that were asked to stop. `*is_in_vfork`: one cannot. */
static bool wait_for_all(struct tracee *t, uint64_t until_ns, bool *is_in_vfork, struct err *err) {
	*is_in_vfork = false;
	for (size_t i = 0; i < t->threads.n;) {
		struct tracee_thread *thread = &t->threads.items[i];
		enum tracee_wait wait = thread->is_stopped ? WAIT_STOPPED
												   : wait_for_one(t, thread, until_ns, is_in_vfork);
		if (*is_in_vfork) {
			return err_failed(err, "thread %d waits for a child process", (int)thread->tid);
		}
		if (wait == WAIT_LATE) {
			return task_complain(thread, err);
		}
		if (wait == WAIT_GONE) {
			t->threads.items[i] = t->threads.items[--t->threads.n];
		} else {
			i++;
		}
	}
	return true;
}

/** Seize a thread. False: out of memory. One that is gone or cannot be stopped is left out. */
static bool ask(struct tracee *t, pid_t pid, pid_t tid, bool *is_refused) {
	struct tracee_thread thread = {.tid = tid, .pid = pid};
	if (ptrace(PTRACE_SEIZE, thread.tid, 0, PTRACE_O_TRACESYSGOOD) != 0) {
		*is_refused |= errno == EPERM && !task_waits_for_vfork(t, &thread);
		return true;
	}
	return vec_add(&t->threads, thread);
}

/** A thread, or the child of vfork that it waits for. */
static bool ask_family(struct tracee *t, pid_t pid, pid_t tid, bool *is_refused) {
	const struct tracee_thread thread = {.tid = tid, .pid = pid};
	char text[1024] = "", *children = text;
	if (tracee_holds(t, tid)) {
		return true;
	}
	if (!task_waits_for_vfork(t, &thread)) {
		return ask(t, pid, tid, is_refused);
	}
	(void)task_read(&thread, "children", text, sizeof text);
	for (long child; (child = strtol(children, &children, 10)) > 0;) {
		bool shares_memory = syscall(SYS_kcmp, pid, child, KCMP_VM, 0, 0) == 0;
		if (shares_memory && !ask_family(t, (pid_t)child, (pid_t)child, is_refused)) {
			return false;
		}
	}
	return true;
}

static DIR *open_threads(const struct tracee *t, struct err *err) {
	DIR *folder = opendir(PROCESS_PATH(t->pid, "task"));
	if (!folder) {
		(void)err_not_found(err, "process %d has ended", (int)t->pid);
	}
	return folder;
}

static bool ask_all(struct tracee *t, bool *is_refused, struct err *err) {
	CLOSED_FOLDER *folder = open_threads(t, err);
	if (!folder) {
		return false;
	}
	bool ok = true;
	for (pid_t tid; ok && (tid = process_next(folder)) != 0;) {
		ok = ask_family(t, t->pid, tid, is_refused);
	}
	return ok || err_memory(err);
}

/** Stop threads until all listed are held. `*is_passing`: an exec or end prevented it. */
static bool try_to_stop_all(struct tracee *t, bool *is_passing, struct err *err) {
	uint64_t until_ns = clock_now_ns() + PATIENCE_NS;
	*is_passing = false;
	for (size_t n_before = SIZE_MAX; n_before != t->threads.n;) {
		bool is_refused = false;
		n_before = t->threads.n;
		bool ok = ask_all(t, &is_refused, err);
		interrupt(t, n_before); // all are seized: see tracee_resume_from
		if (!ok || !wait_for_all(t, until_ns, is_passing, err)) {
			return false;
		}
		if (is_refused) {
			*is_passing = true;
			return err_failed(err, "cannot trace a thread of process %d", (int)t->pid);
		}
	}
	return t->threads.n > 0 ||
			err_not_found(err, "process %d has ended, or waits for a child", (int)t->pid);
}

/** Stop the first that can be. */
static bool try_to_stop_one(struct tracee *t, bool *is_passing, struct err *err) {
	CLOSED_FOLDER *folder = open_threads(t, err);
	bool is_refused = false, ok = folder != NULL;
	for (pid_t tid; ok && t->threads.n == 0 && (tid = process_next(folder)) != 0;) {
		const struct tracee_thread thread = {.tid = tid, .pid = t->pid};
		bool is_in_vfork = false;
		if (task_waits_for_vfork(t, &thread)) {
			continue;
		}
		ok = ask(t, t->pid, tid, &is_refused) || err_memory(err);
		interrupt(t, 0);
		ok = ok && wait_for_all(t, clock_now_ns() + PATIENCE_NS, &is_in_vfork, err);
		if (!ok) {
			tracee_resume(t);
			ok = is_in_vfork; // then the next
		}
	}
	*is_passing = ok && t->threads.n == 0;
	return !*is_passing ? ok
						: err_failed(err,
								  is_refused ? "cannot trace process %d"
											 : "cannot stop any thread of process %d",
								  (int)t->pid);
}

bool tracee_stop(struct tracee *t, bool all, struct err *err) {
	bool is_passing = true, ok = t->is_held;
	for (unsigned i = 0; !ok && is_passing && i < STOP_TRIES; i++) {
		if (i > 0) {
			clock_sleep_ns(TRY_AGAIN_NS);
		}
		ok = all ? try_to_stop_all(t, &is_passing, err) : try_to_stop_one(t, &is_passing, err);
		if (!ok) {
			tracee_resume(t);
		}
	}
	// A thread of the process itself works for us, not one of a child that borrows its memory
	struct tracee_thread *own = ok ? FIND_IN(it, t->threads, it->pid == t->pid) : NULL;
	if (own) {
		struct tracee_thread first = t->threads.items[0];
		t->threads.items[0] = *own;
		*own = first;
	}
	return ok;
}

static void resume_one(const struct tracee *t, const struct tracee_thread *thread) {
	if (thread->is_changed) {
		(void)regs_set(thread->tid, &thread->regs);
	}
	if (!t->is_held) {
		(void)ptrace(PTRACE_DETACH, thread->tid, 0, 0);
	}
}

/**
 * The kernel drops a signal without a handler (SIGCHLD) at once, unless the thread it chose is
 * traced; then, if that thread is stopped, the signal wakes another. So threads whose calls would
 * return EINTR go on last, and the first thread, which often waits for events, at the very end.
 */
void tracee_resume_from(struct tracee *t, size_t first) {
	for (unsigned is_changed = 0; is_changed < 2; is_changed++) {
		for (size_t i = t->threads.n; i-- > first;) {
			const struct tracee_thread *thread = &t->threads.items[i];
			if (thread->is_stopped && thread->is_changed == (is_changed != 0)) {
				resume_one(t, thread);
			}
		}
	}
	// Whatever does not stop now is released when this process ends
	for (size_t i = first; i < t->threads.n; i++) {
		struct tracee_thread *thread = &t->threads.items[i];
		if (!thread->is_stopped &&
				wait_for_stop(thread, clock_now_ns() + PATIENCE_NS) == WAIT_STOPPED) {
			resume_one(t, thread);
		}
	}
	if (!t->is_held && first < t->threads.n) {
		t->threads.n = first;
	}
}

void tracee_resume(struct tracee *t) {
	tracee_resume_from(t, 0);
}

void tracee_let_go(struct tracee *t) {
	t->is_held = false;
	tracee_resume(t);
}

void tracee_close(struct tracee *t) {
	tracee_let_go(t);
	vec_finish(&t->threads);
	file_close(t->memory);
	t->memory = -1;
}
