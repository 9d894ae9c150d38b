// SPDX-License-Identifier: MIT
#pragma once
/** Events for benchmarks: made up in the shape of recorded programs, or those of a recording. */

#include "trace/trace.h"

struct events {
	struct trace_event *items; // from malloc
	size_t n, capacity;
	uint32_t n_threads; // ids are 1 .. n_threads
	const char *name;
};

enum { EVENTS_SHAPES = 6 };

/** Of a shape below EVENTS_SHAPES. */
struct events events_made(size_t shape);

/**
 * Of a recording made with --events. The file has no addresses: blocks get those that a simple
 * allocator would give them. Ends the program if it cannot be read.
 */
struct events events_read(const char *path);

/**
 * The first of them in so many threads, each with blocks of its own, which take turns after `run`
 * events. The caller frees the items.
 */
struct events events_of_threads(const struct events *e, uint32_t n_threads, size_t run);
