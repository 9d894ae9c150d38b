// SPDX-License-Identifier: MIT
#include "recorder/core/switch.h"

#include "recorder/core/capture/capture.h"
#include "recorder/core/family.h"
#include "recorder/core/segment.h"
#include "recorder/core/sys.h"

#include <linux/futex.h>
#include <sys/mman.h>

_Alignas(MACHINE_PAGE_MOST) union door_page door_page;
_Static_assert(sizeof door_page == MACHINE_PAGE_MOST, "a page of its own, of whatever size");

/** Who is at it. Not on the wiped page: a forked child finds it as it was. */
enum start { START_NOBODY = 0, START_RUNNING = 1, START_DONE = 2 };
static _Atomic uint32_t start;
static _Atomic uint64_t n_lost_early;

/** Pairs with the acquire in door_is_ours() and door_find_out(). */
static void set_word(enum door_word word) {
	atomic_store_explicit(&door_page.word, word, memory_order_release);
}

static enum door_word open_door(enum segment_role (*open_segment)(void)) {
	// Without this a forked child would write into its parent's rings
	if (!sys_madvise(&door_page, sizeof door_page, MADV_WIPEONFORK)) {
		return DOOR_CLOSED;
	}
	if (open_segment() != SEGMENT_ROLE_PROGRAM) {
		return DOOR_CLOSED;
	}
	const struct capture_world world = {
			.header = segment.header,
			.modules = segment.modules,
			.nodes = segment.nodes,
			.n_modules_max = segment.header->module_capacity,
			.n_nodes_max = segment.n_nodes,
			.image = segment.image,
	};
	(void)capture_setup(&world); // without tables stacks are empty and counted as truncated
	return DOOR_OPEN;
}

/** Several threads of a child may come at once: it is counted by one. */
static void become_forked_child(void) {
	uint32_t unknown = DOOR_UNKNOWN;
	if (atomic_compare_exchange_strong(&door_page.word, &unknown, DOOR_CLOSED) &&
			segment.header != NULL) {
		family_announce(segment.header, true);
	}
}

bool door_find_out(void) {
	enum door_word word = atomic_load_explicit(&door_page.word, memory_order_acquire);
	if (word != DOOR_UNKNOWN) {
		return door_is_ours();
	}
	uint32_t seen = START_NOBODY;
	if (atomic_compare_exchange_strong(&start, &seen, START_RUNNING)) {
		word = open_door(door_services.open_segment);
		if (word == DOOR_OPEN) {
			atomic_fetch_add(&segment.header->lost_early, atomic_load(&n_lost_early));
		}
		set_word(word); // first: done, with the word unknown, is a forked child
		atomic_store(&start, START_DONE);
		return word == DOOR_OPEN;
	}
	if (seen == START_DONE && atomic_load(&door_page.word) == DOOR_UNKNOWN) {
		become_forked_child();
	} else {
		atomic_fetch_add(&n_lost_early, 1);
	}
	return false;
}

bool door_open_late(enum segment_role (*open_segment)(void)) {
	uint32_t done = START_DONE;
	if (atomic_load(&door_page.word) != DOOR_CLOSED || segment.header != NULL ||
			!atomic_compare_exchange_strong(&start, &done, START_RUNNING)) {
		return false;
	}
	enum door_word word = open_door(open_segment);
	atomic_store(&start, START_DONE);
	set_word(word);
	return word == DOOR_OPEN;
}

void door_close(bool is_for_all) {
	set_word(DOOR_CLOSED);
	if (is_for_all) {
		atomic_store(&segment.header->state, SEGMENT_CLOSED);
	}
}

void door_pause(bool is_paused) {
	uint32_t from = is_paused ? DOOR_OPEN : DOOR_PAUSED;
	(void)atomic_compare_exchange_strong(&door_page.word, &from,
			is_paused ? DOOR_PAUSED : DOOR_OPEN);
}

void door_look_at_collector(void) {
	uint32_t owner = atomic_load_explicit(&segment.common->owner, memory_order_relaxed);
	if ((owner & FUTEX_OWNER_DIED) != 0) {
		door_close(true);
	} else if (atomic_load_explicit(&segment.header->state, memory_order_relaxed) != SEGMENT_OPEN) {
		door_close(false);
	}
}

void door_ring_bell(void) {
	_Atomic uint32_t *bell = &segment.common->bell;
	// Pairs with segment_arm(): either it sees in the rings what was published before, or we see its 0
	atomic_thread_fence(memory_order_seq_cst);
	// Looking first keeps the line shared while the collector is awake
	if (atomic_load_explicit(bell, memory_order_relaxed) == 0 && door_may_call_system() &&
			atomic_exchange(bell, 1) == 0) {
		(void)syscall_3(__NR_futex, (long)bell, FUTEX_WAKE, 1);
	}
}

bool door_may_call_system(void) {
	return atomic_load_explicit(&segment.header->no_syscalls, memory_order_relaxed) == 0;
}
