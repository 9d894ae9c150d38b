// SPDX-License-Identifier: MIT
#pragma once
/**
 * The collector's side of the shared segment (wire/segment.h).
 *
 * Create it, publish the time, sleep until the target rings, release slots. One thread.
 *
 * A main loop uses it like this:
 *
 *   segment_tick(s, now)              as long as events come: the target reads its time here
 *   segment_arm(s)                    nothing came: from now on the target rings the bell
 *   ... look at the rings once more, they may have filled meanwhile ...
 *   segment_wait(s, timeout)          sleep; always with a timeout: a bell can be missed
 *
 * The copies of the layout in struct segment are ours: those in the header are the target's memory
 * and are never read back.
 */

#include "sys/shared_memory.h"
#include "wire/event.h"

struct segment_params {
	uint32_t n_slots;         // 0: WIRE_MAX_SLOTS. These four are halved until all fits
	uint64_t slot_bytes;      // 0: 32 MiB; a multiple of WIRE_PAGE_MOST, > SLOT_PRIVATE_AT
	uint32_t node_capacity;   // 0: WIRE_MAX_NODES, 512 MiB
	uint32_t module_capacity; // 0: WIRE_MODULE_MAX + 1, as many as an id can say
	uint32_t page_bytes;      // 0: the machine's; larger ones do as well
	uint32_t options;         // SEGMENT_FREE_STACKS ...
	uint64_t start_ns;        // CLOCK_MONOTONIC: zero of all times
	bool has_stamps;          // clock_has_stamps()
	bool has_memory;          // `memory_fd` is an empty memfd to be used, else one is made
	int memory_fd;
};

struct segment {
	struct segment_header *header;
	struct wire_common *common; // the header's own
	struct wire_mark *marks;
	struct wire_module *modules;
	struct wire_node *nodes;
	uint8_t *slots;
	uint32_t n_slots, node_capacity, module_capacity;
	uint32_t page_bytes;
	uint64_t slot_bytes, slots_at;
	uint64_t start_ns;
	char token[2 * sizeof((struct segment_header *)0)->token + 1]; // in hexadecimal
	struct shared_memory memory; // memory.fd is what the target maps
	uint64_t last_tick_ns;
	bool is_held;
	bool is_lived_in; // the recording ends before the program: its threads may be inside slots
};

/** An open, empty segment. False: `err` says why, nothing is left behind. */
bool segment_init(struct segment *s, const struct segment_params *params, struct err *err);
void segment_finish(struct segment *s);

/**
 * Tie the segment to the calling thread: when it dies, header.owner says so to the target. Call
 * it from the process's first thread, once, in the process that stays.
 */
bool segment_hold(struct segment *s, struct err *err);

/** Room for the text below. */
enum { SEGMENT_ENV_BYTES = 128 };

/**
 * Name the program that will be recorded, as its own getpid() will, and write the environment entry
 * "HEAPTRACK_SEGMENT=..." for it. `collector_pid` as the program will find it in /proc.
 */
void segment_address(struct segment *s, uint32_t program_pid, uint32_t collector_pid,
		char out[SEGMENT_ENV_BYTES]);

/** Publish the time; `now_ns` is CLOCK_MONOTONIC. Cheap: writes at most every 50 us. */
void segment_tick(struct segment *s, uint64_t now_ns);

/** Stop the ticks and let the target ring. Look at all rings after this and before the wait. */
void segment_arm(struct segment *s);

/** Sleep until the bell rings, a signal comes, or the timeout. Silences the bell again. */
void segment_wait(struct segment *s, uint64_t timeout_ns);

/** Tell the target that nobody reads any more. */
void segment_close(struct segment *s);

/** True if the target closed the recording itself. */
bool segment_is_closed(const struct segment *s);

/** True if the target waits at its end to be looked at. */
bool segment_is_ending(const struct segment *s);

static inline struct thread_slot *segment_slot(const struct segment *s, uint32_t index) {
	return (struct thread_slot *)(void *)(s->slots + (uint64_t)index * s->slot_bytes);
}

/**
 * Clear a slot whose thread is gone (or close it, if is_lived_in) and offer it to others; its pages
 * go back to the system.
 */
void segment_free_slot(struct segment *s, uint32_t index);
