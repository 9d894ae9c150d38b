// SPDX-License-Identifier: MIT
#pragma once
/** What writers share: names and places of frames as text, and paths. */

#include "formats/formats.h"

/** The text without line ends and other control characters; bytes of `forbidden` become ':'. */
void put_plain(struct buffer *out, struct slice text, const char *forbidden);

/** A frame's name for people; never empty. */
struct slice frame_function(const struct profile *p, uint32_t frame);

/** "function (file:line)", "function (in module)" or "function", as valgrind's tools write it. */
void put_frame_place(struct buffer *out, const struct profile *p, uint32_t frame);

/** The nodes of a stack, outermost first. */
struct path {
	VEC(uint32_t);
};

/** Node 0 ends the walk. */
void path_of(struct path *path, const struct profile_node *nodes, uint32_t node);
