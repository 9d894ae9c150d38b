// SPDX-License-Identifier: MIT

/*
 * A process that is about to exec is seized, and held when its program is there: at the exec itself, or,
 * where a loader comes first, when that has mapped all libraries. glibc's loader then sets the main
 * thread's FS base, for which it makes a system call; nothing has been relocated by then, and no
 * code of the program or of a library has run.
 */

#include "base/vec.h"
#include "injector/tracee/tracee.h"
#include "injector/tracee/wait.h"
#include "sys/clock.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
	SET_FS = 0x1002, // asm/prctl.h: ARCH_SET_FS
	AT_EXEC = SIGTRAP | PTRACE_EVENT_EXEC << 8,
	AT_STOP = SIGTRAP | PTRACE_EVENT_STOP << 8,
	AT_CALL = SIGTRAP | 0x80,
};

static const uint64_t start_patience_ns = 60000000000; // a loader may wait for a file server

/** Wait for a stop of that kind; others are gone on from, by `request`, and signals delivered. */
static bool wait_for(pid_t pid, int what, int request, uint64_t until_ns) {
	int status;
	while (tracee_wait_for(pid, &status, until_ns) == WAIT_STOPPED) {
		if (status >> 8 == what) {
			return true;
		}
		long signal = status >> 16 != 0 ? 0 : WSTOPSIG(status) & 0x7f;
		(void)ptrace(request, pid, 0, signal);
	}
	return false;
}

/** From any stop to one that our system calls may begin from. */
static bool come_to_rest(pid_t pid, uint64_t until_ns) {
	return ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0 && ptrace(PTRACE_CONT, pid, 0, 0) == 0 &&
			wait_for(pid, AT_STOP, PTRACE_CONT, until_ns);
}

static bool is_fs_set(pid_t pid) {
	struct user_regs_struct regs;
	return ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0 && regs.orig_rax == SYS_arch_prctl &&
			regs.rdi == SET_FS && regs.rax == 0;
}

static bool run_to_libraries(pid_t pid, uint64_t until_ns) {
	do {
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0) != 0 ||
				!wait_for(pid, AT_CALL, PTRACE_SYSCALL, until_ns)) {
			return false;
		}
	} while (!is_fs_set(pid));
	return true;
}

bool tracee_seize(pid_t pid, struct err *err) {
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
	return ptrace(PTRACE_SEIZE, pid, 0, options) == 0 ||
			err_system(err, errno, "cannot trace process %d", (int)pid);
}

void tracee_leave(pid_t pid) {
	(void)ptrace(PTRACE_DETACH, pid, 0, 0);
}

bool tracee_await_exec(pid_t pid, bool (*expects)(void *user), void *user, struct err *err) {
	const uint64_t until_ns = clock_now_ns() + start_patience_ns;
	const uint64_t gap_ns = 5000000;
	bool is_expected = true;
	enum tracee_wait wait;
	do {
		int status;
		wait = tracee_wait_for(pid, &status, clock_now_ns() + gap_ns);
		if (wait == WAIT_STOPPED && status >> 8 == AT_EXEC) {
			return true;
		}
		if (wait == WAIT_STOPPED) {
			long signal = status >> 16 != 0 ? 0 : WSTOPSIG(status) & 0x7f;
			(void)ptrace(PTRACE_CONT, pid, 0, signal);
		}
		is_expected = !expects || expects(user);
	} while (wait != WAIT_GONE && is_expected && clock_now_ns() < until_ns);
	if (wait != WAIT_GONE && ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0) {
		(void)wait_for(pid, AT_STOP, PTRACE_CONT, clock_now_ns() + start_patience_ns);
		tracee_leave(pid);
	}
	return err_set(err, ERR_SYSTEM, "process %d has %s", (int)pid,
			wait == WAIT_GONE ? "ended while it was being loaded" : "not executed another program");
}

bool tracee_open_at_start(struct tracee *t, pid_t pid, bool has_loader, struct err *err) {
	uint64_t until_ns = clock_now_ns() + start_patience_ns;
	struct tracee_thread thread = {.tid = pid, .pid = pid, .is_stopped = true};
	bool is_there = (!has_loader ||
							(come_to_rest(pid, until_ns) && run_to_libraries(pid, until_ns))) &&
			come_to_rest(pid, until_ns) && ptrace(PTRACE_GETREGS, pid, 0, &thread.regs) == 0;
	// Only now: the memory of before the exec was another
	if (!tracee_open(t, pid, err)) {
		return false;
	}
	if (!is_there) {
		return err_set(err, ERR_SYSTEM, "process %d has ended while it was being loaded", (int)pid);
	}
	struct tracee_thread *item = vec_push(&t->threads);
	if (!item) {
		return err_memory(err);
	}
	*item = thread;
	t->is_held = true;
	return true;
}

void tracee_let_go(struct tracee *t) {
	t->is_held = false;
	tracee_resume(t);
}
