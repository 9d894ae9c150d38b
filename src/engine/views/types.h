// SPDX-License-Identifier: MIT
#pragma once
/**
 * The type of an allocated block, where its stack proves it: by the template arguments of the
 * requesting function, if that requests nothing else (std::allocator<T>::allocate, Rust's
 * RawVec<T>). Private to the engine.
 */

#include "engine/names.h"

enum type_proof {
	TYPE_PROVED,
	TYPE_PASSED_ON, // requests what its caller wants, which may prove it
	TYPE_UNKNOWN,
};

/** What a frame proves of the blocks that it requested; *type points into its name. */
enum type_proof type_of_frame(const struct name *frame, struct slice *type);

/** The frame of a stack that proves its type, and the type; or NULL. */
const struct name *type_of_stack(const struct recording *r, const struct names *n, uint32_t node,
		struct slice *type);

/** A type for display: "node of std::list<int>"; no inline namespaces, no default allocators. */
const char *type_shown(struct slice type, struct arena *arena);
