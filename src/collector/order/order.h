// SPDX-License-Identifier: MIT
#pragma once
/**
 * Merges the rings of all threads into one sequence of events.
 *
 * One thread; never sleeps or waits. The threads may be of several processes with a segment each,
 * if these share their struct wire_common.
 *
 * Guarantees for the sequence:
 *  - between threads: any order that the program itself has established, by a lock, a join, an
 *    atomic or a pipe, is kept (wire/segment.h: epochs and stamps).
 *  - per thread: program order, except that events of a signal handler may come before the event of
 *    the hook that it interrupted. REALLOC, MOVED and STAYED of a thread always keep their order.
 *  - time labels are coarse, and can fall from one thread's event to another's: the consumer raises
 *    them.
 *  - per image (exec): all events of one before sink.image and all events of the next.
 * The target's memory is not trusted: entries that make no sense are counted.
 *
 * A thread that stops between reserving and publishing an event delays all later events of other
 * threads: they wait in their rings, and when these are full, their threads wait. If it does not
 * run (a handler that sleeps, a debugger) and another ring is half full, the others continue
 * without it after `patience_ns`, in any case after `force_ns`; its event then arrives late.
 */

#include "collector/segment/segment.h"
#include "trace/trace.h"

struct order_thread {
	uint32_t tid, pid; // as the target sees them
	uint32_t image;
	uint32_t slot;
	uint64_t time_ns; // since the recording's start
};

struct order_sink {
	void *user;
	/** The next events, with our ids of nodes and threads. */
	void (*events)(void *user, const struct trace_event *events, size_t n);
	/** The same for events that come after newer ones were handed over. */
	void (*late_events)(void *user, const struct trace_event *events, size_t n);
	/** A KIND_FORK, or KIND_MAP, _UNMAP, _CHANGED: the address's low bits are wire_map_sort(). */
	void (*mapping)(void *user, const struct trace_event *event);
	/** A thread appeared. Returns its id (below 2^28) for events; 0 is allowed: "no thread". */
	uint32_t (*thread)(void *user, const struct order_thread *thread);
	/** All its events were handed over. */
	void (*thread_ended)(void *user, uint32_t thread);
	/** The process runs another program from here on. */
	void (*image)(void *user, uint32_t image);
	/** False once no thread `tid` of the program can write to the segment. */
	bool (*is_thread_alive)(void *user, uint32_t pid, uint32_t tid);
	/** True if it runs, or would if it got a processor. */
	bool (*is_thread_running)(void *user, uint32_t pid, uint32_t tid);
	/** NULL, or: add the segments of all processes that may have had an event by now. */
	void (*find_segments)(void *user);
};

struct order_limits {
	uint64_t patience_ns; // 0: 100 ms
	uint64_t force_ns;    // 0: 10 s
};

struct order_counts {
	uint64_t events;                             // handed over
	uint64_t failed, lost, truncated, abandoned; // as the threads counted (wire/event.h)
	uint64_t unpublished;                        // entries that dead threads left half written
	uint64_t late;                               // events that came after newer ones
	uint64_t forced;                             // times that the others went on without a thread
	uint64_t bad_entries;                        // that made no sense
	uint64_t mappings;                           // of calls that map, handed over
	uint64_t looked_behind;                      // events taken from after an unpublished one
	uint32_t n_threads;                          // ever seen
	uint32_t n_live;                             // slots in use
};

/** `segment` and `tries` must outlive it. */
struct order *order_create(struct segment *segment, struct tries *tries,
		const struct order_sink *sink, const struct order_limits *limits);
void order_destroy(struct order *o);

/** Add a segment. The sink gets `user` for its threads and images, its own for its events. */
void order_add(struct order *o, struct segment *segment, struct tries *tries, void *user);

/** Remove a segment, which may go then. False: not all of its threads have ended yet. */
bool order_remove(struct order *o, const struct segment *segment);

/** Take and hand over what is there. `now_ns` is CLOCK_MONOTONIC. Returns the number of events. */
size_t order_round(struct order *o, uint64_t now_ns);

/** Is there anything that the last round could not hand over yet? */
bool order_is_behind(const struct order *o);

/** How long to sleep if a round brought nothing and the bell does not ring. */
uint64_t order_rest_ns(const struct order *o);

/** The process is gone: take all that is left, and end all threads. */
void order_finish(struct order *o, uint64_t now_ns);

struct order_counts order_counts(const struct order *o);
