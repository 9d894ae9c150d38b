// SPDX-License-Identifier: MIT
#pragma once

/** The recordings in a folder. */

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

/** A recording in a folder. */
struct listed {
	const char *name;
	uint64_t size_bytes;
	uint64_t written_ns; // since the Unix epoch
};

struct listing {
	struct listed *items;
	size_t n, capacity;
};

/**
 * The recordings of a folder, newest first; their names live in `arena`, the caller calls
 * vec_finish. heaptrack's own files are recognized by their first bytes, others by their names
 * (heaptrack.*.gz, heaptrack.*.zst). False: `err`; `out` may be finished all the same.
 */
bool list_recordings(const char *folder, struct arena *arena, struct listing *out, struct err *err);
