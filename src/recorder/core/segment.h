// SPDX-License-Identifier: MIT
#pragma once
/**
 * The recorder's mapping of the shared segment: found through the environment, mapped once per
 * image and kept until the process ends (docs/wire.md). Raw system calls only.
 */

#include "recorder/core/attr.h"
#include "recorder/core/sys.h"
#include "wire/event.h"
#include "wire/runtime.h"

/** What is mapped. After segment_open only is_whole, n_slots, n_nodes*, *_open and
 * has_no_clock change. */
struct segment {
	struct segment_header *header;
	struct wire_common *common; // the header's own, or the tree's
	struct wire_mark *marks;
	struct wire_module *modules;
	struct wire_node *nodes;
	unsigned char *slots;
	const struct wire_layout *layouts; // NULL: none, and no units or excerpts
	struct wire_unit *units;           // not open yet, like the excerpts
	unsigned char *excerpts;
	_Atomic uint32_t *unit_hash; // numbers of units, half empty; private to this process
	uint64_t excerpts_open;
	uint32_t n_units_open; // 0: not open, no runtime is known
	bool is_whole;         // mapped as one, without gaps
	uint64_t slot_bytes;
	uint32_t n_slots;      // mapped
	uint32_t n_nodes;      // mapped
	uint32_t n_nodes_open; // of these, so many may be touched now
	uint32_t n_modules;    // room for so many, entry 0 included
	uint32_t page_bytes;
	uint32_t options;
	uint32_t image;           // this program's id among those that ran in this process
	uint32_t n_claims_before; // header->n_claims, before its first thread's
	// The program may not read the time stamp counter; then neither may we, nor the vdso for us
	_Atomic bool has_no_clock;
};

extern LOCAL struct segment segment;

enum segment_role {
	SEGMENT_ROLE_NONE,    // this process is not recorded
	SEGMENT_ROLE_PROGRAM, // it is, and `segment` is ready
	SEGMENT_ROLE_CHILD,   // it is a child of the recorded one: counted, nothing is mapped
};

/** Find and map the segment. `environment` as in environ, or NULL. Once, by one thread. */
enum segment_role segment_open(char **environment);

/**
 * In a tree, in a copy of a recorded process, with recording off: map a cell over the parent's, of
 * which this is the fork of that number. No slot is this process's then. False: refused.
 */
bool segment_join(uint32_t fork);

/** In a tree: ask the collector for this process's own, as it is found by that token. Once. */
enum segment_role segment_ask(const char *token);

/** Map the segment behind `fd`, which the injector put there, and close `fd`. Once. */
enum segment_role segment_adopt(int fd);

static inline struct thread_slot *segment_slot(uint32_t i) {
	return (struct thread_slot *)(segment.slots + (uint64_t)i * segment.slot_bytes);
}

/**
 * The private part of a slot: two pages for the thread's state and its small capture context
 * (thread.h), then its handlers' contexts, then the large context in all the rest, of which only
 * the beginning is open at first, as mlockall fills open memory with pages.
 */
enum {
	SEGMENT_HANDLER_BYTES = 64 << 10,
	SEGMENT_HANDLERS_AT = SLOT_PRIVATE_AT + 2 * WIRE_PAGE_LEAST,
	SEGMENT_CAPTURES_AT = SEGMENT_HANDLERS_AT + 2 * SEGMENT_HANDLER_BYTES,
	SEGMENT_OPEN_BYTES = SEGMENT_CAPTURES_AT + (224 << 10), // of a slot, from its start
};

enum { SEGMENT_UNIT_HASH_BITS = 18 };
_Static_assert(1 << SEGMENT_UNIT_HASH_BITS >= 2 * WIRE_N_UNITS, "half empty");

/** Open all units and excerpts, once a runtime is known, or close the unused. False: refused. */
bool segment_open_units(bool opens);

/** How many slots may be touched: they are opened one by one. */
uint32_t segment_open_slots(void);

bool segment_open_more_slots(void);

/**
 * The program limits its address space: unmap unused reserves, except an eighth of `limit_bytes`.
 */
void segment_give_back(uint64_t limit_bytes);

/** The program may not, or soon may not, read the time stamp counter: count stamps from now on. */
void segment_count_stamps(void);

/** The program is about to call prctl, which may forbid it to read the time stamp counter. */
void segment_note_prctl(int option, uint64_t value);

static inline bool segment_is_exec(long number) {
	return number == __NR_execve || number == __NR_execveat;
}

/**
 * The program is about to become another one, which may end before anybody sees it; 0: it has not.
 * A child's calls, made in our memory (vfork), are only noted in a tree.
 */
void segment_note_exec(uint64_t now_ns);

/** In a tree: that child becomes another program, or has failed to. */
void segment_note_spawned(uint32_t pid, bool has_failed);

/** Close unused nodes, or reopen them, so that mlockall in between does not fill them. */
void segment_close_unused(bool closes);

/** False in seccomp's strict mode, where any system call would kill the target. */
static inline bool segment_may_call_system(void) {
	return atomic_load_explicit(&segment.header->no_syscalls, memory_order_relaxed) == 0;
}

/** False in a sandbox, where only system calls that the program might make itself are safe. */
static inline bool segment_may_ask(void) {
	return segment_may_call_system() &&
			atomic_load_explicit(&segment.header->has_filter, memory_order_relaxed) == 0;
}

/** The next number that `counter` counts, if below `end`. 0: there are no more. */
static inline uint32_t segment_take(_Atomic uint32_t *counter, uint32_t end) {
	uint32_t n = atomic_load_explicit(counter, memory_order_relaxed);
	do {
		if (n + 1 >= end) {
			return 0;
		}
	} while (!atomic_compare_exchange_weak(counter, &n, n + 1));
	return n + 1;
}

/** Wake the collector if it sleeps. */
void segment_ring_bell(void);
