// SPDX-License-Identifier: MIT
#pragma once

/** Reads a frame as valgrind's tools write it. */

#include "formats/maker.h"

/** "0x1234: function (file:12)", "… (file:12:5)", "… (in /usr/lib/libx.so)", "function". */
struct profile_frame place_parse(struct profile_maker *m, struct slice text);

/** Of one code address, but not a call of itself: `inner` is inlined into `outer`. */
static inline bool place_is_inlined(const struct profile_frame *inner,
		const struct profile_frame *outer) {
	return inner->address != 0 && inner->address == outer->address &&
			(inner->function != outer->function || inner->line != outer->line);
}
