// SPDX-License-Identifier: MIT
#pragma once
/**
 * Gives each resident page of a process one owner, so that the parts of its resident size add up
 * to it. It joins what was read from outside at one moment with live blocks and mapped ranges. One
 * thread. It uses no files, clocks or processes; of sys/ it takes the columns alone.
 *
 * A page belongs to the first of these:
 *  - heaptrack itself
 *  - live blocks that lie on it: the bytes that were asked for, what their size classes add, and
 *    what is free of the page beside them
 *  - who mapped it, as far as calls that map were recorded: the allocator, a stack, another caller
 *  - what holds it by rule: an arena of glibc, a thread's stack, data of a module, [heap]
 *  - which thread mapped it by a call that was not recorded, as far as the kernel told
 *  - its line in smaps: a file, shared memory, a name that the program gave to it
 *  - who mapped it before the attach, whoever that was
 *  - nobody known
 * Neighbouring mappings may stand in one line of smaps; the owners are those of addresses.
 */

#include "engine/aggregate.h"
#include "engine/mappings.h"
#include "sys/smaps.h"

struct parts_range {
	uint64_t start, end;
};

/** What a thread has mapped, by the kernel's word: perhaps by a call that no hook saw. */
struct parts_seen {
	uint64_t start, end, time_ns;
	uint64_t code;  // that has mapped it, if `name` is still without it. 0: not known
	char name[128]; // of its row
};

struct parts_thread {
	uint64_t sp, fs_base; // 0: not known
	uint32_t tid;
};

/** Everything is the caller's and is only read. */
struct parts_input {
	uint64_t page_bytes;
	const struct smaps *areas;
	const struct pagemap *pages;     // PAGEMAP_REFUSED: areas are not divided
	const struct aggregate *blocks;  // those that are live
	const struct mappings *mappings; // NULL: calls that map are not recorded
	const struct smaps *before;      // what was mapped at the attach. NULL: it was launched
	const struct parts_seen *seen;   // the newest one at an address counts
	size_t n_seen;
	const struct parts_thread *threads;
	size_t n_threads;
	const struct parts_range *ours; // by rising address: of heaptrack
	size_t n_ours;
	const struct parts_range *modules; // by rising address, with their bss
	size_t n_modules;
	bool is_glibc;             // its malloc serves the program
	bool knows_all_blocks;     // false: some that are live are not among `blocks`
	uint64_t rss_before_bytes; // as the kernel counted it before and after reading. 0: not read
	uint64_t rss_after_bytes;
	/** Does this stack (a mapped_range's node) map for the allocator? NULL: the wire says it. */
	bool (*is_allocators)(void *user, uint32_t node);
	void *user;
};

/** A part, or what one maker, module or file has of it. */
struct parts_row {
	uint64_t resident_bytes;
	uint64_t asked_bytes;     // of REC_PART_HEAP_LIVE: of all live blocks. Else 0
	uint64_t lazy_free_bytes; // of them given back by MADV_FREE, and not taken yet
	const char *name;         // of a module or file, a text of the areas. NULL: none
	uint32_t mapping;         // 1 + row of recording.mappings. 0: no stack is known
	uint8_t part;             // enum rec_part_id
};

enum { PARTS_ARENAS = 64 }; // that are told apart

/** Of the whole heap, by address. */
struct parts_fullness {
	struct rec_fullness items[PARTS_ARENAS];
	uint32_t n;
};

/** Zeroed: empty. Rows of one part follow each other, the largest first. */
struct parts {
	VEC(struct parts_row) rows;
	VEC(struct rec_untouched) untouched; // most absent or pinned bytes first, then most resident
	struct parts_fullness fullness;
	bool has_seen; // some memory has been explained by parts_input.seen
	// Its bytes, and what it has; changed_bytes: half of RSS's change, or what went meanwhile
	struct rec_look look;
};

enum { PARTS_NAMES = 12, PARTS_MAKERS = 1024, PARTS_STACKS = 1024 }; // rows that are told apart
enum { PARTS_ABSENT = 4096, PARTS_PINNED = 65536 };                  // bytes: fewer weigh nothing

/** `out` is zeroed. */
void parts_join(const struct parts_input *in, struct parts *out);
void parts_finish(struct parts *p);
