// SPDX-License-Identifier: MIT
#pragma once
/**
 * glibc's structures, and what the files of the walk share.
 *
 * A chunk begins 16 bytes before its block: with the size of the chunk before it, if that is free,
 * and its own size with three flags. Whether it is in use is told by a flag of the chunk behind it.
 */

#include "injector/space.h"

#include <unistd.h>

enum {
	CHUNK_HEAD = 16,
	CHUNK_MIN = 32,
	IN_USE_BEFORE = 1, // flags of a size
	IS_MAPPED = 2,
	IS_OTHER_ARENA = 4,
	SIZE_FLAGS = 7,
	N_BINS = 127,
	N_FASTBINS = 10,
};

/** malloc_state, from glibc 2.27 on. */
struct arena_image {
	int32_t mutex, flags, have_fast, pad;
	uint64_t fastbins[N_FASTBINS];
	uint64_t top, last_remainder;
	uint64_t bins[2 * N_BINS];
	uint32_t binmap[4];
	uint64_t next, next_free, n_threads;
	uint64_t system_bytes, max_system_bytes;
};
_Static_assert(sizeof(struct arena_image) == 2200, "malloc_state");

struct heap_arena {
	uint64_t at;
	struct arena_image image;
};

/** The part of malloc_par that counts: four numbers, two sizes, and where the heap begins. */
struct heap_parameters {
	int32_t n_mapped, max_mapped, top_mapped, is_fixed;
	uint64_t mapped_bytes, top_mapped_bytes, heap_begin;
};

/** Memory that is read in order: a window moves over it. */
struct heap_reader {
	int memory; // of /proc/PID/mem
	uint64_t at;
	size_t n;
	uint8_t *window;
};

struct heap_walker {
	struct heap_walk *out;
	const struct process_space *space;
	struct heap_reader reader;
	VEC(struct heap_arena) arenas; // the first is main's
	struct heap_parameters parameters;
	uint64_t data_at, data_bytes; // the C library's writable data, where main's arena was found
	bool has_failed;              // no memory
};

/** False: not all of it is readable. */
static inline bool heap_read(const struct heap_walker *w, uint64_t at, void *to, size_t bytes) {
	return pread(w->reader.memory, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/** Add a block. False: no memory. */
static inline bool heap_add(struct heap_walker *w, uint64_t chunk, uint64_t size) {
	// The last word of a chunk in use is the first of the chunk behind it, but for a mapped one
	bool ok = vec_add(&w->out->blocks, (struct heap_block){chunk + CHUNK_HEAD, size - 8});
	w->has_failed |= !ok;
	return ok;
}

/** Remove what lies in lists of free chunks. The blocks are in order. */
void heap_take_out_free(struct heap_walker *w);
