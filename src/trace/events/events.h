// SPDX-License-Identifier: MIT
#pragma once
/**
 * Single events as columns: docs/trace-format.md, "Events". The encoder pairs frees with
 * allocations, so that no address is stored; the decoder needs no memory of the past.
 */

#include "trace/tables/tables.h"
#include "trace/trace.h"

enum {
	EVENTS_PER_BLOCK = 64 << 10,
	EVENTS_BATCH = 1024, // passed at once
	MAX_INFOS = 1 << 20,
	MAX_HINTS = 16 << 20,
	OVER = 8, // bit of a stored kind: an alloc or move to a live address
};

enum events_column {
	EVENTS_KIND = 1,
	EVENTS_INFO,
	EVENTS_AGE,
	EVENTS_TIME,
	EVENTS_RUN,
	EVENTS_NODE,
	EVENTS_SIZE,
	EVENTS_FREE_NODE,
	EVENTS_INFO_STEP, // instead of EVENTS_INFO
	EVENTS_AGE_STEP,  // instead of EVENTS_AGE
	N_EVENTS_COLUMNS = EVENTS_AGE_STEP,
};

/** The last info and age of a block, initially 0. */
struct events_last {
	uint64_t info, age;
};

/** The info that a node used last, which is most often the next, too. */
struct info_hint {
	uint32_t size, info; // info: id + 1
};

struct events_encoder {
	struct map blocks;              // address -> number of its live block
	struct map infos;               // node << 32 | size -> id + 1
	VEC(struct info_hint) hints;    // by node
	struct trace_pendings pending;  // value: the block's number
	VEC(struct info_row) new_infos; // not yet in the file
	uint64_t n_infos_written;
	uint64_t allocations, time_ns; // now

	// The block under construction
	struct start_row start;
	uint32_t n;
	uint32_t run, run_thread;
	bool has_free_nodes;
	struct events_last last;
	struct buffer columns[N_EVENTS_COLUMNS + 1]; // by enum events_column, with room for a block
};

void events_add(struct events_encoder *e, const struct trace_event *event);

/** The payload of the block under construction, and of infos that it needs first (empty: none). */
void events_encode(struct events_encoder *e, struct buffer *out);
void infos_encode(const struct events_encoder *e, struct buffer *out);

/** Start a new block; the last was written or given up. */
void events_next_block(struct events_encoder *e);

void events_finish(struct events_encoder *e);

/** A file's table of infos, as far as read. */
struct info_table {
	VEC(struct info_row);
};

bool infos_decode(struct info_table *infos, struct slice payload, struct err *err);

/** Pass all events of a block to `each`. *is_stopped: it returned false (returns true then). */
bool events_decode(struct slice payload, const struct info_table *infos, trace_each_events *each,
		void *user, bool *is_stopped, struct err *err);
