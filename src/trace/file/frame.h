// SPDX-License-Identifier: MIT
#pragma once
/**
 * The byte layouts of the frames of a file.
 *
 * docs/trace-format.md, "A row of frames". Everything is little endian; encoders write into memory
 * of the size named, decoders change nothing when they fail.
 */

#include "base/base.h"

enum {
	FRAME_HEAD = 0x184D2A50,
	FRAME_BLOCK = 0x184D2A51,
	FRAME_SLOT = 0x184D2A52,
	FRAME_PADDING = 0x184D2A53,
};

/** True for the tags of all skippable frames, also those that are not ours. */
static inline bool frame_is_skippable(uint32_t magic) {
	return (magic & ~15u) == FRAME_HEAD;
}

enum {
	FRAME_TAG_BYTES = 8,   // magic and size, before every payload
	FRAME_ALIGN = 8,       // so that a tag lies within one aligned 8
	FRAME_PAGE = 4096,     // the growing file is a multiple of it
	FRAME_HEAD_BYTES = 56, // payloads
	FRAME_BLOCK_BYTES = 48,
	FRAME_SLOT_BYTES = 48,
	FRAME_NOTE_BYTES = 88, // the whole note: tag, payload, zstd frame
};

enum {
	TRACE_VERSION = 1,        // that we write
	TRACE_READER_VERSION = 1, // that a reader of it must know
	TRACE_READER_NEWEST = 2,  // that we know
	TRACE_READER_EVENTS = 1,  // whose events we know
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

struct frame_block {
	uint32_t crc;
	uint8_t type; // enum block_type, or one that we do not know
	uint8_t zero[3];
	uint64_t sequence;
	uint64_t stored_bytes;
	uint64_t raw_bytes;
	uint64_t first, n; // events
};

struct frame_slot {
	uint32_t crc, zero;
	uint64_t sequence; // 0: empty
	uint64_t stored_bytes;
	uint64_t raw_bytes;
	uint64_t n_log_blocks;
	uint64_t spare;
};

_Static_assert(FRAME_TAG_BYTES + FRAME_HEAD_BYTES == 64, "layout");
_Static_assert((FRAME_TAG_BYTES + FRAME_BLOCK_BYTES) % FRAME_ALIGN == 0, "layout");
_Static_assert((FRAME_TAG_BYTES + FRAME_SLOT_BYTES) % FRAME_ALIGN == 0, "layout");

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
void frame_put_slot(uint8_t out[FRAME_SLOT_BYTES], const struct frame_slot *slot);

/**
 * The first block of every file. KDE's heaptrack takes any .zst file for its own and reports zeros
 * of ours; the version that is no version makes it refuse the file in words.
 */
void frame_put_note(uint8_t out[FRAME_NOTE_BYTES]);

/** False: too short, or not ours at all. `is_whole`: the checksum agrees. */
bool frame_get_head(struct frame_head *out, bool *is_whole, struct slice payload);

/** False: too short, or the checksum does not agree. */
bool frame_get_block(struct frame_block *out, struct slice payload);
bool frame_get_slot(struct frame_slot *out, struct slice payload);
