// SPDX-License-Identifier: MIT
#pragma once
/**
 * Puts the recorder into a running process, and takes it out again.
 *
 * None of the process's own code is called: memory is mapped by system calls of a stopped thread,
 * code is written by /proc/PID/mem, and a hook is a jump at the beginning of an allocation
 * function. docs/attach.md has the states and why they are safe.
 *
 *   injector_create      all checks; the process is not touched
 *   injector_memory      shared memory is made in it; the caller sizes it and fills it in
 *   injector_attach      the recorder opens that memory, functions are patched
 *   injector_rescan      the same for modules that were loaded since
 *   injector_detach      functions are as they were; what can be unmapped is
 *
 * A process that is about to start is caught before, so that no event is missed.
 *
 * Each step either succeeds or leaves the process as it was. All calls come from one thread, of a
 * process that only SIGKILL can end (tracee/tracee.h says why).
 */

#include "engine/graph.h"
#include "sys/sys.h"

struct injector;

/** Why there is no copy of the process's memory. */
enum injector_no_copy {
	INJECTOR_COPIED = 0, // or none was asked for: the process has just begun
	INJECTOR_COPY_LATE,  // it would exceed the allowed pause
	INJECTOR_COPY_OFF,   // none is allowed
	INJECTOR_COPY_FAILED,
};

/** What the attach cost and covers. */
struct injector_report {
	pid_t pid_inside;     // the pid in the process's own pid namespace
	uint32_t n_functions; // patched
	uint32_t n_modules;   // that they lie in
	bool maps_are_hooked; // those functions of wire/mappings.def that the program has
	uint32_t n_threads;   // at the last stop of all
	uint32_t n_stops;
	uint64_t longest_pause_ns;     // of all threads
	uint64_t all_pause_ns;         // of all threads, in sum
	uint64_t one_pause_ns;         // of the one thread that works for heaptrack, in sum
	uint64_t snapshot_ns;          // of all threads in addition, to copy the process's memory
	pid_t snapshot;                // the process that is this copy (injector/space.h); 0: none
	enum injector_no_copy no_copy; // why there is none
	uint64_t code_at, code_bytes;  // of the recorder there
};

enum injector_start {
	INJECTOR_RUNNING,
	INJECTOR_AT_EXEC, // caught, and has execed: held before its first instruction
	INJECTOR_AT_LOAD, // likewise, but glibc's loader starts it: held once its libraries are mapped
};

/** Catch a process that is about to exec. From the same thread as all that follows. */
bool injector_catch(pid_t pid, struct err *err);

/**
 * Wait until a caught process has execed; injector_create or injector_leave comes next. `expects`,
 * may be NULL, is asked now and then whether an exec will come. False: it will not, or the process
 * ended or did not exec within a minute.
 */
bool injector_await_exec(pid_t pid, bool (*expects)(void *user), void *user, struct err *err);
void injector_leave(pid_t pid);

/**
 * `recorder`: path of libheaptrack_inject.so. NULL: refused; `err` says why and what helps, and a
 * caught process goes on unrecorded. Else it is held until injector_let_go. `token`: by which its
 * recorder asks for memory in a tree of processes (wire/segment.h); else "".
 */
struct injector *injector_create(pid_t pid, enum injector_start start, const char *recorder,
		const char *token, struct err *err);

struct injector_check {
	struct injector_report report; // what would be hooked; snapshot_ns at most, if estimated
	bool has_filter;               // of a sandbox: whether it lets us shows only once it is stopped
	struct buffer hooked;          // as by injector_describe; to be finished
};

/** Take an attach's steps up to the first stop. False: refused; `err` says why and what helps. */
bool injector_check(pid_t pid, const char *recorder, uint64_t max_pause_ns,
		struct injector_check *out, struct err *err);

/** Does this machine forbid attaching in general, to running or to starting processes? */
bool injector_check_machine(bool is_running, struct err *err);

void injector_let_go(struct injector *in);
void injector_destroy(struct injector *in);

/** Open an empty memfd in the process, or `path`. `*fd`: our descriptor of it; -1: in a tree. */
bool injector_memory(struct injector *in, const char *path, int *fd, struct err *err);

/**
 * `max_pause_ns`: how long all threads of a running process may be stopped to copy its memory. If
 * it takes longer there is no copy, and the threads go on. 0: no copy.
 */
bool injector_attach(struct injector *in, uint64_t max_pause_ns, struct err *err);

void injector_drop_snapshot(struct injector *in);

/** Also patch what was loaded since; cheap if nothing was. */
void injector_rescan(struct injector *in);

/** Undo. Also true if the process is gone. */
bool injector_detach(struct injector *in, struct err *err);

/**
 * Undo a killed heaptrack's hooks, or only those of the tree with `token` (NULL: all).
 * `*was_attached`: there were some.
 */
bool injector_repair(pid_t pid, const char *token, bool *was_attached, struct err *err);

// ---- a stopped process, to be read

struct tracee;

/** Stop all its threads. NULL: one does not stop, or it may not be traced. */
struct tracee *injector_hold(pid_t pid, struct err *err);

/** Thread `i`; thread 0 always exists. Returns the number of threads. */
size_t injector_held(const struct tracee *t, size_t i, struct graph_thread *out);

/** Where the recorder allows errands: errand_at and errand_code of wire/segment.h. */
struct injector_room {
	uint64_t errand, code;
	bool has_left_out; // the process keeps some of its memory out of copies (MADV_DONTFORK)
};

/** Make a copy that never runs. The threads go on after `*pause_ns`. 0: none; `err` says why. */
pid_t injector_copy(struct tracee *t, const struct injector_room *room, uint64_t *pause_ns,
		struct err *err);

/** Let the threads go on, and end the copy. NULL is allowed. */
void injector_release(struct tracee *t);

struct injector_report injector_report(const struct injector *in);

/**
 * What was found to allocate, in lines of three tab-separated fields: a module's path, names
 * separated by ", ", and why they are not hooked (empty: they are).
 */
void injector_describe(struct injector *in, struct buffer *out);
