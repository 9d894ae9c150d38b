// SPDX-License-Identifier: MIT
#pragma once

/**
 * The target's side of wire/event.h, as plainly as it can be written: a reference for tests of the
 * collector, in one process with it. A struct writer belongs to one thread and to the signal
 * handlers that interrupt it; every call may be interrupted anywhere.
 */

#include "collector/segment/segment.h"

struct writer {
	struct segment *segment;
	struct thread_slot *slot;
	uint64_t label_ns;
	_Atomic uint64_t epoch; // the last that was published
};

/** An event between its reservation and its publication. */
struct writer_event {
	struct wire_event *entries[2]; // prefix and event, or the event alone in [0]
	uint64_t phases[2];
	uint64_t end;   // entries reserved with its own
	uint64_t epoch; // the ring's when it was reserved, and by now its own
	struct wire_ring *ring;
	bool is_wide;
	enum wire_kind kind;
	uint64_t ptr;
	uint64_t stamp; // 0: it has none
};

/** Claim a slot for the calling thread. False: all are taken. */
bool writer_join(struct writer *w, struct segment *s, uint32_t image);

/** The same for a thread that is only played. */
bool writer_join_as(struct writer *w, struct segment *s, uint32_t image, uint32_t tid);

/** The first of all takes the first epoch. Without, there is that of all threads. */
void writer_take_first_epoch(struct writer *w);

/**
 * Make room for `n` entries, waiting if need be. False: there is none and `may_wait` is false, as it
 * must be in a handler, or the collector has stopped.
 */
bool writer_make_room(struct writer *w, uint32_t n, bool may_wait);

/** Reserve, then read the epoch and take the stamp, which is counted. Room must have been made. */
struct writer_event writer_begin(struct writer *w, enum wire_kind kind, uint64_t ptr, bool is_wide);

/**
 * The two halves of writer_begin, for those who want to stop or die between them. If a handler has
 * written there, its stamps are older: then the event takes other entries, behind. So it does if there is
 * another epoch by now.
 */
struct writer_event writer_reserve(struct writer *w, enum wire_kind kind, uint64_t ptr,
		bool is_wide);
void writer_stamp(struct writer *w, struct writer_event *e);

void writer_publish(struct writer *w, const struct writer_event *e, uint64_t size, uint32_t node);

/** Write a time label, and a whole stamp, if the collector's tick has moved. Takes two entries. */
void writer_label(struct writer *w, uint64_t now_ns);

/** No hook is in progress: publish what jumps left behind as void. Returns how many entries. */
uint32_t writer_recover(struct writer *w);
