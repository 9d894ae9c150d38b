// SPDX-License-Identifier: MIT
#pragma once
/**
 * The output file: the choice of its name, what happens to an existing file, how much disk space it
 * may use, and how the finished file replaces the growing one.
 */

#include "sys/sys.h"
#include "trace/trace.h"

struct output_request {
	const char *name;    // as given with -o, %h and %p unexpanded; NULL: the default name
	const char *program; // what the user typed: for the default name
	pid_t pid;           // what %p stands for
	bool overwrite;      // replace an existing recording instead of moving it aside
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
 * Choose the name and create the file, locked while it is open: if another heaptrack records to
 * that name, `path` is a numbered one. False: `err` is for the user.
 */
bool output_open(struct output *o, const struct output_request *request, struct err *err);

/** Where a trace_writer writes to. Refuses growth into the reserve (ERR_LIMIT). */
struct trace_sink output_sink(struct output *o);

struct trace_source output_source(struct output *o);

/**
 * Write a finished file next to the growing one with `write`, and rename it over. If the growing
 * file was moved, it is replaced there; if it was removed, or another file has its name, the
 * finished file gets that name or a numbered one: `path` changes, and a note says so. False:
 * failed; the growing file is unchanged, and nothing else is left behind.
 */
bool output_replace(struct output *o,
		bool (*write)(void *user, struct trace_sink sink, struct err *err), void *user,
		struct err *err);

/** False: the growing file lost its name, and is gone once closed. */
bool output_is_there(const struct output *o);

/** Close it; remove it if not worth keeping. */
void output_close(struct output *o, bool keep);

/** `name` with a `.zst` suffix; *was_replaced: another compression suffix gave way. */
void output_suffix(char *out, size_t size, const char *name, bool *was_replaced);

/** `name` with %h, %p and %% replaced. */
void output_expand(char *out, size_t size, const char *name, pid_t pid);

// ---- threads that keep the file up to date
//
// So neither encoding nor a slow disk delays the program. The caller builds a state (struct
// recording, with its own memory) and hands it over; the caller's thread finishes the file. A
// failed write is reported once and retried with the next state: recording continues. On a full
// disk, totals can still be written (trace_writer_narrow); quality.detail_ends_ns says since when.
// One thread, the caller's.

struct keeper;

/** Keeps `events_budget` bytes of single events; 0: none. */
struct keeper *keeper_create(struct output *output, uint64_t events_budget, struct err *err);
void keeper_destroy(struct keeper *k);

/** True: the last state was written, another may be handed over. */
bool keeper_is_ready(const struct keeper *k);

void keeper_wait(struct keeper *k);

/** Wall and CPU time of the last checkpoint, from hand-over to written. Only when ready. */
struct keeper_cost {
	uint64_t wall_ns, cpu_ns;
};
struct keeper_cost keeper_cost(const struct keeper *k);

/** An empty recording for the next state, in the last one's memory; the caller's until given. */
struct recording *keeper_take(struct keeper *k);

/** Write this state, from keeper_take. Only when the keeper is ready. */
void keeper_give(struct keeper *k, struct recording *r);

/** Append events. False: failed, now or before; give no more. */
bool keeper_events(struct keeper *k, const struct trace_event *events, size_t n, struct err *err);

/** The first failure since the last call, for the user, once. False: none. */
bool keeper_failure(struct keeper *k, struct err *err);

/**
 * Wait for the write in progress, then finish the file with the last state: compactly in the
 * growing file's place or, failing that, as a last checkpoint; on a full disk `r` loses the detail
 * that does not fit. False: nothing worked.
 */
bool keeper_finish(struct keeper *k, struct recording *r, struct err *err);
