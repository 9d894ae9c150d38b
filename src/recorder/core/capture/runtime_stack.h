// SPDX-License-Identifier: MIT
#pragma once
/** Stacks with frames of a runtime: these stand where the runtime's own native frames were. */

#include "recorder/core/capture/context.h"
#include "recorder/core/unwind/runtimes.h"

/** Is the leaf, or what is remembered now, of a runtime? */
static inline bool runtime_is_on_stack(const struct capture *c, uint64_t where) {
	return (c->last->checks & FRAME_OF_RUNTIME) != 0 || runtimes_cover(wire_where_pc(where));
}

/**
 * The node of such a stack, and its flags. False: the frames of the runtime do not match; the
 * native ones stay.
 */
bool runtime_stack_node(struct capture *c, uint64_t leaf, uint32_t *node, uint32_t *flags);
