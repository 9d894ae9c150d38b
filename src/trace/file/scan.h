// SPDX-License-Identifier: MIT
#pragma once
/** The frames of a file: their layouts, how they are listed, packed and placed. */

#include "trace/tables/tables.h"
#include "trace/trace.h"

// ---- the byte layouts of frames
//
// docs/trace-format.md, "A row of frames". Everything is little endian; encoders write exactly the
// size named, decoders change nothing on failure.

enum {
	FRAME_HEAD = 0x184D2A50,
	FRAME_BLOCK = 0x184D2A51,
	FRAME_SLOT = 0x184D2A52,
	FRAME_PADDING = 0x184D2A53,
};

enum {
	FRAME_TAG_BYTES = 8,    // magic and size, before every payload
	FRAME_ALIGN = 8,        // so that a tag never crosses 8 aligned bytes
	FRAME_PAGE = 4096,      // the growing file is a multiple of this
	FRAME_HEAD_BYTES = 56,  // payloads
	FRAME_BLOCK_BYTES = 48, // also of slots
	FRAME_NOTE_BYTES = 88,  // the whole note: tag, payload, zstd frame
	FRAME_START_BYTES = FRAME_TAG_BYTES + FRAME_HEAD_BYTES + FRAME_NOTE_BYTES,
};

enum {
	TRACE_VERSION = 1,        // written
	TRACE_READER_VERSION = 1, // required of its readers, and the newest known
};

enum block_type {
	BLOCK_LOG = 1,
	BLOCK_INFOS = 2,
	BLOCK_EVENTS = 3,
	BLOCK_STATE = 4,
	BLOCK_NOTE = 5, // text for other programs
};

// Payloads. Encoders fill in magic and crc; unnamed bytes are zero

struct frame_head {
	uint8_t magic[8];
	uint16_t version;
	uint16_t reader;
	uint32_t crc;
	uint64_t finished_bytes; // 0: growing
	uint8_t zero[32];
};

/** Of a block or, with type 0, of a slot; fields of the other are zero. */
struct frame_block {
	uint32_t crc;
	uint8_t type; // enum block_type, or a later one
	uint8_t zero[3];
	uint64_t sequence; // 0: an empty slot
	uint64_t stored_bytes;
	uint64_t raw_bytes;
	union {
		uint64_t first; // event of the block
		uint64_t n_log_blocks;
	};
	uint64_t n; // events
};

_Static_assert(FRAME_TAG_BYTES + FRAME_HEAD_BYTES == 64, "layout");
_Static_assert((FRAME_TAG_BYTES + FRAME_BLOCK_BYTES) % FRAME_ALIGN == 0, "layout");

/** Zeros between a block's frame and its zstd frame, which align what follows. */
static inline uint64_t frame_block_gap(uint64_t stored_bytes) {
	return -stored_bytes % FRAME_ALIGN;
}

/** The size of a block: tag, payload, gap, zstd frame. */
static inline uint64_t frame_block_span(uint64_t stored_bytes) {
	return FRAME_TAG_BYTES + FRAME_BLOCK_BYTES + frame_block_gap(stored_bytes) + stored_bytes;
}

void frame_put_tag(uint8_t out[FRAME_TAG_BYTES], uint32_t magic, uint32_t size);
void frame_put_head(uint8_t out[FRAME_HEAD_BYTES], const struct frame_head *head);
void frame_put_block(uint8_t out[FRAME_BLOCK_BYTES], const struct frame_block *block);

/** The beginning of every file: the head and a note for other programs. */
void frame_put_start(uint8_t out[FRAME_START_BYTES], uint64_t finished_bytes);

// ---- single zstd frames, with content size and checksum

enum {
	PACK_FAST = 1,    // while recording
	PACK_COMPACT = 3, // the finished file
};

/** Replace `out` by one zstd frame that unpacks to `raw`. */
void pack(struct buffer *out, struct slice raw, int level);

/** Unpack exactly `n` bytes to `out`. */
bool unpack(uint8_t *out, size_t n, struct slice stored, struct err *err);

// ---- listing frames, without unpacking any

struct scan_block {
	struct frame_block header; // at the time of the scan
	uint64_t at;               // its frame's position, for messages
	uint64_t stored_at;        // its zstd frame's position
};

struct scan_blocks {
	VEC(struct scan_block);
};

struct scan {
	struct frame_head head;
	union {
		struct scan_blocks lists[BLOCK_STATE + 1]; // by type, in the order of the file
		struct {
			struct scan_blocks slots, log, infos, events, states; // slots: only whole ones
		};
	};
	uint64_t end;           // of the last whole frame
	bool is_torn;           // something follows it
	uint64_t damaged_bytes; // before `end`, not in frames
};

/** False: not our file, too new, unreadable, or its blocks need more than `max_bytes` to list. */
bool scan_file(struct scan *out, const struct trace_source *src, uint64_t max_bytes,
		struct err *err);
void scan_finish(struct scan *s);

/** Sort blocks by sequence number. */
void scan_sort(struct scan_blocks *blocks);

/** Read exactly `n` bytes; false: beyond the end. */
bool scan_read(const struct trace_source *src, uint64_t at, uint8_t *out, size_t n,
		struct err *err);

/**
 * Read and unpack a block or slot. Checks its lengths, which come from the file, before allocating.
 */
bool scan_unpack(struct buffer *raw, const struct trace_source *src, const struct scan_block *b,
		uint64_t max_bytes, struct err *err);

/** The same into memory that is reused for large tables afterwards. */
bool scan_unpack_in(struct arena *memory, struct slice *raw, const struct trace_source *src,
		const struct scan_block *b, uint64_t max_bytes, struct err *err);

// ---- placing blocks in a growing file, valid after every single write
//
// docs/trace-format.md, "How a growing file changes". Everything is written into a padding frame:
// the file always ends with one, the tail, and dropped blocks leave others, the holes. A finished
// file has neither: blocks are appended.

struct place {
	uint64_t at, bytes; // of a whole frame or block
};

struct space {
	struct trace_sink sink;
	uint64_t end; // of the file
	struct place tail;
	VEC(struct place) holes;
	bool is_finished; // set with `sink` and tail.at, instead of space_init
};

/** Write the first page: head, note and tail. */
bool space_init(struct space *s, struct trace_sink sink, struct err *err);

/** Write a block. `in_hole`: it may use space of dropped ones; else it follows all earlier ones. */
bool space_put_block(struct space *s, const struct frame_block *block, struct slice stored,
		bool in_hole, struct place *out, struct err *err);

/** Make `n` empty slots with room for `capacity` bytes after the header; returns their places. */
bool space_put_slots(struct space *s, size_t n, uint64_t capacity, struct place *at,
		struct err *err);

/** Write a checkpoint into a slot, whose old one becomes invalid at once. */
bool space_write_slot(struct space *s, struct place slot, const struct frame_block *header,
		struct slice stored, struct err *err);

/** Turn an unused block or slot into a hole. */
bool space_drop(struct space *s, struct place p, struct err *err);

// ---- a state for a file that may not grow any more: exact totals, less detail

enum narrow_level {
	NARROW_TO_LOG,    // stacks end at their deepest caller in the log
	NARROW_TO_STACKS, // also without the time axis, sizes and handovers
	NARROW_TO_TOTALS, // also with all stacks as one
	N_NARROW_LEVELS,
};

/** Reduce `r` in place; levels rise. `log`: what is in the log, at least a row of each. */
void narrow(struct recording *r, const struct counts_row *log, enum narrow_level level);
