// SPDX-License-Identifier: MIT
#pragma once

/**
 * The recorder's mapping of the shared segment: found through the environment, mapped once per
 * image, kept until the process ends (docs/wire.md). Raw system calls only.
 */

#include "wire/event.h"

#include <stdbool.h>

/** What is mapped. Set by segment_open; the n_* change afterwards, downwards, and has_no_clock. */
struct segment {
	struct segment_header *header;
	struct wire_common *common; // the header's own
	struct wire_mark *marks;
	struct wire_module *modules;
	struct wire_node *nodes;
	unsigned char *slots;
	uint64_t slot_bytes;
	uint32_t n_slots; // mapped
	uint32_t n_nodes; // mapped
	uint32_t page_bytes;
	uint32_t options;
	uint32_t image; // this program's id among those that ran in this process
	// The program may not read the time stamp counter: neither may we, nor the vdso for us
	_Atomic bool has_no_clock;
};

extern struct segment segment;

enum segment_role {
	SEGMENT_ROLE_NONE,    // nobody records us
	SEGMENT_ROLE_PROGRAM, // `segment` is ready
	SEGMENT_ROLE_CHILD,   // a child of what is recorded: it has been counted, nothing is mapped
};

/** Find and map the segment. `environment` as in environ, or NULL. Once, by one thread. */
enum segment_role segment_open(char **environment);

/** Map the segment behind a descriptor that somebody who knows put there, and close that. Once. */
enum segment_role segment_adopt(int fd);

static inline struct thread_slot *segment_slot(uint32_t i) {
	return (struct thread_slot *)(segment.slots + (uint64_t)i * segment.slot_bytes);
}

static inline uint32_t segment_index(const struct thread_slot *slot) {
	return (uint32_t)((uint64_t)((const unsigned char *)slot - segment.slots) / segment.slot_bytes);
}

/**
 * The private part of a slot: two pages for the thread's state and its first, small capture
 * (thread.h), then the captures of its handlers, then the large one. That has all the rest, but only
 * its first part may be touched: what is open is filled with memory by mlockall.
 */
enum {
	SEGMENT_HANDLER_BYTES = 64 << 10,
	SEGMENT_HANDLERS_AT = SLOT_PRIVATE_AT + 2 * WIRE_PAGE_LEAST,
	SEGMENT_CAPTURES_AT = SEGMENT_HANDLERS_AT + 2 * SEGMENT_HANDLER_BYTES,
	SEGMENT_OPEN_BYTES = SEGMENT_CAPTURES_AT + (160 << 10), // of a slot, from its start
};

/** How many slots may be touched: they are opened up in steps. */
uint32_t segment_open_slots(void);

/** Open the next slot, if there is one. */
bool segment_open_more_slots(void);

/** Open the first `bytes` of a slot. False: the system refuses. */
bool segment_open_slot(struct thread_slot *slot, uint64_t bytes);

/**
 * The program limits its address space to `limit_bytes`: give back what we reserved and do not use,
 * but for an eighth of that.
 */
void segment_give_back(uint64_t limit_bytes);

/** The program may not, or is about to forbid itself to, read the time stamp counter: count from now on. */
void segment_count_stamps(void);

/** The program is about to call prctl: does it forbid itself that? */
void segment_note_prctl(int option, uint64_t value);

/**
 * Close the nodes that are not in use (and reopen them), so that mlockall between the two does not
 * fill them with memory.
 */
void segment_close_unused(bool closes);
