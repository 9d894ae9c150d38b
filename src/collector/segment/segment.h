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

#include "sys/pages.h"
#include "sys/sys.h"
#include "trace/recording.h"
#include "wire/event.h"
#include "wire/runtime.h"

struct segment_params {
	uint32_t n_slots;         // 0: WIRE_MAX_SLOTS. These four are halved until all fits
	uint64_t slot_bytes;      // 0: 32 MiB; a multiple of WIRE_PAGE_MOST, > SLOT_PRIVATE_AT
	uint32_t node_capacity;   // 0: WIRE_MAX_NODES, 512 MiB
	uint32_t module_capacity; // 0: WIRE_MODULE_MAX + 1, as many as ids can name
	uint32_t page_bytes;      // 0: the machine's; larger ones work as well
	uint32_t options;         // SEGMENT_FREE_STACKS ...
	uint64_t start_ns;        // CLOCK_MONOTONIC: zero of all times
	bool has_stamps;          // clock_has_stamps()
	bool has_memory;          // `memory_fd` is an empty memfd to use; else one is made
	int memory_fd;

	// For a cell of a tree
	struct wire_common *common;    // shared by all. NULL: not a cell, has one of its own
	const struct segment *first;   // the first cell, whose token it uses. NULL: it is the first
	uint32_t process, first_owner; // as in segment_header
};

struct segment {
	struct segment_header *header;
	struct wire_common *common; // the header's own, or (in a cell) the shared one
	struct wire_mark *marks;
	struct wire_module *modules;
	struct wire_node *nodes;
	uint8_t *slots;
	uint32_t n_layouts; // in force
	bool has_runtimes;  // else the address space is too small for them
	struct wire_layout *layouts;
	struct wire_unit *units;
	const uint8_t *excerpts;
	uint32_t n_slots, node_capacity, module_capacity;
	uint32_t page_bytes;
	uint32_t process, first_owner; // as in segment_header
	uint64_t slot_bytes, slots_at;
	uint64_t start_ns;
	char token[2 * sizeof((struct segment_header *)0)->token + 1]; // in hexadecimal
	struct shared_memory memory; // memory.fd is what the target maps
	uint64_t last_tick_ns;
	bool is_held;
	bool is_lived_in; // at the end, when threads may be inside slots: none is reused
};

/** An open, empty segment. False: `err` says why, nothing is left behind. */
bool segment_init(struct segment *s, const struct segment_params *params, struct err *err);
void segment_finish(struct segment *s);

/**
 * Tie the segment to the calling thread: when it dies, header.owner tells the target. Call it once,
 * from the first thread of the process that stays.
 */
bool segment_hold(struct segment *s, struct err *err);

enum { SEGMENT_ENV_BYTES = 128 };

/**
 * Set the pid of the program to record, as its getpid() returns it, and write its environment entry
 * "HEAPTRACK_SEGMENT=..." (0: each process of the tree asks for a cell). `collector_pid`: as the
 * program sees it in /proc.
 */
void segment_address(struct segment *s, uint32_t program_pid, uint32_t collector_pid,
		char out[SEGMENT_ENV_BYTES]);

/** Publish the time; `now_ns` is CLOCK_MONOTONIC. Cheap: writes at most every 50 us. */
void segment_tick(struct segment *s, uint64_t now_ns);

/** Stop the ticks and let the target ring. Look at all rings between this and the wait. */
void segment_arm(struct segment *s);

/** Sleep until the bell rings, a signal comes, or the timeout. Disarms the bell. */
void segment_wait(struct segment *s, uint64_t timeout_ns);

/** Tell the target that nobody reads any more. */
void segment_close(struct segment *s);

/** SEGMENT_CLOSED: the target closed the recording; SEGMENT_ENDING: it waits for a look. */
static inline uint32_t segment_state(const struct segment *s) {
	return atomic_load(&s->header->state);
}

/** The target, waiting in that state, may go on. False: it already did. */
bool segment_let_go_on(struct segment *s, uint32_t waiting);

/** Put a runtime's layout in force, if there is room. */
void segment_add_layout(struct segment *s, const struct wire_layout *layout);

/** A copy of a unit. False: it is not whole. */
bool segment_unit(const struct segment *s, uint32_t id, struct wire_unit *out);

static inline struct thread_slot *segment_slot(const struct segment *s, uint32_t index) {
	return (struct thread_slot *)(void *)(s->slots + (uint64_t)index * s->slot_bytes);
}

/** Clear a slot whose thread is gone (or close it, if is_lived_in), offer it, free its pages. */
void segment_free_slot(struct segment *s, uint32_t index);

// ---- the target's stacks and modules, copied from the segment and checked
//
// They have the form that struct recording requires: dense ids, parents before children, one
// location for all nodes with the same program counter. Nodes are copied, with their callers, when
// an event first names them; others are never looked at. Module ids are the target's. One thread.

struct tries {
	// For readers. Valid until the next call of a function below; entries are only added
	struct rec_node *nodes;         // 0: the empty stack
	struct rec_location *locations; // 0: none. The caller fills in n_frames and first_frame
	uint32_t n_nodes, n_locations;
	uint32_t n_modules; // ids 1 .. n_modules may be queried

	uint64_t bad_nodes; // impossible ids from the target: their stacks end there

	// private
	const struct segment *segment;
	uint32_t module_capacity; // above all ids
	uint64_t own_at, own_bytes;
	uint32_t *dense;  // by the target's id
	uint32_t n_dense; // ids from here on were never asked for
	size_t node_room, location_room, where_room;
	uint64_t *wheres;             // by location id; 0: retired
	struct index by_where;        // ids of locations, retired ones included
	struct wire_module **modules; // by id; NULL: not whole yet
	uint32_t first_unseen;        // all modules below were announced
	VEC(uint32_t) path;

	// For a segment of a tree: nodes and modules are those of `whole`, and only there
	struct tries *whole;
	uint32_t command; // of the nodes to come
	uint32_t last;    // node that this process met
	uint32_t *shared; // by module id: its id in `whole`; 0: not met
	uint32_t (*share_unit)(void *user, uint32_t unit);                       // the same for units
	void (*meet)(void *user, uint32_t id, const struct wire_module *module); // NULL: none is asked
	void *user;

	// Of `whole`
	struct index by_child, by_module;
	VEC(uint32_t) commands;  // by node
	VEC(uint32_t) followers; // by node: which a process met after it, as of the last one; 0: none
};

/** `segment` must outlive it. */
void tries_init(struct tries *t, const struct segment *segment);
void tries_finish(struct tries *t);

/** From now on, remove frames of code in this range without a module: not the program's. */
void tries_pass_by(struct tries *t, uint64_t at, uint64_t bytes);

/**
 * From now on, stacks become nodes of `whole`: equal stacks of a command are one, wherever a
 * process has its modules. Poll those, calling tries_share for each announced one, before a node
 * names them. `whole` is of the first segment, and is not asked itself.
 */
void tries_join(struct tries *t, struct tries *whole,
		uint32_t (*share_unit)(void *user, uint32_t unit), void *user);

/** The id in t->whole of a module that is met: an equal one's, or a new copy's. 0: no room. */
uint32_t tries_share(struct tries *t, uint32_t id, const struct wire_module *module);

/** The slow path of tries_node. */
uint32_t tries_copy(struct tries *t, uint32_t id);

/** A new node, of no event, at the location of `where`. */
uint32_t tries_add(struct tries *t, uint32_t parent, uint64_t where);

/**
 * The dense id of the target's node, copied now if new. What cannot be right becomes the empty
 * stack, or ends in it, and is counted.
 */
static inline uint32_t tries_node(struct tries *t, uint32_t id) {
	return id < t->segment->node_capacity && (t->dense[id] || id == 0) ? t->dense[id]
																	   : tries_copy(t, id);
}

/** Prefetch for a later tries_node. Inline, or gcc drops it. */
static ATTR_INLINE void tries_fetch(const struct tries *t, uint32_t id) {
	if (id < t->segment->node_capacity) {
		__builtin_prefetch(&t->dense[id]);
	}
}

/**
 * Announce each module that became whole since the last call, once: `module` is our copy with
 * terminated path and sane lengths, valid until tries_finish. Nearly free if there is none: call it
 * often, so that files are opened while they exist.
 */
void tries_poll_modules(struct tries *t,
		void (*announce)(void *user, uint32_t id, const struct wire_module *module), void *user);

/** The copy of an announced module, or NULL. */
const struct wire_module *tries_module(const struct tries *t, uint32_t id);

/**
 * From now on there is other code at these locations: existing nodes stay, and the next event with
 * such an address gets a new location, and new nodes from there on.
 */
void tries_retire(struct tries *t, const uint32_t *locations, size_t n);
