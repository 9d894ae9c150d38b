// SPDX-License-Identifier: MIT
#pragma once
/**
 * The output file, from the choice of its name to the finished file.
 *
 * What happens to an existing file of that name, how much disk space it may use, and how the
 * finished file replaces the growing one.
 */

#include "sys/sys.h"
#include "trace/trace.h"

struct output_request {
	const char *name;    // as given with -o, %h and %p unexpanded; NULL: the default name
	const char *program; // what the user typed: for the default name
	pid_t pid;           // what %p stands for
	bool overwrite;      // an existing recording is replaced and not moved aside
};

enum { OUTPUT_NOTES = 4 };

struct output {
	char path[4096 + 512];
	int fd;                 // -1: closed
	uint64_t size;          // bytes, as far as written
	uint64_t reserve_bytes; // of the disk's free space, never used up
	uint32_t n_notes;
	char notes[OUTPUT_NOTES][5000]; // sentences for the user: a suffix replaced, a file moved aside
};

/**
 * Choose the name and create the file, which is locked as long as it is open: a name that another
 * heaptrack records to is left to it, and `path` is a numbered one. False: `err` is for the user.
 */
bool output_open(struct output *o, const struct output_request *request, struct err *err);

/** Where a trace_writer writes to. Refuses growth into the reserve (ERR_LIMIT). */
struct trace_sink output_sink(struct output *o);

/** To read back what was written. */
struct trace_source output_source(struct output *o);

/**
 * Write a finished file next to the growing one with `write` and rename it over. If the growing
 * file was moved, it is replaced in its new place; if it was removed, or another file has its name,
 * the finished file gets that name or a numbered one: then `path` changes, and a note says so.
 * False: failed; the growing file is unchanged, and nothing else is left behind.
 */
bool output_replace(struct output *o,
		bool (*write)(void *user, struct trace_sink sink, struct err *err), void *user,
		struct err *err);

/** False: the growing file has no name any more, and goes with its descriptor. */
bool output_is_there(const struct output *o);

/** Close it; remove it as well if it is not worth keeping. */
void output_close(struct output *o, bool keep);

/** `name` with a `.zst` suffix; *was_replaced: another compression suffix gave way. */
void output_suffix(char *out, size_t size, const char *name, bool *was_replaced);

/** `name` with %h, %p and %% replaced. */
void output_expand(char *out, size_t size, const char *name, pid_t pid);

// ---- threads that keep the file up to date
//
// So neither encoding nor a slow disk delays the program. The caller builds a state (struct
// recording, with its own memory) and hands it over; at the end the file is finished by the
// caller's thread.
//
// A failed write is reported once and retried with the next state: recording continues. On a full
// disk, totals can still be written (trace_writer_narrow); quality.detail_ends_ns says since when
// there are only totals. All functions: one thread, that of the caller.

struct keeper;

/** `events_budget` bytes of single events are kept; 0: none. */
struct keeper *keeper_create(struct output *output, uint64_t events_budget, struct err *err);
void keeper_destroy(struct keeper *k);

/** True if a state may be handed over now; the last one has been written. */
bool keeper_is_ready(const struct keeper *k);

/** Wait until it is. */
void keeper_wait(struct keeper *k);

/**
 * What the last checkpoint took, from hand-over to written: by the clock, and of the CPU. Only when
 * the keeper is ready.
 */
struct keeper_cost {
	uint64_t wall_ns, cpu_ns;
};
struct keeper_cost keeper_cost(const struct keeper *k);

/**
 * An empty recording for the next state: with the memory of the last one that was written. The
 * caller's until it is given.
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
