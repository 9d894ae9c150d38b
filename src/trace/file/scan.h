// SPDX-License-Identifier: MIT
#pragma once
/** Lists the frames of a file, without unpacking any. */

#include "trace/tables/tables.h"
#include "trace/trace.h"

// ---- the byte layouts of the frames of a file
//
// docs/trace-format.md, "A row of frames". Everything is little endian; encoders write into memory
// of the size named, decoders change nothing when they fail.

enum {
	FRAME_HEAD = 0x184D2A50,
	FRAME_BLOCK = 0x184D2A51,
	FRAME_SLOT = 0x184D2A52,
	FRAME_PADDING = 0x184D2A53,
};

enum {
	FRAME_TAG_BYTES = 8,    // magic and size, before every payload
	FRAME_ALIGN = 8,        // so that a tag lies within one aligned 8
	FRAME_PAGE = 4096,      // the growing file is a multiple of it
	FRAME_HEAD_BYTES = 56,  // payloads
	FRAME_BLOCK_BYTES = 48, // of slots as well
	FRAME_NOTE_BYTES = 88,  // the whole note: tag, payload, zstd frame
	FRAME_START_BYTES = FRAME_TAG_BYTES + FRAME_HEAD_BYTES + FRAME_NOTE_BYTES,
};

enum {
	TRACE_VERSION = 1,        // that we write
	TRACE_READER_VERSION = 1, // that a reader of it must know, and the newest that we know
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

/** Of a block or, with type 0, of a slot; what the other does not have is zero. */
struct frame_block {
	uint32_t crc;
	uint8_t type; // enum block_type, or one that we do not know
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

/** Zeros between a block's frame and its zstd frame, so that what follows is aligned. */
static inline uint64_t frame_block_gap(uint64_t stored_bytes) {
	return -stored_bytes % FRAME_ALIGN;
}

/** All that a block takes: tag, payload, gap, zstd frame. */
static inline uint64_t frame_block_span(uint64_t stored_bytes) {
	return FRAME_TAG_BYTES + FRAME_BLOCK_BYTES + frame_block_gap(stored_bytes) + stored_bytes;
}

void frame_put_tag(uint8_t out[FRAME_TAG_BYTES], uint32_t magic, uint32_t size);
void frame_put_head(uint8_t out[FRAME_HEAD_BYTES], const struct frame_head *head);
void frame_put_block(uint8_t out[FRAME_BLOCK_BYTES], const struct frame_block *block);

/** What every file begins with: the head and, for other programs, a note. */
void frame_put_start(uint8_t out[FRAME_START_BYTES], uint64_t finished_bytes);

// ---- zstd frames, one at a time, with content size and checksum

enum {
	PACK_FAST = 1,    // while recording
	PACK_COMPACT = 3, // the finished file
};

/** Replace `out`'s bytes with one zstd frame that unpacks to `raw`. */
void pack(struct buffer *out, struct slice raw, int level);

/** Unpack exactly `n` bytes to `out`. */
bool unpack(uint8_t *out, size_t n, struct slice stored, struct err *err);

// ---- lists the frames of a file, without unpacking any

struct scan_block {
	struct frame_block header; // as it was when scanned
	uint64_t at;               // of its frame: for messages
	uint64_t stored_at;        // of its zstd frame
};

struct scan_blocks {
	VEC(struct scan_block);
};

struct scan {
	struct frame_head head;
	union {
		struct scan_blocks lists[BLOCK_STATE + 1]; // by type, as they stand in the file
		struct {
			struct scan_blocks slots, log, infos, events, states; // slots: whole ones
		};
	};
	uint64_t end;           // of the last whole frame
	bool is_torn;           // something follows
	uint64_t damaged_bytes; // before it: no frames
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
 * Read a block or slot and unpack it to `raw`; its lengths come from the file and are checked
 * before memory is taken.
 */
bool scan_unpack(struct buffer *raw, const struct trace_source *src, const struct scan_block *b,
		uint64_t max_bytes, struct err *err);

/** The same, in memory that large tables take again when it is done with. */
bool scan_unpack_in(struct arena *memory, struct slice *raw, const struct trace_source *src,
		const struct scan_block *b, uint64_t max_bytes, struct err *err);

// ---- places of blocks in a growing file, so that every single write leaves it valid
//
// docs/trace-format.md, "How a growing file changes". Everything stands in what was a padding
// frame: at the end of the file there is always one, the tail, and dropped blocks leave others, the
// holes. A finished file has neither: each block is put at its end.

struct place {
	uint64_t at, bytes; // of a whole frame, or of a whole block
};

struct space {
	struct trace_sink sink;
	uint64_t end; // of the file
	struct place tail;
	VEC(struct place) holes;
	bool is_finished; // set with `sink`, and where the tail begins, instead of space_init
};

/** Write the first page: head, note and tail. */
bool space_init(struct space *s, struct trace_sink sink, struct err *err);

/**
 * Put a block there. `in_hole`: it may take the place of what was dropped; else it goes to the
 * tail, behind all that was put there before.
 */
bool space_put_block(struct space *s, const struct frame_block *block, struct slice stored,
		bool in_hole, struct place *out, struct err *err);

/**
 * Make `n` empty slots, each with room for `capacity` bytes behind its header; `at` gets their
 * places.
 */
bool space_put_slots(struct space *s, size_t n, uint64_t capacity, struct place *at,
		struct err *err);

/** Write a checkpoint into a slot: the old one there is void as soon as this begins. */
bool space_write_slot(struct space *s, struct place slot, const struct frame_block *header,
		struct slice stored, struct err *err);

/** A block or slot that is no longer used becomes a hole. */
bool space_drop(struct space *s, struct place p, struct err *err);

// ---- a state that fits a file which may not grow any more: totals stay exact, detail goes

enum narrow_level {
	NARROW_TO_LOG,    // stacks end at the deepest caller that the log has
	NARROW_TO_STACKS, // and the time axis, sizes and threads' exchanges go
	NARROW_TO_TOTALS, // and all stacks become one
	N_NARROW_LEVELS,
};

/** Make `r` so, in place. `log`: what the log has; at least a row of each. Levels rise. */
void narrow(struct recording *r, const struct counts_row *log, enum narrow_level level);
