// SPDX-License-Identifier: MIT
#pragma once
/**
 * Of what type an allocated block is, where its stack proves it: by the template arguments of the
 * function that asked for it, if that asks for nothing else (std::allocator<T>::allocate, Rust's
 * RawVec<T>). Private to the engine.
 */

#include "engine/names.h"

enum type_proof {
	TYPE_PROVED,
	TYPE_PASSED_ON, // it asks for what its caller wants: that may prove it
	TYPE_UNKNOWN,
};

/**
 * What a frame proves of the blocks that it asked an allocation function for; *type lies in its
 * name.
 */
enum type_proof type_of_frame(const struct name *frame, struct slice *type);

/** The frame of a stack that proves its type, and the type; NULL: none does. */
const struct name *type_of_stack(const struct recording *r, const struct names *n, uint32_t node,
		struct slice *type);

/**
 * A type for people: "app::Point", "node of std::list<int>", "app::Point and its reference counts";
 * without the library's versions and default allocators.
 */
const char *type_shown(struct slice type, struct arena *arena);
