// SPDX-License-Identifier: MIT
#include "injector/snapshot.h"

#include "injector/tracee_parts.h"
#include "sys/clock.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static const uint64_t BIRTH_PATIENCE_NS = 2000000000;

static bool is_of_tracee(const struct tracee *t, pid_t tid) {
	for (size_t i = 0; i < t->threads.n; i++) {
		if (t->threads.items[i].tid == tid) {
			return true;
		}
	}
	return false;
}

/** The only one of ours that is not a thread of the process. It stops before its first instruction. */
static pid_t wait_for_birth(const struct tracee *t) {
	uint64_t until_ns = clock_now_ns() + BIRTH_PATIENCE_NS;
	while (clock_now_ns() < until_ns) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL | WNOHANG);
		if (pid > 0 && WIFSTOPPED(status) && !is_of_tracee(t, pid)) {
			return pid;
		}
		if (pid <= 0) {
			(void)nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		}
	}
	return 0;
}

bool snapshot_take(struct snapshot *s, struct tracee *t, struct err *err) {
	pid_t tid = t->threads.items[0].tid;
	uint64_t start_ns = clock_now_ns();
	struct errand e = {.n_calls = 1};
	e.calls[0] = (struct errand_call){.number = SYS_clone,
			.arguments = {CLONE_FILES | CLONE_FS}}; // and no signal at its end
	long usual = PTRACE_O_TRACESYSGOOD | (t->suspends_seccomp ? PTRACE_O_SUSPEND_SECCOMP : 0);
	*s = (struct snapshot){0};
	if (ptrace(PTRACE_SETOPTIONS, tid, 0, usual | PTRACE_O_TRACECLONE) != 0) {
		return err_system(err, errno, "cannot copy process %d", (int)t->pid);
	}
	bool ok = tracee_errand(t, NULL, &e, err);
	int64_t result = e.calls[0].result;
	(void)ptrace(PTRACE_SETOPTIONS, tid, 0, usual);
	if (!ok || result < 0) {
		return ok ? err_system(err, (int)-result, "cannot copy process %d", (int)t->pid) : false;
	}
	s->pid = wait_for_birth(t);
	s->pid_inside = (pid_t)result;
	if (s->pid == 0) {
		return err_set(err, ERR_SYSTEM, "the copy of process %d did not stop", (int)t->pid);
	}
	(void)ptrace(PTRACE_SETOPTIONS, s->pid, 0, PTRACE_O_EXITKILL);
	s->cost_ns = clock_now_ns() - start_ns;
	return true;
}

void snapshot_drop(struct snapshot *s, struct tracee *t) {
	int status;
	if (s->pid == 0) {
		return;
	}
	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, &status, __WALL);
	if (t) {
		struct errand e = {.n_calls = 1};
		e.calls[0] = (struct errand_call){.number = SYS_wait4,
				.arguments = {(uint64_t)s->pid_inside, 0, __WALL}};
		(void)tracee_errand(t, NULL, &e, NULL);
	}
	s->pid = 0;
}
