// SPDX-License-Identifier: MIT
#include "base/vec.h"
#include "injector/tracee/tracee.h"
#include "injector/tracee/wait.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STOP_TRIES = 50 };
static const uint64_t patience_ns = 1000000000;
static const uint64_t
		busy_patience_ns = 10000000000; // on a busy machine, before it is a thread's turn
static const uint64_t
		vfork_patience_ns = 2000000; // before it is looked whether it waits for a child

// ---- memory

bool tracee_open(struct tracee *t, pid_t pid, struct err *err) {
	char path[64];
	*t = (struct tracee){.pid = pid};
	(void)snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	t->memory = open(path, O_RDWR | O_CLOEXEC);
	if (t->memory < 0) {
		return err_system(err, errno, "cannot open the memory of process %d", (int)pid);
	}
	return true;
}

void tracee_close(struct tracee *t) {
	tracee_let_go(t);
	vec_finish(&t->threads);
	if (t->memory >= 0) {
		(void)close(t->memory);
	}
	t->memory = -1;
}

bool tracee_read(const struct tracee *t, uint64_t at, void *out, size_t bytes) {
	return pread(t->memory, out, bytes, (off_t)at) == (ssize_t)bytes;
}

bool tracee_write(const struct tracee *t, uint64_t at, const void *from, size_t bytes,
		struct err *err) {
	ssize_t n = pwrite(t->memory, from, bytes, (off_t)at);
	if (n == (ssize_t)bytes) {
		return true;
	}
	return err_system(err, n < 0 ? errno : EIO, "cannot write to the memory of process %d",
			(int)t->pid);
}

// ---- what a thread is about

static bool read_task(const struct tracee_thread *thread, const char *name, char *out,
		size_t size) {
	char path[96];
	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)thread->pid, (int)thread->tid,
			name);
	return file_read_small(path, out, size) > 0;
}

/** Does it wait for a child that runs in its memory? Then it cannot be stopped, nor let go of. */
static bool waits_for_vfork(const struct tracee *t, const struct tracee_thread *thread) {
	char text[256];
	unsigned long long number, a;
	uint64_t flags = 0;
	if (!read_task(thread, "syscall", text, sizeof text) ||
			sscanf(text, "%llu %llx", &number, &a) != 2) {
		return false;
	}
	switch (number) {
	case SYS_vfork: return true;
	case SYS_clone: return (a & CLONE_VFORK) != 0;
	case SYS_clone3: return tracee_read(t, a, &flags, sizeof flags) && (flags & CLONE_VFORK) != 0;
	default: return false;
	}
}

/** As /proc has it: R, S, D ... '?': it is gone. */
static char state_of(const struct tracee_thread *thread) {
	char status[2048] = "";
	char state = '?';
	(void)read_task(thread, "status", status, sizeof status);
	const char *at = strstr(status, "State:");
	if (at) {
		(void)sscanf(at, "State: %c", &state);
	}
	return state;
}

/** For people, of a thread that does not stop. */
static bool complain_of(const struct tracee_thread *thread, struct err *err) {
	char where[128] = "";
	char state = state_of(thread);
	if (state == '?') {
		return err_set(err, ERR_NOT_FOUND, "thread %d has ended", (int)thread->tid);
	}
	(void)read_task(thread, "wchan", where, sizeof where);
	return err_set(err, ERR_SYSTEM,
			"thread %d did not stop within a second (state %c%s%s); nothing was changed",
			(int)thread->tid, state, where[0] ? ", in " : "", where);
}

// ---- stopping

static uint64_t bit_of(int signal) {
	return 1ull << (signal - 1);
}

/** Is a signal waiting that the thread would take now, and notice? */
static bool has_signal(const struct tracee_thread *thread) {
	const uint64_t unnoticed = bit_of(SIGCHLD) | bit_of(SIGCONT) | bit_of(SIGURG) |
			bit_of(SIGWINCH);
	char text[4096];
	uint64_t own = 0, shared = 0, blocked = 0, ignored = 0, caught = 0;
	if (!read_task(thread, "status", text, sizeof text)) {
		return true;
	}
	const char *at = strstr(text, "SigPnd:");
	if (!at ||
			sscanf(at,
					"SigPnd: %" SCNx64 " ShdPnd: %" SCNx64 " SigBlk: %" SCNx64 " SigIgn: %" SCNx64
					" SigCgt: %" SCNx64,
					&own, &shared, &blocked, &ignored, &caught) != 5) {
		return true;
	}
	return ((own | shared) & ~blocked & ~ignored & (caught | ~unnoticed)) != 0;
}

/** Calls that return EINTR when a tracer stops them, and may simply be made once more. */
static bool may_begin_anew(uint64_t number) {
	switch (number) {
	case SYS_read:
	case SYS_readv:
	case SYS_accept:
	case SYS_accept4:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgsnd:
	case SYS_msgrcv:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter: return true;
	default: return false;
	}
}

/** Our stop shall not be seen: make the call again that it has broken off. */
static void undo_interruption(struct tracee_thread *thread) {
	struct user_regs_struct *regs = &thread->regs;
	if ((int64_t)regs->rax == -EINTR && (int64_t)regs->orig_rax >= 0 &&
			may_begin_anew(regs->orig_rax) && !has_signal(thread)) {
		regs->rax = regs->orig_rax;
		regs->rip -= 2;
		regs->orig_rax = UINT64_MAX;
		thread->is_changed = true;
	}
}

void tracee_pause(unsigned n) {
	if (n > 50) {
		(void)nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	} else {
		(void)sched_yield();
	}
}

enum tracee_wait tracee_wait_for(pid_t tid, int *status, uint64_t until_ns) {
	for (unsigned n = 0;; n++) {
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);
		if (got < 0 || (got > 0 && (WIFEXITED(*status) || WIFSIGNALED(*status)))) {
			return WAIT_GONE;
		}
		if (got > 0) {
			return WAIT_STOPPED;
		}
		if (clock_now_ns() > until_ns) {
			return WAIT_LATE;
		}
		tracee_pause(n);
	}
}

/** Wait until it stands in the stop that we asked for; signals met before are delivered. */
static enum tracee_wait wait_for_stop(struct tracee_thread *thread, uint64_t until_ns) {
	int status;
	for (;;) {
		enum tracee_wait wait = tracee_wait_for(thread->tid, &status, until_ns);
		if (wait != WAIT_STOPPED) {
			return wait;
		}
		unsigned event = (unsigned)status >> 16;
		if (event == PTRACE_EVENT_STOP) {
			break;
		}
		long signal = event == 0 ? WSTOPSIG(status) & 0x7f : 0;
		(void)ptrace(PTRACE_CONT, thread->tid, 0, signal);
	}
	thread->is_stopped = true;
	if (ptrace(PTRACE_GETREGS, thread->tid, 0, &thread->regs) != 0) {
		return WAIT_GONE;
	}
	undo_interruption(thread);
	return WAIT_STOPPED;
}

static bool seize(struct tracee *t, const struct tracee_thread *thread) {
	long options = PTRACE_O_TRACESYSGOOD;
	if (t->suspends_seccomp) {
		options |= PTRACE_O_SUSPEND_SECCOMP;
	}
	return ptrace(PTRACE_SEIZE, thread->tid, 0, options) == 0;
}

/** Ask those from the `first` on, which have been seized, to stop. One that is gone is noticed later. */
static void interrupt(const struct tracee *t, size_t first) {
	for (size_t i = first; i < t->threads.n; i++) {
		(void)ptrace(PTRACE_INTERRUPT, t->threads.items[i].tid, 0, 0);
	}
}

static bool is_held(const struct tracee *t, pid_t tid) {
	for (size_t i = 0; i < t->threads.n; i++) {
		if (t->threads.items[i].tid == tid) {
			return true;
		}
	}
	return false;
}

static void forget(struct tracee *t, size_t i) {
	t->threads.items[i] = t->threads.items[--t->threads.n];
}

/** Wait for one; longer if it only waits for its turn, shorter if it has just begun to wait for a child. */
static enum tracee_wait wait_for_one(const struct tracee *t, struct tracee_thread *thread,
		uint64_t until_ns, bool *is_in_vfork) {
	uint64_t first_ns = clock_now_ns() + vfork_patience_ns;
	enum tracee_wait wait = wait_for_stop(thread, first_ns < until_ns ? first_ns : until_ns);
	*is_in_vfork = wait == WAIT_LATE && waits_for_vfork(t, thread);
	if (wait == WAIT_LATE && !*is_in_vfork) {
		wait = wait_for_stop(thread, until_ns);
	}
	if (wait == WAIT_LATE && !*is_in_vfork && state_of(thread) == 'R') {
		wait = wait_for_stop(thread, until_ns + busy_patience_ns);
	}
	return wait;
}

/** Wait for those that were asked to stop, from the `first` on. `*is_in_vfork`: one cannot. */
static bool wait_for_all(struct tracee *t, size_t first, uint64_t until_ns, bool *is_in_vfork,
		struct err *err) {
	*is_in_vfork = false;
	for (size_t i = first; i < t->threads.n;) {
		struct tracee_thread *thread = &t->threads.items[i];
		enum tracee_wait wait = thread->is_stopped ? WAIT_STOPPED
												   : wait_for_one(t, thread, until_ns, is_in_vfork);
		if (*is_in_vfork) {
			return err_set(err, ERR_SYSTEM, "thread %d waits for a child process",
					(int)thread->tid);
		}
		if (wait == WAIT_LATE) {
			return complain_of(thread, err);
		}
		if (wait == WAIT_GONE) {
			forget(t, i);
		} else {
			i++;
		}
	}
	return true;
}

static void sleep_between(unsigned n_tries) {
	if (n_tries > 0) {
		(void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
}

/** Seize a thread. False: out of memory. One that is gone, or cannot be stopped, is passed by. */
static bool ask(struct tracee *t, pid_t pid, pid_t tid, bool *is_refused) {
	struct tracee_thread thread = {.tid = tid, .pid = pid};
	if (!seize(t, &thread)) {
		*is_refused |= errno == EPERM && !waits_for_vfork(t, &thread);
		return true;
	}
	struct tracee_thread *item = vec_push(&t->threads);
	if (item) {
		*item = thread;
	}
	return item != NULL;
}

static bool shares_memory(pid_t a, pid_t b) {
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

static bool ask_family(struct tracee *t, pid_t pid, pid_t tid, bool *is_refused);

/** The children of a thread that waits for one of vfork. */
static bool ask_children(struct tracee *t, const struct tracee_thread *thread, bool *is_refused) {
	char text[1024];
	if (!read_task(thread, "children", text, sizeof text)) {
		return true;
	}
	char *rest = text;
	for (long child; (child = strtol(rest, &rest, 10)) > 0;) {
		if (shares_memory(thread->pid, (pid_t)child) &&
				!ask_family(t, (pid_t)child, (pid_t)child, is_refused)) {
			return false;
		}
	}
	return true;
}

/** A thread, or whoever runs in its place. */
static bool ask_family(struct tracee *t, pid_t pid, pid_t tid, bool *is_refused) {
	const struct tracee_thread thread = {.tid = tid, .pid = pid};
	if (is_held(t, tid)) {
		return true;
	}
	return waits_for_vfork(t, &thread) ? ask_children(t, &thread, is_refused)
									   : ask(t, pid, tid, is_refused);
}

/** Seize all that are not held yet. */
static bool ask_all(struct tracee *t, bool *is_refused, struct err *err) {
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
	DIR *folder = opendir(path);
	if (!folder) {
		return err_set(err, ERR_NOT_FOUND, "process %d has ended", (int)t->pid);
	}
	bool ok = true;
	for (struct dirent *entry; ok && (entry = readdir(folder));) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		ok = tid <= 0 || ask_family(t, t->pid, tid, is_refused);
	}
	(void)closedir(folder);
	return ok || err_memory(err);
}

/**
 * Until a look at the list of threads finds none that is not held: those can make no more. `*is_passing`:
 * what was in the way will be over soon, a thread that ends or execs, or waits for one that does.
 */
static bool try_to_stop_all(struct tracee *t, bool *is_passing, struct err *err) {
	uint64_t until_ns = clock_now_ns() + patience_ns;
	*is_passing = false;
	for (size_t n_before = SIZE_MAX; n_before != t->threads.n;) {
		bool is_refused = false;
		n_before = t->threads.n;
		bool ok = ask_all(t, &is_refused, err);
		interrupt(t, n_before); // all are seized: see resume_from
		if (!ok || !wait_for_all(t, 0, until_ns, is_passing, err)) {
			return false;
		}
		if (is_refused) {
			*is_passing = true;
			return err_set(err, ERR_SYSTEM, "cannot trace a thread of process %d", (int)t->pid);
		}
	}
	return t->threads.n > 0 ||
			err_set(err, ERR_NOT_FOUND, "process %d has ended, or waits for a child", (int)t->pid);
}

/** The first that can be. */
static bool try_to_stop_one(struct tracee *t, DIR *folder, bool *is_passing, struct err *err) {
	bool is_refused = false, ok = true;
	for (struct dirent *entry; ok && t->threads.n == 0 && (entry = readdir(folder));) {
		const struct tracee_thread thread = {.tid = (pid_t)strtol(entry->d_name, NULL, 10),
				.pid = t->pid};
		bool is_in_vfork = false;
		if (thread.tid <= 0 || waits_for_vfork(t, &thread)) {
			continue;
		}
		ok = ask(t, t->pid, thread.tid, &is_refused) || err_memory(err);
		interrupt(t, 0);
		ok = ok && wait_for_all(t, 0, clock_now_ns() + patience_ns, &is_in_vfork, err);
		if (!ok) {
			tracee_resume(t);
			ok = is_in_vfork; // the next, then
		}
	}
	*is_passing = ok && t->threads.n == 0;
	return !*is_passing ? ok
						: err_set(err, ERR_SYSTEM,
								  is_refused ? "cannot trace process %d"
											 : "cannot stop any thread of process %d",
								  (int)t->pid);
}

bool tracee_stop_all(struct tracee *t, struct err *err) {
	bool is_passing = true, ok = t->is_held;
	for (unsigned i = 0; !ok && is_passing && i < STOP_TRIES; i++) {
		sleep_between(i);
		ok = try_to_stop_all(t, &is_passing, err);
		if (!ok) {
			tracee_resume(t);
		}
	}
	return ok;
}

bool tracee_stop_one(struct tracee *t, struct err *err) {
	char path[64];
	bool is_passing = true, ok = t->is_held;
	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
	for (unsigned i = 0; !ok && is_passing && i < STOP_TRIES; i++) {
		sleep_between(i);
		DIR *folder = opendir(path);
		if (!folder) {
			return err_set(err, ERR_NOT_FOUND, "process %d has ended", (int)t->pid);
		}
		ok = try_to_stop_one(t, folder, &is_passing, err);
		(void)closedir(folder);
	}
	return ok;
}

static void resume_one(const struct tracee *t, const struct tracee_thread *thread) {
	if (thread->is_changed) {
		(void)ptrace(PTRACE_SETREGS, thread->tid, 0, &thread->regs);
	}
	if (!t->is_held) {
		(void)ptrace(PTRACE_DETACH, thread->tid, 0, 0);
	}
}

/**
 * A signal that nobody handles (SIGCHLD) is sent to the process for a thread, and dropped at once, but while that
 * thread is traced; then it wakes another, if that one is stopped. So threads whose calls would return
 * EINTR are the last to go on, and of all threads the first, which often waits for events.
 */
static void resume_from(struct tracee *t, size_t first) {
	for (unsigned is_changed = 0; is_changed < 2; is_changed++) {
		for (size_t i = t->threads.n; i-- > first;) {
			const struct tracee_thread *thread = &t->threads.items[i];
			if (thread->is_stopped && thread->is_changed == (is_changed != 0)) {
				resume_one(t, thread);
			}
		}
	}
	// What does not stop now will be let go of by the end of this process
	for (size_t i = first; i < t->threads.n; i++) {
		struct tracee_thread *thread = &t->threads.items[i];
		if (!thread->is_stopped &&
				wait_for_stop(thread, clock_now_ns() + patience_ns) == WAIT_STOPPED) {
			resume_one(t, thread);
		}
	}
	if (!t->is_held && first < t->threads.n) {
		t->threads.n = first;
	}
}

void tracee_resume(struct tracee *t) {
	resume_from(t, 0);
}

void tracee_resume_others(struct tracee *t) {
	resume_from(t, 1);
}
