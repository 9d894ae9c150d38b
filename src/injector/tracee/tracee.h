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
 * can end (collector/guardian.h).
 */

#include "base/base.h"
#include "wire/errand.h"

#include <sys/types.h>
#include <sys/user.h>

struct tracee_thread {
	pid_t tid;
	pid_t pid; // of its process: the tracee's, or that of a child of vfork
	bool is_stopped;
	bool is_changed; // regs are to be written back
	struct user_regs_struct regs;
};

struct tracee {
	pid_t pid;
	int memory;          // /proc/PID/mem
	uint64_t syscall_at; // an instruction "syscall" in it; 0: not looked for yet
	struct {
		uint64_t code, errand, stack_top; // of the resident; 0: there is none yet
		uint64_t mask;                    // of signals, as the thread had it that is on an errand
	} errands;
	bool is_held; // has not begun to run: its one thread stays stopped until tracee_let_go
	VEC(struct tracee_thread) threads;
};

/** Nothing is stopped yet. False: no such process, or its memory may not be written. */
bool tracee_open(struct tracee *t, pid_t pid, struct err *err);

/**
 * tracee_open for a process that stands behind its exec. It is held there or, if glibc's loader
 * starts it (`has_loader`), when that has mapped the libraries and nothing else; until
 * tracee_let_go what stops or resumes it does nothing. False: it ended, or was not there within a
 * minute; the end of this thread lets go of it.
 */
bool tracee_open_at_start(struct tracee *t, pid_t pid, bool has_loader, struct err *err);
void tracee_let_go(struct tracee *t);

/** Resumes what is stopped. */
void tracee_close(struct tracee *t);

/** Stop one thread, to make system calls by it. */
bool tracee_stop_one(struct tracee *t, struct err *err);

/** Stop all threads. False: one does not stop within a second, or the process is gone. */
bool tracee_stop_all(struct tracee *t, struct err *err);

/** Resume and let go of what is stopped; or of all of it but the first thread. */
void tracee_resume(struct tracee *t);
void tracee_resume_others(struct tracee *t);

/** Map private memory, by a system call of the first stopped thread, which has no errand yet. */
bool tracee_map(struct tracee *t, uint64_t bytes, int protection, int flags, uint64_t *address,
		struct err *err);

/**
 * Send the first stopped thread on an errand (wire/errand.h). `first`, which may be NULL, is called
 * before anything is written in the process; if it fails, that is a fault. False: it could not be
 * sent, or did not come back. The results of calls are in `errand`.
 */
bool tracee_errand(struct tracee *t, const struct errand_call *first, struct errand *errand,
		struct err *err);

/** The same in two steps: the thread is on its way, and its end is waited for. */
bool tracee_errand_begin(struct tracee *t, const struct errand_call *first, struct errand *errand,
		struct err *err);
bool tracee_errand_end(struct tracee *t, struct errand *errand, struct err *err);

/** Memory; false if not all of it could be read or written. Stopped or not. */
bool tracee_read(const struct tracee *t, uint64_t at, void *out, size_t bytes);
bool tracee_write(const struct tracee *t, uint64_t at, const void *from, size_t bytes,
		struct err *err);

/** Is it one of the threads that are stopped? */
static inline bool tracee_holds(const struct tracee *t, pid_t tid) {
	return ANY(i, t->threads.n, t->threads.items[i].tid == tid);
}
