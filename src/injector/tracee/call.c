// SPDX-License-Identifier: MIT
/*
 * System calls and errands of a stopped thread: its registers are changed, it makes a call or runs
 * an errand, and its registers are restored. Meanwhile signals are blocked, except those that a
 * fault in heaptrack's code would raise. Registers are restored in a PTRACE_EVENT_STOP, as they
 * were taken: there the kernel can still continue the system call that the thread was found in.
 *
 * A single system call runs at an instruction of the vdso, with three stops. It is only used to map
 * the resident; all else is an errand (wire/resident.h): two stops for any number of calls, by code
 * that finds its way back if heaptrack is killed.
 */
#include "injector/tracee/tracee.h"
#include "regs.h"

enum { SIGNALS_BYTES = 8 };

// A longer call will not end: a busy machine may not run the thread for long
static const uint64_t CALL_PATIENCE_NS = 10000000000;

/** The thread that works for us. NULL: it is gone. */
static struct tracee_thread *work_begin(struct tracee *t, struct err *err) {
	if (t->threads.n == 0) {
		return err_not_found(err, "process %d has ended", (int)t->pid), NULL;
	}
	struct tracee_thread *w = &t->threads.items[0];
	bool ok = ptrace(PTRACE_GETSIGMASK, w->tid, SIGNALS_BYTES, &w->mask) == 0 ||
			err_system(err, errno, "thread %d is gone", (int)w->tid);
	return ok ? w : NULL;
}

static bool block_signals(const struct tracee_thread *w, uint64_t mask) {
	return ptrace(PTRACE_SETSIGMASK, w->tid, SIGNALS_BYTES, &mask) == 0;
}

/** Bring the thread to a stop like the one it was found in. False: it is gone, or does not stop. */
static bool fetch(pid_t tid, bool is_stopped) {
	uint64_t until_ns = clock_now_ns() + CALL_PATIENCE_NS;
	int fault;
	enum tracee_wait wait;
	(void)ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	do {
		fault = 0;
		(void)(is_stopped && ptrace(PTRACE_CONT, tid, 0, 0) != 0);
		wait = tracee_run_to(tid, PTRACE_EVENT_STOP, PTRACE_CONT, until_ns, &fault);
		is_stopped = true; // by a fault, whose signal is not delivered
	} while (wait == WAIT_STOPPED && fault != 0);
	return wait == WAIT_STOPPED;
}

/**
 * Restore the thread's signal mask, then its registers: if heaptrack is killed in between, the
 * thread finds its way back from the errand. In the other order it would keep our mask.
 */
static bool give_back(const struct tracee_thread *w) {
	return block_signals(w, w->mask) && regs_set(w->tid, &w->regs);
}

static bool give_up(const struct tracee_thread *w, bool is_stopped, int fault, struct err *err) {
	bool is_back = fetch(w->tid, is_stopped) && give_back(w);
	if (fault != 0) {
		return err_failed(err, "thread %d: %s in heaptrack's code%s", (int)w->tid, strsignal(fault),
				is_back ? "" : ", and the thread is gone");
	}
	return err_failed(err, "thread %d has ended or does not respond", (int)w->tid);
}

// ---- one system call

/** Run to the next stop at a system call. False: gone, late, or a fault (`*fault`). */
static bool run_to_system_call(pid_t tid, int *fault) {
	return ptrace(PTRACE_SYSCALL, tid, 0, 0) == 0 &&
			tracee_run_to(tid, TRACEE_CALL, PTRACE_SYSCALL, clock_now_ns() + CALL_PATIENCE_NS,
					fault) == WAIT_STOPPED &&
			*fault == 0;
}

bool tracee_map(struct tracee *t, uint64_t bytes, uint64_t *address, struct err *err) {
	const uint64_t arguments[6] = {0, bytes, PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, UINT64_MAX, 0};
	int fault = 0;
	struct tracee_thread *w = work_begin(t, err);
	if (!w) {
		return false;
	}
	struct user_regs_struct regs = w->regs;
	regs_set_call(&regs, t->syscall_at, SYS_mmap, arguments);
	// Signals are blocked first and unblocked last: no handler may run with these registers
	if (!block_signals(w, ~TRACEE_FAULTS) || !regs_set(w->tid, &regs) ||
			!run_to_system_call(w->tid, &fault) || !run_to_system_call(w->tid, &fault) ||
			!regs_get(w->tid, &regs)) {
		return give_up(w, true, fault, err);
	}
	if (!fetch(w->tid, true) || !regs_set(w->tid, &w->regs) || !block_signals(w, w->mask)) {
		return err_failed(err, "thread %d is gone", (int)w->tid);
	}
	int64_t result = regs_result(&regs);
	*address = (uint64_t)result;
	return result >= 0 || result <= -4096 ||
			err_system(err, (int)-result, "process %d cannot map memory", (int)t->pid);
}

// ---- errands

struct errand_call *errand_add(struct errand *e, long number, uint64_t a, uint64_t b, uint64_t c) {
	if (e->n_calls == ERRAND_CALLS) {
		return NULL;
	}
	struct errand_call *call = &e->calls[e->n_calls++];
	*call = (struct errand_call){.number = number, .arguments = {a, b, c}};
	return call;
}

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
		pid_t got = tracee_wait_now(tid, &status);
		if (got < 0 || (got > 0 && !WIFSTOPPED(status)) || clock_now_ns() > until_ns) {
			return false;
		}
		if (got > 0) { // a signal, or the birth of a copy
			int signal;
			*is_stopped = tracee_stop_kind(status, &signal) == TRACEE_FAULT;
			*fault = *is_stopped ? signal : 0;
			if (*is_stopped || ptrace(PTRACE_CONT, tid, 0, (long)signal) != 0) {
				return false;
			}
		}
		tracee_pause(n);
	}
	return true;
}

static bool send(struct tracee *t, const struct tracee_thread *w, const struct errand_call *first) {
	struct user_regs_struct regs = w->regs;
	regs_set_call(&regs, t->errands.code, (long)first->number, first->arguments);
	regs_set_errand(&regs, t->errands.errand, t->errands.stack_top);
	return regs_set(w->tid, &regs) && block_signals(w, ~TRACEE_FAULTS) &&
			ptrace(PTRACE_CONT, w->tid, 0, 0) == 0;
}

/** Bring the thread back, unless it went back by itself because heaptrack was slow. */
static bool come_back(const struct tracee *t, const struct tracee_thread *w) {
	if (!fetch(w->tid, false)) {
		return false;
	}
	if (state_is(t, ERRAND_LEFT)) {
		return true;
	}
	const uint32_t none = ERRAND_NONE;
	return give_back(w) &&
			tracee_write(t, t->errands.errand + offsetof(struct errand, state), &none, sizeof none,
					NULL);
}

bool tracee_errand_begin(struct tracee *t, const struct errand_call *first, struct errand *errand,
		struct err *err) {
	static const struct errand_call nothing = {.number = SYS_getpid};
	errand->state = ERRAND_BEGUN;
	errand->result = ERRAND_NOT_MADE;
	errand->frame = t->errands.errand + ERRAND_FRAME_AT;
	for (uint32_t i = 0; i < errand->n_calls; i++) {
		errand->calls[i].result = ERRAND_NOT_MADE;
	}
	struct tracee_thread *w = tracee_write(t, t->errands.errand, errand, bytes_of(errand), err)
			? work_begin(t, err)
			: NULL;
	if (!w) {
		return false;
	}
	struct signal_frame frame; // the way back, should heaptrack be killed
	bool has_way = regs_put_frame(&frame, w->tid, &w->regs, w->mask, errand->frame)
			? tracee_write(t, errand->frame, frame.bytes, frame.n_bytes, err)
			: err_system(err, errno, "cannot read the vector registers of thread %d", (int)w->tid);
	if (!has_way) {
		return give_back(w) && false;
	}
	return send(t, w, first ? first : &nothing) || give_up(w, true, 0, err);
}

bool tracee_errand_end(struct tracee *t, struct errand *errand, struct err *err) {
	const struct tracee_thread *w = &t->threads.items[0];
	int fault;
	bool is_stopped;
	if (!wait_until_done(t, w->tid, &is_stopped, &fault)) {
		return give_up(w, is_stopped, fault, err);
	}
	return (come_back(t, w) && tracee_read(t, t->errands.errand, errand, bytes_of(errand))) ||
			err_failed(err, "thread %d is gone", (int)w->tid);
}

bool tracee_errand(struct tracee *t, const struct errand_call *first, struct errand *errand,
		struct err *err) {
	return tracee_errand_begin(t, first, errand, err) && tracee_errand_end(t, errand, err);
}
