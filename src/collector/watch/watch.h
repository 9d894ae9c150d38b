// SPDX-License-Identifier: MIT
#pragma once
/**
 * Watches the recorded process, in a thread that sleeps until something happens.
 *
 *  - Every 1.25 s it wakes and raises the heartbeat, which tells the target that the collector is
 *    alive, even while the thread that takes the events is busy with a large checkpoint.
 *  - A signal that a process sends to heaptrack is forwarded to the program, once. Signals from
 *    the terminal, or to the whole process group, reach the program directly: it is in that group.
 *    What sends a signal to several of heaptrack's processes sends one.
 *  - When the program stops (Ctrl+Z), heaptrack stops after it, so that the shell sees a stopped
 *    job; when heaptrack is continued, it continues the program.
 *  - It notes the program's end and reaps other children (orphans, where heaptrack is PID 1).
 *  - A program that cannot open /proc/PID/fd gets the segment's descriptor through a socket.
 *  - Requests at the control socket are answered.
 *
 * A program that heaptrack has attached to is not its child: its end is noticed through a pidfd,
 * and recording ends with a signal to heaptrack or when the requested time is up.
 *
 * The caller has opened the signals (sys/signals.h) before it started any thread.
 */

#include "collector/control/serve.h"
#include "sys/process.h"
#include "sys/signals.h"

#include <stdatomic.h>
#include <sys/types.h>

struct watch_params {
	pid_t program;
	int signals_fd;              // signals_open
	struct witness *witness;     // tells which signals went to the whole process group
	pid_t guardian;              // forwards the signals that it gets to heaptrack; 0: none
	int door_fd;                 // listen_on_abstract; -1: none
	int segment_fd;              // what is sent to those who connect there
	_Atomic uint32_t *bell;      // set to 1 and woken at the program's end
	_Atomic uint32_t *heartbeat; // raised every 1.25 s, whatever other threads do
	bool is_attached;            // to a program that ran before
	int program_fd;              // then: its pidfd
	struct control *control;     // or NULL
	uint64_t ends_ns;            // then: CLOCK_MONOTONIC at which the recording ends; 0: never
};

/** Limits of the program as of its end (setrlimit); 0: none. */
struct watch_limits {
	uint64_t cpu_s, file_bytes;
	uint64_t memory_bytes; // of its address space or its data, whichever is less
};

struct watch_end {
	bool is_detached; // the recording ends, the program goes on
	bool is_signaled;
	int status;                 // exit status, or the signal; REC_STATUS_UNKNOWN
	char name[16];              // of the main thread, at the end; empty: not known
	uint64_t time_ns;           // CLOCK_MONOTONIC
	struct process_usage usage; // CPU time is with that of its waited-for children
	uint64_t max_rss_bytes; // over its whole life, execs included, as the kernel counts; 0: unknown
	struct watch_limits limits;
};

struct watch;

struct watch *watch_start(const struct watch_params *params, struct err *err);

/** Any thread. True once the program has ended; then `out` (may be NULL) is filled. */
bool watch_has_ended(const struct watch *w, struct watch_end *out);

/** Any thread. True once heaptrack was asked to exit after the program had ended: hurry. */
bool watch_is_hurried(const struct watch *w);

/**
 * The recording's thread only. A process other than the program that asked for the segment, each
 * reported once; 0: none. When many ask at once, some are dropped.
 */
pid_t watch_take_visitor(struct watch *w);

/** End the thread. NULL is allowed. */
void watch_stop(struct watch *w);
