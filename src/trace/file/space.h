// SPDX-License-Identifier: MIT
#pragma once
/**
 * Places blocks in a growing file, so that every single write leaves it valid.
 *
 * docs/trace-format.md, "How a growing file changes". Everything stands in what was a padding
 * frame: at the end of the file there is always one, the tail, and dropped blocks leave others, the
 * holes.
 */

#include "trace/file/frame.h"
#include "trace/trace.h"

struct place {
	uint64_t at, bytes; // of a whole frame, or of a whole block
};

struct space {
	struct trace_sink sink;
	uint64_t end; // of the file
	struct place tail;
	VEC(struct place) holes;
};

/** Write the first page: head, note and tail. */
bool space_init(struct space *s, struct trace_sink sink, struct err *err);
void space_finish(struct space *s);

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
bool space_write_slot(struct space *s, struct place slot, const struct frame_slot *header,
		struct slice stored, struct err *err);

/** A block or slot that is no longer used becomes a hole. */
bool space_drop(struct space *s, struct place p, struct err *err);
