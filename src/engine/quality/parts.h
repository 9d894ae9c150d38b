// SPDX-License-Identifier: MIT
#pragma once
/** What the files that write the lines of quality.h share. */

#include "engine/findings.h"

struct quality_writer {
	const struct recording *recording;
	const struct names *names;
	struct arena *arena;
	struct quality_line *out;
	size_t n;
};

/** One more line, up to QUALITY_TEXT_MAX bytes of it. */
enum { QUALITY_TEXT_MAX = 2048 };
void quality_say(struct quality_writer *w, const char *id, uint64_t value, const char *fmt, ...)
		ATTR_PRINTF(4, 5);

/** The same about a number that is 0 if there is nothing to say. */
#define QUALITY_SAY_IF_ANY(w, id, n, ...) \
	((n) > 0 ? quality_say((w), (id), (n), __VA_ARGS__) : (void)0)

/** How the recording and the program ended, unless both came to a normal end. */
void quality_say_ending(struct quality_writer *w);

/** The processes that it started, where those are much larger than it was itself. */
void quality_say_launched(struct quality_writer *w);

/** Images of the process, and processes that it started, into which the recorder did not get. */
void quality_say_unrecorded(struct quality_writer *w);

/**
 * Did an allocator work that could not be hooked? mimalloc takes all its memory by mmap: one that
 * never did, as that in Python 3.13 usually, has given none to anybody.
 */
bool quality_lacks(const struct recording *r, const struct rec_allocator *a);
