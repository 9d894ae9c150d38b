// SPDX-License-Identifier: MIT
#pragma once
/**
 * The stacks and modules that the target has announced, copied from the segment and checked.
 *
 * They have the form that struct recording requires: dense ids, parents before children, one
 * location for all nodes that share a program counter. One thread.
 *
 * Nodes are copied when an event names them first, with their callers; nodes that no event names
 * are never looked at. Module ids are the target's.
 */

#include "collector/segment/segment.h"
#include "trace/recording.h"

struct tries {
	// For readers. Valid until the next call of a function below; entries only ever come
	struct rec_node *nodes;         // 0: the empty stack
	struct rec_location *locations; // 0: none. n_frames and first_frame are the caller's to fill
	uint32_t n_nodes, n_locations;
	uint32_t n_modules; // ids 1 .. n_modules may be asked for

	uint64_t bad_nodes; // ids that the target cannot have meant: their stacks end there

	// private
	const struct segment *segment;
	uint64_t own_at, own_bytes;
	uint32_t *dense;  // by the target's id
	uint32_t n_dense; // ids from here on were never asked for
	uint32_t node_room, location_room;
	uint64_t *wheres;             // by location id; 0: retired
	struct index by_where;        // ids of locations, those of retired ones too
	struct wire_module **modules; // by id; NULL: not whole yet
	uint32_t first_unseen;        // all modules below have been announced
	VEC(uint32_t) path;
};

/** `segment` must outlive it. False: out of memory. */
bool tries_init(struct tries *t, const struct segment *segment, struct err *err);
void tries_finish(struct tries *t);

/**
 * Frames of code without a module in this range do not belong to the program: from now on they are
 * removed from stacks.
 */
void tries_pass_by(struct tries *t, uint64_t at, uint64_t bytes);

/** Slow half of tries_node. */
uint32_t tries_copy(struct tries *t, uint32_t id);

/**
 * The dense id of a node of the target, copied now if it is new. What cannot be right becomes the
 * empty stack, or ends in it, and is counted.
 */
static inline uint32_t tries_node(struct tries *t, uint32_t id) {
	if (id < t->segment->node_capacity && (t->dense[id] || id == 0)) {
		return t->dense[id];
	}
	return tries_copy(t, id);
}

/** Prefetch for a tries_node to come. Inline, or gcc drops it. */
static ATTR_INLINE void tries_fetch(const struct tries *t, uint32_t id) {
	if (id < t->segment->node_capacity) {
		__builtin_prefetch(&t->dense[id]);
	}
}

/**
 * Announce each module that became whole since the last call, once: `module` is our own copy,
 * terminated path and sane lengths, valid until tries_finish. Costs next to nothing if there is
 * none; call it often, so that its file is opened while it is there.
 */
void tries_poll_modules(struct tries *t,
		void (*announce)(void *user, uint32_t id, const struct wire_module *module), void *user);

/** The copy of a module that was announced, or NULL. */
const struct wire_module *tries_module(const struct tries *t, uint32_t id);

/**
 * From now on there is other code at these locations: existing nodes stay as they are, and the next
 * event with such an address gets a new location and new nodes from there on.
 */
void tries_retire(struct tries *t, const uint32_t *locations, size_t n);
