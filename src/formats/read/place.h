// SPDX-License-Identifier: MIT
#pragma once
/** Parses a frame as valgrind's tools write it. */

#include "formats/profile.h"

/** "0x1234: function (file:12)", "… (file:12:5)", "… (in /usr/lib/libx.so)", "function". */
struct profile_frame place_parse(struct profile_maker *m, struct slice text);

/**
 * The node of a frame called by `node`. At the same address, unless recursive, it is inlined.
 * `outer`: the frame of `node` (zeroed for node 0); is replaced by the new one.
 */
uint32_t place_add(struct profile_maker *m, uint32_t node, uint32_t frame,
		struct profile_frame *outer);
