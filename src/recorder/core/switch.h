// SPDX-License-Identifier: MIT
#pragma once

/**
 * Whether this process records: the word that every hook tests first. It opens at the first hook
 * of a program that is recorded, or when the program itself asks for that, and closes for good. Any thread, any signal handler.
 */

#include "machine.h"
#include "recorder/core/segment.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum door_word {
	DOOR_UNKNOWN = 0, // nothing known yet; also what a forked child finds
	DOOR_OPEN = 1,
	DOOR_CLOSED = 2,
	DOOR_PAUSED = 3, // the program asked for it: only what happens to known blocks is recorded
};

/** On a page of its own, private, that the kernel zeroes in forked children. */
union door_page {
	_Atomic uint32_t word;
	unsigned char page[MACHINE_PAGE_MOST];
};
extern union door_page door_page;

/** True if hooks record. A thread that has no slot yet asks door_is_ours() before it looks at the segment. */
static inline bool door_is_open(void) {
	return atomic_load_explicit(&door_page.word, memory_order_relaxed) == DOOR_OPEN;
}

/**
 * True if the rings are ours to write, be it only for frees. Pairs with the release in set_word(): what was
 * made ready before, `segment` and all behind it, is seen from here on.
 */
static inline bool door_is_ours(void) {
	return (atomic_load_explicit(&door_page.word, memory_order_acquire) & DOOR_OPEN) != 0;
}

/** The same for a thread that has a slot, so has asked before. */
static inline bool door_is_still_ours(void) {
	return (atomic_load_explicit(&door_page.word, memory_order_relaxed) & DOOR_OPEN) != 0;
}

/** What a door (preload, injection) provides to the core. Set before the first hook. */
struct door_services {
	enum segment_role (*open_segment)(void);
	uint64_t (*clock_ns)(void);  // CLOCK_MONOTONIC. Any thread, any signal handler, errno as it was
	uint64_t (*stack_end)(void); // of the main thread's stack, or 0
};
extern const struct door_services door_services;

/**
 * Find out, when the word is DOOR_UNKNOWN: map the segment and open the door, or close it. True
 * if it is open now. False as well while another thread is at it: then the event is lost, counted.
 */
bool door_find_out(void);

/**
 * Open a door that nobody wanted open so far, by another way to a segment. False: that failed, or this
 * process has been recorded already.
 */
bool door_open_late(enum segment_role (*open_segment)(void));

/** End recording in this process for good; `is_for_all`: in the segment as well. */
void door_close(bool is_for_all);

/** Stop and go on recording new blocks. */
void door_pause(bool is_paused);

/** Look whether the collector has ended the recording, or is dead. Now and then, by all threads. */
void door_look_at_collector(void);

/** Wake the collector if it sleeps. */
void door_ring_bell(void);

/** May the core make system calls? Not in seccomp's strict mode. */
bool door_may_call_system(void);
