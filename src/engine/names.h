// SPDX-License-Identifier: MIT
#pragma once

/**
 * The frames of a recording, ready to be shown: every location has at least one, unnamed code is
 * called module+0xoffset, and each knows whose code it is. Made once per opened recording;
 * everything borrowed lives as long as it and the recording.
 */

#include "base/err.h"
#include "trace/recording.h"

enum owner {
	OWNER_UNKNOWN, // no name, and a module that tells nothing
	OWNER_LIBRARY, // the system's, a runtime's, a dependency's (PRODUCT: "yours")
	OWNER_YOURS,
};

/** A frame for people. */
struct name {
	struct slice function; // never empty
	struct slice symbol;   // as linked; empty: none
	struct slice file;     // empty: unknown
	struct slice module;   // path; empty: none known
	uint32_t line;         // 0: unknown
	uint8_t owner;         // enum owner
	bool is_inlined;       // into the frame that follows
	bool has_name;         // false: `function` is module+0xoffset or a mark
};

struct names;

struct names *names_create(const struct recording *r, struct err *err);
void names_destroy(struct names *n);

/** The frames of a location, innermost first; *n_frames >= 1. */
const struct name *names_of(const struct names *n, uint32_t location, uint32_t *n_frames);

/**
 * The frame a stack is named after: its innermost frame that is the user's own; else the innermost
 * named one that is more than an allocation function; else the innermost. NULL for the empty stack.
 */
const struct name *names_site(const struct names *n, uint32_t node);

/** Walks a stack from its innermost frame outwards, inlined frames included. */
struct stack_walk {
	const struct recording *recording;
	const struct names *names;
	uint32_t node;
	uint32_t location; // of the frame that was given last
	uint32_t i, n;
	const struct name *frames;
};
struct stack_walk stack_walk_init(const struct recording *r, const struct names *n, uint32_t node);

/** The next frame, or NULL behind the outermost. */
const struct name *stack_walk_next(struct stack_walk *w);

/** The last part of a path: "/a/b.c" gives "b.c". */
struct slice path_base(struct slice path);
