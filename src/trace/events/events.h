// SPDX-License-Identifier: MIT
#pragma once
/**
 * Single events as columns: docs/trace-format.md, "Events". The encoder pairs frees with their
 * allocations, so that no address is kept; the decoder gets by without any memory of the past.
 */

#include "trace/tables/tables.h"
#include "trace/trace.h"

enum {
	EVENTS_PER_BLOCK = 64 << 10,
	EVENTS_BATCH = 1024, // handed out at once
	MAX_INFOS = 1 << 20,
	MAX_HINTS = 16 << 20,
	OVER = 8, // bit of a stored kind: an alloc or move onto an address that was alive
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
	EVENTS_INFO_STEP, // in the place of EVENTS_INFO
	EVENTS_AGE_STEP,  // in the place of EVENTS_AGE
	N_EVENTS_COLUMNS = EVENTS_AGE_STEP,
};

/** The last info and age of a block; at its begin both are 0. */
struct events_last {
	uint64_t info, age;
};

/** The info that a node used last: most often the one that it needs next. */
struct info_hint {
	uint32_t size, info; // info: id + 1
};

struct events_encoder {
	struct map blocks;              // address -> number of the block that lives there
	struct map infos;               // node << 32 | size -> id + 1
	VEC(struct info_hint) hints;    // by node
	struct trace_pendings pending;  // value: the block's number
	VEC(struct info_row) new_infos; // not in the file yet
	uint64_t n_infos_written;
	uint64_t allocations, time_ns; // now

	// The block in the making
	struct start_row start;
	uint32_t n;
	uint32_t run, run_thread;
	bool has_free_nodes;
	struct events_last last;
	struct buffer columns[N_EVENTS_COLUMNS + 1]; // by enum events_column, with room for a block
};

/** Add one event to the block in the making. */
void events_add(struct events_encoder *e, const struct trace_event *event);

/** The payload of the block in the making, and of infos that it needs first (empty: none). */
void events_encode(struct events_encoder *e, struct buffer *out);
void infos_encode(const struct events_encoder *e, struct buffer *out);

/** What was encoded is in the file, or given up: begin a new block. */
void events_next_block(struct events_encoder *e);

void events_finish(struct events_encoder *e);

/** The table of infos that a file has, as far as read. */
struct info_table {
	VEC(struct info_row);
};

bool infos_decode(struct info_table *infos, struct slice payload, struct err *err);

/**
 * Hand all events of a block to `each`. `*is_stopped`: it returned false (then true is returned).
 */
bool events_decode(struct slice payload, const struct info_table *infos, trace_each_events *each,
		void *user, bool *is_stopped, struct err *err);
