// SPDX-License-Identifier: MIT
/*
 * Catches a process at its start. Seized before it execs, it is held at the exec or, where glibc's
 * loader comes first, once that has mapped all libraries, as its next system call shows. Nothing is
 * relocated by then, and no code of the program or a library has run.
 */
#include "injector/tracee/tracee.h"
#include "regs.h"

static const uint64_t START_PATIENCE_NS = 60000000000; // a loader may wait for a file server

/** From any stop to one that our system calls may begin from. */
static bool come_to_rest(pid_t pid, uint64_t until_ns) {
	return ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0 && ptrace(PTRACE_CONT, pid, 0, 0) == 0 &&
			tracee_run_to(pid, PTRACE_EVENT_STOP, PTRACE_CONT, until_ns, NULL) == WAIT_STOPPED;
}

static bool run_to_libraries(pid_t pid, uint64_t until_ns) {
	struct user_regs_struct regs;
	do {
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0) != 0 ||
				tracee_run_to(pid, TRACEE_CALL, PTRACE_SYSCALL, until_ns, NULL) != WAIT_STOPPED) {
			return false;
		}
	} while (!regs_get(pid, &regs) || !regs_has_mapped_libraries(&regs));
	return true;
}

bool injector_catch(pid_t pid, struct err *err) {
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
	return ptrace(PTRACE_SEIZE, pid, 0, options) == 0 ||
			err_system(err, errno, "cannot trace process %d", (int)pid);
}

void injector_leave(pid_t pid) {
	(void)ptrace(PTRACE_DETACH, pid, 0, 0);
}

bool injector_await_exec(pid_t pid, bool (*expects)(void *user), void *user, struct err *err) {
	const uint64_t until_ns = clock_now_ns() + START_PATIENCE_NS, gap_ns = 5000000;
	bool is_expected = true;
	enum tracee_wait wait;
	do {
		wait = tracee_run_to(pid, PTRACE_EVENT_EXEC, PTRACE_CONT, clock_now_ns() + gap_ns, NULL);
		if (wait == WAIT_STOPPED) {
			return true;
		}
		is_expected = !expects || expects(user);
	} while (wait != WAIT_GONE && is_expected && clock_now_ns() < until_ns);
	if (wait != WAIT_GONE && ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0) {
		(void)tracee_run_to(pid, PTRACE_EVENT_STOP, PTRACE_CONT, clock_now_ns() + START_PATIENCE_NS,
				NULL);
		injector_leave(pid);
	}
	return err_failed(err, "process %d has %s", (int)pid,
			wait == WAIT_GONE ? "ended while it was being loaded" : "not executed another program");
}

bool tracee_open_at_start(struct tracee *t, pid_t pid, bool has_loader, struct err *err) {
	uint64_t until_ns = clock_now_ns() + START_PATIENCE_NS;
	struct tracee_thread thread = {.tid = pid, .pid = pid, .is_stopped = true};
	bool is_there = (!has_loader ||
							(come_to_rest(pid, until_ns) && run_to_libraries(pid, until_ns))) &&
			come_to_rest(pid, until_ns) && regs_get(pid, &thread.regs);
	// Only after the exec, which replaces the memory
	bool ok = tracee_open(t, pid, err) &&
			(is_there ||
					err_failed(err, "process %d has ended while it was being loaded", (int)pid));
	return t->is_held = ok && (vec_add(&t->threads, thread) || err_memory(err));
}
