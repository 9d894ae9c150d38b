// SPDX-License-Identifier: MIT
#pragma once
/** What the files that write quality lines share. */

#include "engine/findings.h"

struct quality_writer {
	const struct recording *recording;
	const struct names *names;
	struct arena *arena;
	struct quality_line *out;
	size_t n;
};

/** Add a line, truncated to QUALITY_TEXT_MAX bytes. */
enum { QUALITY_TEXT_MAX = 2048 };
void quality_say(struct quality_writer *w, const char *id, uint64_t value, const char *fmt, ...)
		ATTR_PRINTF(4, 5);

/** quality_say(), unless n is 0. */
#define QUALITY_SAY_IF_ANY(w, id, n, ...) \
	((n) > 0 ? quality_say((w), (id), (n), __VA_ARGS__) : (void)0)

/** How the recording and the program ended, unless normally. */
void quality_say_ending(struct quality_writer *w);

/** The processes that it started, if much larger than itself. */
void quality_say_launched(struct quality_writer *w);

/** Images of the process, and child processes, that the recorder did not get into. */
void quality_say_unrecorded(struct quality_writer *w);

/**
 * Did an allocator work that could not be hooked? mimalloc maps all its memory, so one that never
 * did, as usually the one in Python 3.13, gave out none.
 */
bool quality_lacks(const struct recording *r, const struct rec_allocator *a);
