// SPDX-License-Identifier: MIT
#pragma once

/**
 * The recorder put into a running process, and taken out again, without a call of the process's own
 * code: memory by system calls of a stopped thread, code by /proc/PID/mem, hooks by a jump at the
 * beginning of each allocation function. docs/attach.md has the states and why they are safe.
 *
 *   injector_create      all checks; the process is not touched
 *   injector_memory      shared memory is made in it; the descriptor is ours to size and to fill in
 *   injector_attach      the recorder is mapped and opens that memory, functions are patched
 *   injector_rescan      the same for modules loaded since
 *   injector_detach      functions are as they were; what can be unmapped is
 *
 * A process that is only about to start is caught before: then no event is missed.
 *
 * Each step either succeeds or leaves the process as it found it. All from one thread, of a process
 * that only SIGKILL can end (see injector/tracee/tracee.h).
 */

#include "base/buffer.h"
#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

struct injector;

/** Why there is no copy of the process's memory. */
enum injector_no_copy {
	INJECTOR_COPIED = 0, // or nobody asked for it: the process has only begun
	INJECTOR_COPY_LATE,  // it does not fit into the pause allowed
	INJECTOR_COPY_OFF,   // none is allowed
	INJECTOR_COPY_FAILED,
};

/** What it cost and covers. */
struct injector_report {
	uint32_t n_functions; // patched
	uint32_t n_modules;   // that they lie in
	uint32_t n_threads;   // at the last stop of all
	uint32_t n_stops;
	uint64_t longest_pause_ns; // of all threads
	uint64_t all_pause_ns;     // of all threads, in sum
	uint64_t one_pause_ns;     // of the one thread that worked for us, in sum
	uint64_t snapshot_ns; // of all threads besides, for a copy of its memory when it was attached,
	pid_t snapshot;       // which this process is (injector/heap_walk.h); 0: there is none,
	enum injector_no_copy no_copy; // and why
	uint64_t code_at, code_bytes;  // of the recorder there
};

/** What the process is about. */
enum injector_start {
	INJECTOR_RUNNING,
	INJECTOR_AT_EXEC, // it was caught and has execed: held before its first instruction,
	INJECTOR_AT_LOAD, // or, if glibc's loader starts it, when its libraries are mapped
};

/** Before it execs. From the same thread as all that follows. */
bool injector_catch(pid_t pid, struct err *err);

/** It was caught: wait until it has execed, as tracee_await_exec has it. Then it is created, or left. */
bool injector_await_exec(pid_t pid, bool (*expects)(void *user), void *user, struct err *err);
void injector_leave(pid_t pid);

/**
 * `recorder`: path of libheaptrack_inject.so. NULL: refused; `err` says why and what helps. A caught
 * process then goes on without us, else it is held until injector_let_go.
 */
struct injector *injector_create(pid_t pid, enum injector_start start, const char *recorder,
		struct err *err);
void injector_let_go(struct injector *in);
void injector_destroy(struct injector *in);

/** As the process itself calls it: in its own pid namespace. */
pid_t injector_pid_inside(const struct injector *in);

/**
 * An empty memfd of the process, as a descriptor of ours; or the file `path`, opened by the process.
 * -1: failed.
 */
int injector_memory(struct injector *in, const char *path, struct err *err);

/**
 * `max_pause_ns`: what copying the memory of a running process may take while all of its threads are
 * stopped. If it takes longer there is no copy, and the threads go on (0: none is made).
 */
bool injector_attach(struct injector *in, uint64_t max_pause_ns, struct err *err);

/** The copy of its memory is needed no longer. */
void injector_drop_snapshot(struct injector *in);

/** Also patch what was loaded since. Cheap if nothing was. False: the process is gone. */
bool injector_rescan(struct injector *in, struct err *err);

/** Undo. True as well if the process is gone. */
bool injector_detach(struct injector *in, struct err *err);

/** Undo what a dead heaptrack has left in a process. `*was_attached`: there was something. */
bool injector_repair(pid_t pid, bool *was_attached, struct err *err);

struct injector_report injector_report(const struct injector *in);

/**
 * What was found to allocate, a line each: the module's path, names with ", " between them, and why they
 * are not hooked (nothing: they are), with tabs between the three.
 */
void injector_describe(struct injector *in, struct buffer *out);
