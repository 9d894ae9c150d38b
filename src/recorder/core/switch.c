// SPDX-License-Identifier: MIT
/*
 * The word has two owners: this process, and the kernel, which zeroes its page in forked children.
 * `start` lies elsewhere and survives a fork, so a child finds an unknown word but a finished
 * start, announces itself and stays off.
 */
#include "recorder/core/switch.h"

#include "recorder/core/capture/capture.h"
#include "recorder/core/family.h"

_Alignas(MACHINE_PAGE_MOST) union switch_page switch_page;
_Static_assert(sizeof switch_page == MACHINE_PAGE_MOST, "a page of its own, of whatever size");

/** How far the only attempt to turn the switch on has come. */
enum start { START_NOBODY = 0, START_RUNNING = 1, START_DONE = 2 };
static _Atomic uint32_t start;
static _Atomic uint64_t n_lost_early;

/** Pairs with the acquire in switch_is_on_or_paused() and switch_find_out(). */
static void set_word(enum switch_word word) {
	atomic_store_explicit(&switch_page.word, word, memory_order_release);
}

/** Called by whoever stored START_RUNNING. */
static bool turn_on(enum segment_role (*open_segment)(void)) {
	enum switch_word word = SWITCH_OFF;
	// Without this a forked child would write into its parent's rings
	if (sys_madvise(&switch_page, sizeof switch_page, MADV_WIPEONFORK) &&
			open_segment() == SEGMENT_ROLE_PROGRAM) {
		(void)capture_setup(); // without tables, stacks are empty and counted as truncated
		word = SWITCH_ON;
	}
	set_word(word); // before `start`: "done" with an unknown word means a forked child
	atomic_store(&start, START_DONE);
	return word == SWITCH_ON;
}

void switch_join(uint32_t fork) {
	uint32_t unknown = SWITCH_UNKNOWN;
	// Several of its threads may come at once: one counts it
	if (!atomic_compare_exchange_strong(&switch_page.word, &unknown, SWITCH_OFF) ||
			segment.header == NULL) {
		return;
	}
	if (fork != 0 && segment_join(fork)) {
		thread_self.slot = NULL;
		set_word(SWITCH_ON);
	} else if (segment_may_ask()) {
		family_announce(segment.header, true);
	} else { // what it reads for its name, a sandbox might kill it for
		atomic_fetch_add(&segment.header->n_children_forked, 1);
	}
}

bool switch_find_out(void) {
	enum switch_word word = atomic_load_explicit(&switch_page.word, memory_order_acquire);
	if (word != SWITCH_UNKNOWN) {
		return switch_is_on_or_paused();
	}
	uint32_t seen = START_NOBODY;
	if (atomic_compare_exchange_strong(&start, &seen, START_RUNNING)) {
		bool is_on = turn_on(host_open_segment);
		if (is_on) {
			atomic_fetch_add(&segment.header->lost_early, atomic_load(&n_lost_early));
		}
		return is_on;
	}
	if (seen != START_DONE || atomic_load(&switch_page.word) != SWITCH_UNKNOWN) {
		atomic_fetch_add(&n_lost_early, 1);
	} else {
		switch_join(0);
	}
	return false;
}

bool switch_turn_on_late(enum segment_role (*open_segment)(void)) {
	uint32_t done = START_DONE;
	return atomic_load(&switch_page.word) == SWITCH_OFF && segment.header == NULL &&
			atomic_compare_exchange_strong(&start, &done, START_RUNNING) && turn_on(open_segment);
}

void switch_turn_off(bool is_for_all) {
	set_word(SWITCH_OFF);
	if (is_for_all) {
		atomic_store(&segment.header->state, SEGMENT_CLOSED);
	}
}

void switch_pause(bool is_paused) {
	uint32_t from = is_paused ? SWITCH_ON : SWITCH_PAUSED;
	(void)atomic_compare_exchange_strong(&switch_page.word, &from,
			is_paused ? SWITCH_PAUSED : SWITCH_ON);
}

void switch_look_at_collector(void) {
	uint32_t owner = atomic_load_explicit(&segment.common->owner, memory_order_relaxed);
	if ((owner & FUTEX_OWNER_DIED) != 0) {
		switch_turn_off(true);
	} else if (atomic_load_explicit(&segment.header->state, memory_order_relaxed) ==
			SEGMENT_CLOSED) {
		switch_turn_off(false);
	}
}
