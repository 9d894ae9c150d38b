// SPDX-License-Identifier: MIT
#pragma once
/**
 * Another process, stopped and resumed by ptrace, with its memory.
 *
 * Everything here leaves the process as it was, as far as the process can tell:
 *
 *  - it is stopped by SEIZE and INTERRUPT, which send no signal; a stopped process stays stopped;
 *  - system calls that were interrupted go on, also those that would return EINTR (docs/attach.md);
 *  - signals that arrive meanwhile are delivered, none is lost;
 *  - threads that wait for a child of vfork cannot be stopped; the child, which runs in the same
 *    memory, is stopped instead;
 *  - no single steps and no breakpoints, which would reset the handler of SIGTRAP.
 *
 * ptrace belongs to a thread: all calls come from one. When that thread ends, the kernel resumes
 * what is stopped. In the middle of tracee_map that would be fatal to the process (a thread
 * on an errand finds its way back), so the caller lives in a process of its own that only SIGKILL
 * can end (collector/guardian/guardian.h).
 */

#include "injector/injector.h"
#include "wire/resident.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#define SIGNAL_BIT(signal) (1ull << ((signal)-1))

/** Signals that a fault raises. */
#define TRACEE_FAULTS                                                                     \
	(SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) | \
			SIGNAL_BIT(SIGTRAP))

struct tracee_thread {
	pid_t tid;
	pid_t pid; // of its process: the tracee's, or that of a child of vfork
	bool is_stopped;
	bool is_changed; // regs are to be written back
	struct user_regs_struct regs;
	uint64_t mask; // of signals, from when it began to work for us
};

/** A copy of a process: snapshot_take below. */
struct snapshot {
	pid_t pid;        // 0: there is none
	pid_t pid_inside; // as the process calls it
	uint64_t cost_ns; // how long all threads were stopped for it
};

struct tracee {
	pid_t pid;
	int memory;          // /proc/PID/mem
	uint64_t syscall_at; // an instruction "syscall" in it; 0: not looked for yet
	uint64_t since_ns;   // when its threads were last asked to stop
	struct {
		uint64_t code, errand, stack_top; // of the resident; 0: there is none yet
	} errands;
	bool is_held; // has not begun to run: its one thread stays stopped until tracee_let_go
	VEC(struct tracee_thread) threads; // one of the process itself first, if there is any
	struct snapshot copy;
};

/** Nothing is stopped yet. False: no such process, or its memory may not be written. */
bool tracee_open(struct tracee *t, pid_t pid, struct err *err);

/**
 * tracee_open for a process just after its exec. It is held there or, if glibc's loader starts it
 * (`has_loader`), once that has mapped the libraries and nothing else; until tracee_let_go,
 * stopping and resuming it does nothing. False: it ended, or did not get there within a minute; the
 * end of this thread lets go of it.
 */
bool tracee_open_at_start(struct tracee *t, pid_t pid, bool has_loader, struct err *err);
void tracee_let_go(struct tracee *t);

/** Resumes what is stopped. */
void tracee_close(struct tracee *t);

/** Stop all threads, or one to make system calls. False: gone, or one did not stop within 1 s. */
bool tracee_stop(struct tracee *t, bool all, struct err *err);

/** Resume and release what is stopped, all of it or from thread `first` on. */
void tracee_resume(struct tracee *t);
void tracee_resume_from(struct tracee *t, size_t first);

/** Map memory for code, by a system call of the first stopped thread, which has no errand yet. */
bool tracee_map(struct tracee *t, uint64_t bytes, uint64_t *address, struct err *err);

/** Add a call to an errand. NULL: too many. */
struct errand_call *errand_add(struct errand *e, long number, uint64_t a, uint64_t b, uint64_t c);

/**
 * Send the first stopped thread on an errand (wire/resident.h). `first`, may be NULL, is called
 * before anything is written in the process; if it fails, that is a fault. False: not sent, or it
 * did not come back. `errand` receives the results of the calls.
 */
bool tracee_errand(struct tracee *t, const struct errand_call *first, struct errand *errand,
		struct err *err);

/** The same in two steps: send the thread, and wait for the errand's end. */
bool tracee_errand_begin(struct tracee *t, const struct errand_call *first, struct errand *errand,
		struct err *err);
bool tracee_errand_end(struct tracee *t, struct errand *errand, struct err *err);

/** Memory, stopped or not. False: not all of it could be read or written. */
bool tracee_read(const struct tracee *t, uint64_t at, void *out, size_t bytes);
bool tracee_write(const struct tracee *t, uint64_t at, const void *from, size_t bytes,
		struct err *err);

/** Is it one of the stopped threads? */
static inline bool tracee_holds(const struct tracee *t, pid_t tid) {
	return ANY(i, t->threads.n, t->threads.items[i].tid == tid);
}

// ---- what a thread is doing, and waiting for it to stop

/** Does it wait for a child that runs in its memory? Then it can neither be stopped nor let go. */
bool task_waits_for_vfork(const struct tracee *t, const struct tracee_thread *thread);

/** Read a file of /proc/PID/task/TID as text. False: it is empty, or the thread is gone. */
bool task_read(const struct tracee_thread *thread, const char *name, char *out, size_t size);

/** As in /proc: R, S, D ...; '?': it is gone. */
char task_state(const struct tracee_thread *thread);

/** Is a signal pending that it would take now, and notice? */
bool task_has_signal(const struct tracee_thread *thread);

/** Say why a thread does not stop. Always false. */
bool task_complain(const struct tracee_thread *thread, struct err *err);

enum tracee_wait {
	WAIT_STOPPED,
	WAIT_GONE, // the thread has ended
	WAIT_LATE,
};

enum { TRACEE_CALL = 1 << 16, TRACEE_FAULT = 2 << 16 };

/** What a stop is for: PTRACE_EVENT_..., TRACEE_CALL, or with a `*signal` TRACEE_FAULT or 0. */
int tracee_stop_kind(int status, int *signal);

/** waitpid with WNOHANG, but a signal to be delivered stays with the thread: we may be killed. */
pid_t tracee_wait_now(pid_t tid, int *status);

/**
 * Wait for a stop of that kind, until `until_ns` of the monotonic clock. From others the thread
 * goes on by `request`, with its signal; but a TRACEE_FAULT's goes to `fault`, unless that is NULL,
 * and ends the wait as well.
 */
enum tracee_wait tracee_run_to(pid_t tid, int kind, unsigned request, uint64_t until_ns,
		int *fault);

/** Pause between two looks at what is about to change; longer once `n`, their count, is large. */
void tracee_pause(unsigned n);

// ---- a copy of a process that never runs, to be read while the process goes on
//
// A copy has the memory of one moment. It is a child of the process, made by a system call of a
// stopped thread and traced from birth. It shares the table of open files, so it keeps none open,
// and its end raises no signal. The kernel copies only page tables, some 30 ms per GB. It ends with
// the tracer at the latest.

/** Can a copy be made within that time? The process runs. `*takes_ns`: at most, if estimated. */
bool snapshot_fits(pid_t pid, uint64_t within_ns, uint64_t *takes_ns);

/**
 * Make `t->copy`. All threads are stopped; all but the first are released once it is there
 * (`lets_go`), or when the time is up: LATE. FAILED: the kernel lacks memory or processes.
 */
enum injector_no_copy snapshot_take(struct tracee *t, uint64_t within_ns, bool lets_go);

/** End it, if any, which takes as long as making it did: nothing need be stopped. */
void snapshot_end(const struct tracee *t);

/** And forget it. A thread must be stopped, to reap it for the process, if that lives. */
void snapshot_drop(struct tracee *t);

// ---- do a sandbox's filters (seccomp) allow the calls that recording needs?
//
// A filter may answer a call by killing the process, which must not happen.

/** A filter's answer to a call; one that cannot be understood: that it kills. */
uint32_t sandbox_answer(const struct sock_filter *code, size_t n, const struct seccomp_data *call);

/**
 * All threads are stopped: run each one's filters on every call that recording may make in it.
 * True: each is allowed, or refused with an error, which is harmless. Needs CAP_SYS_ADMIN.
 * `asks_us`: also the calls that ask heaptrack for memory, in a tree of processes.
 */
bool sandbox_lets_us(const struct tracee *t, bool asks_us, struct err *err);
