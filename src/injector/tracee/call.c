// SPDX-License-Identifier: MIT
/*
 * System calls and errands of a stopped thread: its registers are changed, it makes a call or runs
 * an errand, and gets its registers back. Meanwhile signals are blocked, except those that a fault
 * in heaptrack's code would raise.
 *
 * The registers are given back in a PTRACE_EVENT_STOP, as they were taken: there the kernel still
 * knows how to continue the system call that the thread was found in.
 *
 * A single system call runs at an instruction of the vdso, and the thread is stopped three times
 * for it. It is only used to map the resident. All other work is an errand (wire/resident.h): two
 * stops for any number of calls, by code that finds its way back if heaptrack is killed.
 */
#include "base/err.h"
#include "injector/tracee/tracee.h"
#include "regs.h"
#include "sys/sys.h"

enum { SIGNALS_BYTES = 8 };

// A call that takes longer will not end: a busy machine may not run the thread for long
static const uint64_t CALL_PATIENCE_NS = 10000000000;

static const uint64_t FAULTS = SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) |
		SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGTRAP);

struct work {
	struct tracee_thread *thread;
	uint64_t mask; // of signals, as the thread had it
};

static bool work_begin(struct work *w, struct tracee *t, struct err *err) {
	check(t->threads.n > 0);
	w->thread = &t->threads.items[0];
	return ptrace(PTRACE_GETSIGMASK, w->thread->tid, SIGNALS_BYTES, &w->mask) == 0 ||
			err_system(err, errno, "thread %d is gone", (int)w->thread->tid);
}

static bool block_signals(const struct work *w, uint64_t mask) {
	return ptrace(PTRACE_SETSIGMASK, w->thread->tid, SIGNALS_BYTES, &mask) == 0;
}

/** Which signal an unexpected stop brings, or 0. `*fault`: that signal, if it is a fault's. */
static long deal_with_stop(int status, int *fault) {
	bool is_event = (unsigned)status >> 16 != 0;
	int signal = is_event ? 0 : WSTOPSIG(status) & 0x7f;
	*fault = signal > 0 && signal < 32 && (FAULTS & SIGNAL_BIT(signal)) != 0 ? signal : 0;
	return signal;
}

/** Bring the thread to a stop like the one it was found in. False: it is gone, or does not stop. */
static bool fetch(pid_t tid, bool is_stopped) {
	uint64_t until_ns = clock_now_ns() + CALL_PATIENCE_NS;
	int status = 0, fault;
	long deliver = 0;
	(void)ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	do {
		if ((is_stopped && ptrace(PTRACE_CONT, tid, 0, deliver) != 0) ||
				tracee_wait_for(tid, &status, until_ns) != WAIT_STOPPED) {
			return false;
		}
		deliver = deal_with_stop(status, &fault);
		deliver = fault != 0 ? 0 : deliver;
		is_stopped = true;
	} while ((unsigned)status >> 16 != PTRACE_EVENT_STOP);
	return true;
}

/**
 * Give the thread its signal mask and registers back, the mask first: if heaptrack is killed in
 * between, it finds its way back from the errand. With its registers first it would keep our mask.
 */
static bool give_back(const struct work *w) {
	return block_signals(w, w->mask) && regs_set(w->thread->tid, &w->thread->regs);
}

static bool give_up(const struct work *w, bool is_stopped, int fault, struct err *err) {
	bool is_back = fetch(w->thread->tid, is_stopped) && give_back(w);
	if (fault != 0) {
		return err_set(err, ERR_SYSTEM, "thread %d: %s in heaptrack's code%s", (int)w->thread->tid,
				strsignal(fault), is_back ? "" : ", and the thread is gone");
	}
	return err_set(err, ERR_SYSTEM, "thread %d has ended or does not respond", (int)w->thread->tid);
}

// ---- one system call

/** Run on to the next stop at a system call. False: gone, late, or a fault (`*fault`). */
static bool run_to_system_call(const struct work *w, int *fault) {
	uint64_t until_ns = clock_now_ns() + CALL_PATIENCE_NS;
	long deliver = 0;
	for (;;) {
		int status;
		*fault = 0;
		if (ptrace(PTRACE_SYSCALL, w->thread->tid, 0, deliver) != 0 ||
				tracee_wait_for(w->thread->tid, &status, until_ns) != WAIT_STOPPED) {
			return false;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			return true;
		}
		deliver = deal_with_stop(status, fault);
		if (*fault != 0) {
			return false;
		}
	}
}

static bool make_system_call(struct tracee *t, long number, const uint64_t arguments[6],
		int64_t *result, struct err *err) {
	struct work w;
	int fault = 0;
	if (!work_begin(&w, t, err)) {
		return false;
	}
	struct user_regs_struct regs = w.thread->regs;
	regs_set_call(&regs, t->syscall_at, number, arguments);
	// Signals are blocked first and unblocked last: no handler may run with these registers
	if (!block_signals(&w, ~FAULTS) || !regs_set(w.thread->tid, &regs) ||
			!run_to_system_call(&w, &fault) || !run_to_system_call(&w, &fault) ||
			!regs_get(w.thread->tid, &regs)) {
		return give_up(&w, true, fault, err);
	}
	*result = regs_result(&regs);
	return (fetch(w.thread->tid, true) && regs_set(w.thread->tid, &w.thread->regs) &&
				   block_signals(&w, w.mask)) ||
			err_set(err, ERR_SYSTEM, "thread %d is gone", (int)w.thread->tid);
}

bool tracee_map(struct tracee *t, uint64_t bytes, int protection, int flags, uint64_t *address,
		struct err *err) {
	const uint64_t arguments[6] = {0, bytes, (uint64_t)protection,
			(uint64_t)(flags | MAP_PRIVATE | MAP_ANONYMOUS), UINT64_MAX, 0};
	int64_t result = 0;
	if (!make_system_call(t, SYS_mmap, arguments, &result, err)) {
		return false;
	}
	if (result < 0 && result > -4096) {
		return err_system(err, (int)-result, "process %d cannot map memory", (int)t->pid);
	}
	*address = (uint64_t)result;
	return true;
}

// ---- errands

static size_t bytes_of(const struct errand *errand) {
	return offsetof(struct errand, calls) + errand->n_calls * sizeof *errand->calls;
}

static bool state_is(const struct tracee *t, enum errand_state state) {
	uint32_t now;
	return tracee_read(t, t->errands.errand + offsetof(struct errand, state), &now, sizeof now) &&
			now == (uint32_t)state;
}

/** Wait until the errand is done. False: gone, late, or a fault; `*is_stopped`: it stands. */
static bool wait_until_done(const struct tracee *t, pid_t tid, bool *is_stopped, int *fault) {
	uint64_t until_ns = clock_now_ns() + CALL_PATIENCE_NS;
	*is_stopped = false;
	*fault = 0;
	for (unsigned n = 0; !state_is(t, ERRAND_DONE) && !state_is(t, ERRAND_LEFT); n++) {
		int status;
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
		if (got < 0 || (got > 0 && !WIFSTOPPED(status)) || clock_now_ns() > until_ns) {
			return false;
		}
		if (got > 0) { // a signal, or the birth of a copy
			long deliver = deal_with_stop(status, fault);
			*is_stopped = *fault != 0;
			if (*is_stopped || ptrace(PTRACE_CONT, tid, 0, deliver) != 0) {
				return false;
			}
		}
		tracee_pause(n);
	}
	return true;
}

static bool send(struct tracee *t, const struct work *w, const struct errand_call *first) {
	struct user_regs_struct regs = w->thread->regs;
	regs_set_call(&regs, t->errands.code, (long)first->number, first->arguments);
	regs_set_errand(&regs, t->errands.errand, t->errands.stack_top);
	return regs_set(w->thread->tid, &regs) && block_signals(w, ~FAULTS) &&
			ptrace(PTRACE_CONT, w->thread->tid, 0, 0) == 0;
}

static void set_state(const struct tracee *t, enum errand_state state) {
	uint32_t word = (uint32_t)state;
	(void)tracee_write(t, t->errands.errand + offsetof(struct errand, state), &word, sizeof word,
			NULL);
}

/** Bring the thread back, unless it has gone back by itself because heaptrack was too slow. */
static bool come_back(const struct tracee *t, const struct work *w) {
	if (!fetch(w->thread->tid, false)) {
		return false;
	}
	if (state_is(t, ERRAND_LEFT)) {
		return true;
	}
	bool ok = give_back(w);
	if (ok) {
		set_state(t, ERRAND_NONE);
	}
	return ok;
}

/** The way back, should heaptrack be killed. */
static bool write_frame(const struct tracee *t, const struct work *w, uint64_t at,
		struct err *err) {
	struct signal_frame frame;
	if (!regs_put_frame(&frame, w->thread->tid, &w->thread->regs, w->mask, at)) {
		return err_system(err, errno, "cannot read the vector registers of thread %d",
				(int)w->thread->tid);
	}
	return tracee_write(t, at, frame.bytes, frame.n_bytes, err);
}

bool tracee_errand_begin(struct tracee *t, const struct errand_call *first, struct errand *errand,
		struct err *err) {
	static const struct errand_call nothing = {.number = SYS_getpid};
	struct work w;
	errand->state = ERRAND_BEGUN;
	errand->result = ERRAND_NOT_MADE;
	errand->frame = t->errands.errand + ERRAND_FRAME_AT;
	for (uint32_t i = 0; i < errand->n_calls; i++) {
		errand->calls[i].result = ERRAND_NOT_MADE;
	}
	if (!tracee_write(t, t->errands.errand, errand, bytes_of(errand), err) ||
			!work_begin(&w, t, err)) {
		return false;
	}
	t->errands.mask = w.mask;
	if (!write_frame(t, &w, errand->frame, err)) {
		return give_back(&w) && false;
	}
	return send(t, &w, first ? first : &nothing) || give_up(&w, true, 0, err);
}

bool tracee_errand_end(struct tracee *t, struct errand *errand, struct err *err) {
	const struct work w = {.thread = &t->threads.items[0], .mask = t->errands.mask};
	int fault;
	bool is_stopped;
	if (!wait_until_done(t, w.thread->tid, &is_stopped, &fault)) {
		return give_up(&w, is_stopped, fault, err);
	}
	return (come_back(t, &w) && tracee_read(t, t->errands.errand, errand, bytes_of(errand))) ||
			err_set(err, ERR_SYSTEM, "thread %d is gone", (int)w.thread->tid);
}

bool tracee_errand(struct tracee *t, const struct errand_call *first, struct errand *errand,
		struct err *err) {
	return tracee_errand_begin(t, first, errand, err) && tracee_errand_end(t, errand, err);
}
