// SPDX-License-Identifier: MIT
#pragma once
/**
 * Reads a JIT compiler's description of generated code: lines "START SIZE NAME", with hexadecimal
 * numbers, appended to /tmp/perf-PID.map. Code is freed and its address range reused, so a later
 * line replaces what it overlaps. Names stay in the file: an entry holds their offset.
 *
 * Pure: bytes go in as they are read. One thread.
 */

#include "base/base.h"

struct perf_map_entry {
	uint64_t start, end; // of the code; start < end
	uint64_t name_at;    // of the name, in the file
	uint32_t name_bytes;
	uint32_t number; // of its line: a later one is higher
};

struct perf_map_entries {
	VEC(struct perf_map_entry);
};

struct perf_map {
	struct perf_map_entries current; // ascending, disjoint
	struct perf_map_entries fresh;   // read since the last merge; after perf_map_sort likewise
	uint32_t n_lines;
};

enum { PERF_MAP_NAME_MAX = 4096, PERF_MAP_ENTRIES_MAX = 1 << 21 };

/** Add to `fresh`, unless it has no size, no name, or exceeds PERF_MAP_ENTRIES_MAX. */
void perf_map_add(struct perf_map *m, uint64_t start, uint64_t size, uint64_t name_at,
		size_t name_bytes);

/**
 * Take the whole lines of `bytes`, that stand at `at` in the file, into `fresh`. Gives how many
 * bytes these are: the rest comes again with what follows.
 */
size_t perf_map_feed(struct perf_map *m, struct slice bytes, uint64_t at);

/** Put `fresh` in order, without what a later line of it has overwritten. */
void perf_map_sort(struct perf_map *m);

/** Sorted `fresh` takes the place of what it overlaps. */
void perf_map_merge(struct perf_map *m);

/** The entry that covers an address, or NULL. `entries` are in order. */
const struct perf_map_entry *perf_map_find(const struct perf_map_entries *entries,
		uint64_t address);

void perf_map_finish(struct perf_map *m);

// ---- what a JIT compiler dumps for perf about generated code
//
// perf's jitdump format, version 1: a header, then records of code that was loaded or moved, with
// names, the code itself and more. The entries are stored like those of a perf map. Only files in
// this machine's byte order.
//
// Pure: bytes go in as they are read. One thread.

enum { JIT_DUMP_HEADER_BYTES = 40 };

/** Is it the beginning of one, of the process that calls itself `pid`? */
bool jit_dump_is_of(struct slice header, uint32_t pid);

/**
 * Take the whole records of `bytes`, that stand at `at` in a file of `file_bytes`, into `fresh`.
 * Gives how far to go on in the file, which may be behind `bytes`: code is passed over. 0: more is
 * needed first.
 */
uint64_t jit_dump_feed(struct perf_map *m, struct slice bytes, uint64_t at, uint64_t file_bytes);
