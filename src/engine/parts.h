// SPDX-License-Identifier: MIT
#pragma once
/**
 * Gives each resident page of a process one owner, so that the parts of its resident size add up to
 * it. Joins what was read from outside at one moment with live blocks and mapped ranges.
 * Single-threaded; uses no files, clocks or processes, and of sys/ only the columns.
 *
 * A page belongs to the first of these:
 *  - heaptrack itself
 *  - the live blocks on it: the bytes asked for, what their size classes add, and what is free
 *    beside them on the page
 *  - whoever mapped it, if that call was recorded: the allocator, a stack, another caller
 *  - what holds it by rule: an arena of glibc, a thread's stack, data of a module, [heap]
 *  - the thread that mapped it by a call that was not recorded, if the kernel told
 *  - its line in smaps: a file, shared memory, a name that the program gave it
 *  - whoever mapped it before the attach
 *  - nobody known
 * Neighbouring mappings may share a line of smaps; ownership goes by address.
 */

#include "engine/aggregate.h"
#include "engine/mappings.h"
#include "sys/smaps.h"

struct parts_range {
	uint64_t start, end;
};

/** What a thread has mapped according to the kernel, perhaps by a call that no hook saw. */
struct parts_seen {
	uint64_t start, end, time_ns;
	uint64_t code;  // that mapped it, if `name` is not set yet; 0: not known
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
	const struct aggregate *blocks;  // the live ones
	const struct mappings *mappings; // NULL: calls that map are not recorded
	const struct smaps *before;      // what was mapped at the attach; NULL: launched
	const struct parts_seen *seen;   // the newest at an address counts
	size_t n_seen;
	const struct parts_thread *threads;
	size_t n_threads;
	const struct parts_range *ours; // by rising address: heaptrack's own
	size_t n_ours;
	const struct parts_range *modules; // by rising address, with their bss
	size_t n_modules;
	bool is_glibc;             // the program uses glibc's malloc
	bool knows_all_blocks;     // false: some live ones are not among `blocks`
	uint64_t rss_before_bytes; // the kernel's count before and after reading; 0: not read
	uint64_t rss_after_bytes;
	/** Does this stack (a mapped_range's node) map for the allocator? NULL: go by the wire. */
	bool (*is_allocators)(void *user, uint32_t node);
	void *user;
};

/** A part, or what one maker, module or file has of it. */
struct parts_row {
	uint64_t resident_bytes;
	uint64_t asked_bytes;     // of REC_PART_HEAP_LIVE: of all live blocks; else 0
	uint64_t lazy_free_bytes; // of them given back by MADV_FREE but not yet reclaimed
	const char *name;         // of a module or file, a text of the areas; or NULL
	uint32_t mapping;         // 1 + row of recording.mappings; 0: no stack is known
	uint8_t part;             // enum rec_part_id
};

enum { PARTS_ARENAS = 64 }; // distinguished at most

/** Of the whole heap, by address. */
struct parts_fullness {
	struct rec_fullness items[PARTS_ARENAS];
	uint32_t n;
};

/** Zeroed: empty. Rows of one part are adjacent, the largest first. */
struct parts {
	VEC(struct parts_row) rows;
	VEC(struct rec_untouched) untouched; // most absent or pinned bytes first, then most resident
	struct parts_fullness fullness;
	bool has_seen; // parts_input.seen explained some memory
	// Its bytes, and what it has; changed_bytes: half of RSS's change, or what vanished meanwhile
	struct rec_look look;
};

enum { PARTS_NAMES = 12, PARTS_MAKERS = 1024, PARTS_STACKS = 1024 }; // rows distinguished at most
enum { PARTS_ABSENT = 4096, PARTS_PINNED = 65536 };                  // bytes: fewer are ignored

/** `out` is zeroed. */
void parts_join(const struct parts_input *in, struct parts *out);
void parts_finish(struct parts *p);
