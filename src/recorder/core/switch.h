// SPDX-License-Identifier: MIT
#pragma once
/**
 * Whether this process is recorded: a word that each hook tests first. Turned on by a recorded
 * program's first hook, or at its own request, and off for good. Any thread, any signal handler.
 */

#include "machine.h"
#include "recorder/core/segment.h"

enum switch_word {
	SWITCH_UNKNOWN = 0, // not looked at yet; a forked child finds this, too
	SWITCH_ON = 1,
	SWITCH_OFF = 2,
	SWITCH_PAUSED = 3, // by the program: only the ends of known blocks are recorded
};

/** On a private page, which the kernel zeroes in forked children. */
union switch_page {
	_Atomic uint32_t word;
	unsigned char page[MACHINE_PAGE_MOST];
};
extern LOCAL union switch_page switch_page;

/** Is everything recorded? Says nothing about memory: see switch_is_on_or_paused(). */
static inline bool switch_is_on(void) {
	return atomic_load_explicit(&switch_page.word, memory_order_relaxed) == SWITCH_ON;
}

static inline bool switch_is_off(void) {
	return atomic_load_explicit(&switch_page.word, memory_order_relaxed) == SWITCH_OFF;
}

/**
 * True if the rings are ours to write, if only for frees. Pairs with the release in set_word():
 * what was made ready before, `segment` and all behind it, is visible from here on.
 */
static inline bool switch_is_on_or_paused(void) {
	return (atomic_load_explicit(&switch_page.word, memory_order_acquire) & SWITCH_ON) != 0;
}

/** The same for a thread with a slot, which has called switch_is_on_or_paused() before. */
static inline bool switch_is_still_on_or_paused(void) {
	return (atomic_load_explicit(&switch_page.word, memory_order_relaxed) & SWITCH_ON) != 0;
}

// What the host (preload, inject) does for the core. The clock is CLOCK_MONOTONIC; the end of the
// main thread's stack may be 0. Any thread, any signal handler, errno unchanged
enum segment_role host_open_segment(void);
uint64_t host_clock_ns(void);
uint64_t host_main_stack_end(void);

/**
 * If the word is SWITCH_UNKNOWN, map the segment and turn the switch on, or off. True if it is on
 * now. Also false while another thread does this: the event is lost, and counted.
 */
bool switch_find_out(void);

/** In a forked child: announce it or, in a tree, have it recorded. `fork`: its number, or 0. */
void switch_join(uint32_t fork);

/** Turn on, by another way to a segment, what is off. False: failed, or was on before. */
bool switch_turn_on_late(enum segment_role (*open_segment)(void));

/** End recording in this process for good; `is_for_all`: in the segment, too. */
void switch_turn_off(bool is_for_all);

/** Pause and resume the recording of new blocks. */
void switch_pause(bool is_paused);

/**
 * Turn off if the collector has ended the recording or died. Called now and then by all threads.
 */
void switch_look_at_collector(void);
