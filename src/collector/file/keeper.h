// SPDX-License-Identifier: MIT
#pragma once
/**
 * Keeps the file up to date in a thread of its own.
 *
 * So neither encoding nor a slow disk delays the program. The caller builds a state (struct
 * recording, with its own memory) and hands it over; at the end the file is finished by the
 * caller's thread.
 *
 * A failed write is reported once and retried with the next state: recording continues. On a full
 * disk, totals can still be written (trace_writer_narrow); quality.detail_ends_ns says since when
 * there are only totals. All functions: one thread, that of the caller.
 */

#include "collector/file/output.h"

struct keeper;

/** `events_budget` bytes of single events are kept; 0: none. */
struct keeper *keeper_create(struct output *output, uint64_t events_budget, struct err *err);
void keeper_destroy(struct keeper *k);

/** True if a state may be handed over now; the last one has been written. */
bool keeper_is_ready(struct keeper *k);

/** Wait until it is. */
void keeper_wait(struct keeper *k);

/** What the last checkpoint took, from hand-over to written: by the clock, and of the CPU. */
struct keeper_cost {
	uint64_t wall_ns, cpu_ns;
};
struct keeper_cost keeper_cost(struct keeper *k);

/**
 * An empty recording for the next state: with the memory of the last one that was written. The
 * caller's until it is given. NULL: out of memory.
 */
struct recording *keeper_take(struct keeper *k);

/** Write this state, a recording that keeper_take gave. Only when the keeper is ready. */
void keeper_give(struct keeper *k, struct recording *r);

/** Append events. False: could not, here or before; no more is to be given. */
bool keeper_events(struct keeper *k, const struct trace_event *events, size_t n, struct err *err);

/** The first failure since the last call, once: for the user. False: none. */
bool keeper_failure(struct keeper *k, struct err *err);

/**
 * Wait for what is being written, then finish the file with the last state: compactly in the
 * growing file's place, or, if that cannot be, as a last checkpoint; on a full disk `r` loses the
 * detail that the file has no room for. False: nothing worked.
 */
bool keeper_finish(struct keeper *k, struct recording *r, struct err *err);
