// SPDX-License-Identifier: MIT

/*
 * A stopped thread works for us: its registers are changed, it runs into a system call, and gets its
 * registers back. Signals are blocked meanwhile, but for those that a fault of ours would raise.
 *
 * The registers are given back in a PTRACE_EVENT_STOP, as they were taken: there the kernel
 * still knows how to go on with the system call that we found the thread in.
 */

#include "base/check.h"
#include "injector/tracee.h"
#include "injector/tracee_parts.h"
#include "sys/clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
	CALL_PATIENCE_NS = 2000000000, // a call that takes longer will not end
	SIGNALS_BYTES = 8,
};

static bool is_fault(int signal) {
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
			signal == SIGTRAP;
}

static uint64_t mask_of_all_but_faults(void) {
	uint64_t mask = UINT64_MAX;
	for (int signal = 1; signal < 32; signal++) {
		if (is_fault(signal)) {
			mask &= ~(1ull << (signal - 1));
		}
	}
	return mask;
}

struct work {
	struct tracee_thread *thread;
	uint64_t mask; // of signals, as the thread had it
};

static bool work_begin(struct work *w, struct tracee *t, struct err *err) {
	check(t->threads.n > 0);
	w->thread = &t->threads.items[0];
	uint64_t mask = mask_of_all_but_faults();
	if (ptrace(PTRACE_GETSIGMASK, w->thread->tid, SIGNALS_BYTES, &w->mask) != 0 ||
			ptrace(PTRACE_SETSIGMASK, w->thread->tid, SIGNALS_BYTES, &mask) != 0) {
		return err_system(err, errno, "thread %d is gone", (int)w->thread->tid);
	}
	return true;
}

/** Run on to the next stop at a system call. False: gone, late, or a fault (`*signal`). */
static bool run_to_system_call(const struct work *w, int *signal) {
	uint64_t until_ns = clock_now_ns() + CALL_PATIENCE_NS;
	long deliver = 0;
	for (;;) {
		int status;
		*signal = 0;
		if (ptrace(PTRACE_SYSCALL, w->thread->tid, 0, deliver) != 0 ||
				tracee_wait_for(w->thread->tid, &status, until_ns) != WAIT_STOPPED) {
			return false;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			return true;
		}
		bool is_event = (unsigned)status >> 16 != 0;
		*signal = is_event ? 0 : WSTOPSIG(status);
		if (is_fault(*signal)) {
			return false;
		}
		deliver = *signal;
	}
}

/** Back to a stop like the one that we found the thread in, with its own registers. */
static bool work_end(const struct work *w) {
	pid_t tid = w->thread->tid;
	uint64_t until_ns = clock_now_ns() + CALL_PATIENCE_NS;
	int status = 0;
	(void)ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	long deliver = 0;
	do {
		if (ptrace(PTRACE_CONT, tid, 0, deliver) != 0 ||
				tracee_wait_for(tid, &status, until_ns) != WAIT_STOPPED) {
			return false;
		}
		bool is_event = (unsigned)status >> 16 != 0;
		deliver = is_event || is_fault(WSTOPSIG(status)) ? 0 : WSTOPSIG(status) & 0x7f;
	} while ((unsigned)status >> 16 != PTRACE_EVENT_STOP);
	return ptrace(PTRACE_SETREGS, tid, 0, &w->thread->regs) == 0 &&
			ptrace(PTRACE_SETSIGMASK, tid, SIGNALS_BYTES, &w->mask) == 0;
}

static bool give_up(const struct work *w, int signal, struct err *err) {
	bool is_back = work_end(w);
	if (signal != 0) {
		return err_set(err, ERR_SYSTEM, "thread %d: %s in code of ours%s", (int)w->thread->tid,
				strsignal(signal), is_back ? "" : ", and it is gone");
	}
	return err_set(err, ERR_SYSTEM, "thread %d is gone, or does not answer", (int)w->thread->tid);
}

bool tracee_system_call(struct tracee *t, long number, const uint64_t arguments[6], int64_t *result,
		struct err *err) {
	struct work w;
	int signal;
	if (!work_begin(&w, t, err)) {
		return false;
	}
	struct user_regs_struct regs = w.thread->regs;
	regs.rip = t->syscall_at;
	regs.rax = (uint64_t)number;
	regs.orig_rax = UINT64_MAX; // else the kernel might begin the old system call anew
	regs.rdi = arguments[0];
	regs.rsi = arguments[1];
	regs.rdx = arguments[2];
	regs.r10 = arguments[3];
	regs.r8 = arguments[4];
	regs.r9 = arguments[5];
	if (ptrace(PTRACE_SETREGS, w.thread->tid, 0, &regs) != 0 || !run_to_system_call(&w, &signal) ||
			!run_to_system_call(&w, &signal) ||
			ptrace(PTRACE_GETREGS, w.thread->tid, 0, &regs) != 0) {
		return give_up(&w, signal, err);
	}
	*result = (int64_t)regs.rax;
	if (!work_end(&w)) {
		return err_set(err, ERR_SYSTEM, "thread %d is gone", (int)w.thread->tid);
	}
	return true;
}

bool tracee_map(struct tracee *t, uint64_t at, uint64_t bytes, int protection, int flags,
		uint64_t *address, int *errnum, struct err *err) {
	const uint64_t arguments[6] = {at, bytes, (uint64_t)protection,
			(uint64_t)(flags | MAP_PRIVATE | MAP_ANONYMOUS), UINT64_MAX, 0};
	int64_t result;
	*errnum = 0;
	if (!tracee_system_call(t, SYS_mmap, arguments, &result, err)) {
		return false;
	}
	if (result < 0 && result > -4096) {
		*errnum = (int)-result;
		return err_system(err, *errnum, "process %d cannot map memory", (int)t->pid);
	}
	*address = (uint64_t)result;
	return true;
}

bool tracee_call(struct tracee *t, uint64_t function, uint64_t argument, uint64_t stack_top,
		uint64_t done, long done_number, int64_t *result, struct err *err) {
	struct work w;
	int signal = 0;
	uint64_t stack = stack_top - 8;
	if (!tracee_write(t, stack, &done, sizeof done, err) || !work_begin(&w, t, err)) {
		return false;
	}
	struct user_regs_struct regs = w.thread->regs;
	regs.rip = function;
	regs.rdi = argument;
	regs.rsp = stack;
	regs.rbp = 0;
	regs.eflags &= ~0x400ull; // the direction of string instructions, as functions expect it
	regs.orig_rax = UINT64_MAX;
	bool ok = ptrace(PTRACE_SETREGS, w.thread->tid, 0, &regs) == 0;
	do {
		ok = ok && run_to_system_call(&w, &signal) &&
				ptrace(PTRACE_GETREGS, w.thread->tid, 0, &regs) == 0;
	} while (ok && (long)regs.orig_rax != done_number);
	if (!ok) {
		return give_up(&w, signal, err);
	}
	*result = (int64_t)regs.rdi;
	(void)run_to_system_call(&w, &signal); // out of it
	if (!work_end(&w)) {
		return err_set(err, ERR_SYSTEM, "thread %d is gone", (int)w.thread->tid);
	}
	return true;
}
