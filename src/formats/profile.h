// SPDX-License-Identifier: MIT
#pragma once

/**
 * A profile as most tools see one: a tree of frames, and numbers at some of its nodes. The encoders
 * of this folder turn it into a file's bytes, the decoders fill it from them; export/ makes it from
 * a recording under a lens, session/ makes a recording from it. Nothing here knows an engine, a
 * file descriptor or a clock. Ids are indices; 0 is "none" for strings, mappings, frames and nodes
 * and is always there (node 0 is the root, the empty stack).
 */

#include "base/arena.h"
#include "base/slice.h"
#include "base/vec.h"

#include <stdint.h>

/** What the numbers are. A profile has those it knows; what it lacks is missing, not zero. */
enum profile_value {
	PROFILE_ALLOC_OBJECTS,
	PROFILE_ALLOC_BYTES,
	PROFILE_TEMPORARY,
	PROFILE_PEAK_OBJECTS, // live at the peak
	PROFILE_PEAK_BYTES,
	PROFILE_LIVE_OBJECTS, // live at the end ("in use")
	PROFILE_LIVE_BYTES,
	N_PROFILE_VALUES,
};

struct profile_mapping {
	uint64_t start, end, file_offset;
	uint32_t path, build_id; // strings; build_id in hexadecimal
	bool has_functions, has_lines;
};

/** A place in code, inlined frames apart: those of one address share `address` and `mapping`. */
struct profile_frame {
	uint32_t function, symbol, file; // strings
	uint32_t line;
	uint32_t mapping;
	uint64_t address;
	bool is_inlined; // into the frame of its parent node
};

struct profile_node {
	uint32_t parent; // the caller; smaller than its own id
	uint32_t frame;
};

/** Numbers of the stack that ends in `node`. At most one sample per (node, size). */
struct profile_sample {
	uint32_t node;
	uint64_t size; // of each block, where a format knows it; 0: various or unknown
	uint64_t values[N_PROFILE_VALUES];
};

/** The heap over time, for formats that have snapshots. */
struct profile_moment {
	uint64_t time_ns, bytes, blocks;
};

#define PROFILE_TABLE(type) \
	struct {                \
		type *items;        \
		uint32_t n;         \
	}

struct profile {
	struct arena *arena;       // everything lies in it; the caller's
	uint32_t known;            // bit 1 << enum profile_value: the profile has this number
	uint32_t program, command; // strings
	uint64_t wall_start_ns, duration_ns, peak_time_ns; // 0: unknown
	PROFILE_TABLE(struct slice) strings;
	PROFILE_TABLE(struct profile_mapping) mappings;
	PROFILE_TABLE(struct profile_frame) frames;
	PROFILE_TABLE(struct profile_node) nodes;
	PROFILE_TABLE(struct profile_sample) samples;
	PROFILE_TABLE(struct profile_moment) moments;
};
