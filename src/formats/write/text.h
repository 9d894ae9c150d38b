// SPDX-License-Identifier: MIT
#pragma once
/** What writers share: names and places of frames as text, and paths. */

#include "formats/formats.h"

/** Append text, with control characters as spaces and bytes of `forbidden` as ':'. */
void put_plain(struct buffer *out, struct slice text, const char *forbidden);

/** A frame's display name; never empty. */
struct slice frame_function(const struct profile *p, uint32_t frame);

/** "function (file:line)", "function (in module)" or "function", as valgrind's tools write it. */
void put_frame_place(struct buffer *out, const struct profile *p, uint32_t frame);

/** The nodes of a stack, outermost first. */
struct path {
	VEC(uint32_t);
};

/** Ends before node 0. */
void path_of(struct path *path, const struct profile_node *nodes, uint32_t node);
