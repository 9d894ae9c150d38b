// SPDX-License-Identifier: MIT
#pragma once
/**
 * The tables of a recording as they lie in a file: docs/trace-format.md.
 */

#include "trace/recording.h"
#include "trace/tables/table.h"

/** Tables of their own kinds; the numbers of all others are in registry.def alone. */
enum {
	TABLE_STRINGS = 1, // log.c
	TABLE_EVENTS = 50, // events/encode.c
};

enum strings_column { STRINGS_LENGTH = 1, STRINGS_BYTES = 2 };

/** A location that was given its frames. */
struct name_row {
	uint32_t location, first_frame;
	uint16_t n_frames;
};

/** How many rows of each log table belong to a state. */
struct counts_row {
	uint32_t strings, locations, frames, nodes;
};

/** What allocations of an event block are made of. */
struct info_row {
	uint32_t node, size;
};

/** The state of the event stream before a block. */
struct start_row {
	uint64_t allocations, time_ns;
};

extern const struct table table_locations, table_frames, table_nodes, table_names; // log
/** In intervals.c: the largest table of all has a decoder of its own. */
bool intervals_decode(const struct table_raw *raw, const struct table *t, void *user,
		struct err *err);
extern const struct table table_counts;
extern const struct table table_infos, table_start; // events

/** A table of the state and where it lies in struct recording. */
struct state_table {
	struct table table;
	size_t offset;  // of the struct (is_single) or of the REC_TABLE
	bool is_single; // exactly one row, in place
};
extern const struct state_table state_tables[];
extern const size_t n_state_tables;
