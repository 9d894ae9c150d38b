// SPDX-License-Identifier: MIT
#pragma once
/** Lists the frames of a file, without unpacking any. */

#include "trace/file/frame.h"
#include "trace/trace.h"

struct scan_block {
	struct frame_block header;
	uint64_t at;        // of its frame: for messages
	uint64_t stored_at; // of its zstd frame
};

struct scan_slot {
	struct frame_slot header; // as it was when scanned
	uint64_t at;
	uint64_t stored_at;
};

struct scan_blocks {
	VEC(struct scan_block);
};

struct scan {
	struct frame_head head;
	struct scan_blocks log, infos, events, states; // as they stand in the file
	VEC(struct scan_slot) slots;                   // whole ones
	uint64_t end;                                  // of the last whole frame
	bool is_torn;                                  // something follows
	uint64_t damaged_bytes;                        // before it: no frames
};

/**
 * False: not our file, newer than we know, unreadable, or its list of blocks takes more than
 * `max_bytes`. A torn end is no failure.
 */
bool scan_file(struct scan *out, const struct trace_source *src, uint64_t max_bytes,
		struct err *err);
void scan_finish(struct scan *s);

/** Put blocks into the order of their sequence numbers. */
void scan_sort(struct scan_blocks *blocks);

/** Read exactly `n` bytes, or say where the file ends. */
bool scan_read(const struct trace_source *src, uint64_t at, uint8_t *out, size_t n,
		struct err *err);

/**
 * Read `stored` bytes at `at` and unpack them to `raw_bytes` in `raw`; both lengths come from the
 * file and are checked before memory is taken.
 */
bool scan_unpack(struct buffer *raw, const struct trace_source *src, uint64_t at,
		uint64_t stored_bytes, uint64_t raw_bytes, uint64_t max_bytes, struct err *err);

/** The same, in memory that large tables take again when it is done with. */
bool scan_unpack_in(struct arena *memory, struct slice *raw, const struct trace_source *src,
		uint64_t at, uint64_t stored_bytes, uint64_t raw_bytes, uint64_t max_bytes,
		struct err *err);
