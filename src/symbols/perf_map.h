// SPDX-License-Identifier: MIT
#pragma once
/**
 * Reads a JIT compiler's description of generated code: lines "START SIZE NAME", with hexadecimal
 * numbers, appended to /tmp/perf-PID.map. Code is freed and its addresses reused, so a later line
 * replaces what it overlaps. Names stay in the file: an entry holds their offset. Does no I/O:
 * bytes are passed in as they are read. Single-threaded.
 */

#include "base/base.h"

struct perf_map_entry {
	uint64_t start, end; // of the code; start < end
	uint64_t name_at;    // offset of the name in the file
	uint32_t name_bytes;
	uint32_t number; // of its line: later ones are higher
};

struct perf_map_entries {
	VEC(struct perf_map_entry);
};

struct perf_map {
	struct perf_map_entries current; // ascending, disjoint
	struct perf_map_entries fresh;   // since the last merge; after perf_map_sort also in order
	uint32_t n_lines;
};

enum { PERF_MAP_NAME_MAX = 4096, PERF_MAP_ENTRIES_MAX = 1 << 21 };

/** Add to `fresh`; ignored without size or name, and beyond PERF_MAP_ENTRIES_MAX. */
void perf_map_add(struct perf_map *m, uint64_t start, uint64_t size, uint64_t name_at,
		size_t name_bytes);

/** Add whole lines of `bytes` at `offset` to `fresh`. Returns their size; pass the rest again. */
size_t perf_map_feed(struct perf_map *m, struct slice bytes, uint64_t at);

/** Sort `fresh`, and drop what later lines of it replaced. */
void perf_map_sort(struct perf_map *m);

/** Merge sorted `fresh` into `current`, replacing what it overlaps. */
void perf_map_merge(struct perf_map *m);

/** The entry for an address, or NULL. `entries` are sorted. */
const struct perf_map_entry *perf_map_find(const struct perf_map_entries *entries,
		uint64_t address);

void perf_map_finish(struct perf_map *m);

// ---- perf's jitdump format
//
// Version 1: a header, then records of code that was loaded or moved, with names, the code itself
// and more. Entries are stored like those of a perf map. Only for this machine's byte order. Does
// no I/O. Single-threaded.

enum { JIT_DUMP_HEADER_BYTES = 40 };

/** Is this the header of one, from the process with its own pid `pid`? */
bool jit_dump_is_of(struct slice header, uint32_t pid);

/**
 * Add the complete records of `bytes`, at offset `at` in a file of `file_bytes`, to `fresh`.
 * Returns where to continue in the file, maybe after `bytes`: code is skipped. 0: needs more first.
 */
uint64_t jit_dump_feed(struct perf_map *m, struct slice bytes, uint64_t at, uint64_t file_bytes);
