// SPDX-License-Identifier: MIT
#pragma once
/**
 * A profile as most tools see one: a tree of frames, and numbers at some of its nodes. The encoders
 * of this folder turn it into a file's bytes, the decoders fill it from them; export/ makes it from
 * a recording under a lens, session/ makes a recording from it. Nothing here knows an engine, a
 * file descriptor or a clock. Ids are indices; 0 is "none" for strings, mappings, frames and nodes
 * and is always there (node 0 is the root, the empty stack).
 */

#include "base/base.h"

/**
 * What the numbers are. A profile has those it knows; what it lacks is missing, not zero. PEAK:
 * live at the peak; LIVE: at the end ("in use"). X(ID, the word of our CSV and JSON, what a
 * recording calls it in its stacks, and in what it lacks).
 */
#define PROFILE_VALUES(X)                                               \
	X(ALLOC_OBJECTS, "allocations", allocations, ALLOCATIONS)           \
	X(ALLOC_BYTES, "allocated_bytes", allocated_bytes, ALLOCATED_BYTES) \
	X(TEMPORARY, "temporary", temporary, TEMPORARY)                     \
	X(PEAK_OBJECTS, "peak_blocks", peak_blocks, PEAK_BLOCKS)            \
	X(PEAK_BYTES, "peak_bytes", peak_bytes, PEAK_BYTES)                 \
	X(LIVE_OBJECTS, "never_freed_blocks", live_blocks, LIVE_BLOCKS)     \
	X(LIVE_BYTES, "never_freed_bytes", live_bytes, LIVE_BYTES)

#define PROFILE_VALUE_ID(id, ...) PROFILE_##id,
enum profile_value { PROFILE_VALUES(PROFILE_VALUE_ID) N_PROFILE_VALUES };
#undef PROFILE_VALUE_ID
enum { PROFILE_KNOWS_ALL = (1 << N_PROFILE_VALUES) - 1 };

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
	uint64_t address; // of the call itself, not of what follows it; 0: unknown
	bool is_inlined;  // into the frame of its parent node
};

struct profile_node {
	uint32_t parent; // the caller; smaller than its own id
	uint32_t frame;
};

/** Numbers of the stack that ends in `node`. At most one sample per (node, size, is_base). */
struct profile_sample {
	uint32_t node;
	uint32_t site; // frame: what the stack is named after; 0: unknown
	bool is_base;  // of the older side of a comparison
	uint64_t size; // of each block, where a format knows it; 0: various or unknown
	uint64_t values[N_PROFILE_VALUES];
};

/** The heap over time, for formats that have snapshots. Times rise. */
struct profile_moment {
	uint64_t time_ns, bytes, blocks;
};

/** Blocks of one sample that lived at moments from .. until - 1. */
enum { PROFILE_NEVER = 0xffffffff };
struct profile_life {
	uint32_t sample;
	uint32_t from, until; // until == PROFILE_NEVER: to the end; from == until: at no moment
	uint64_t blocks, bytes;
};

/** What pointed to some of the never freed blocks of a sample. */
struct profile_grade {
	const char *name; // static
	uint32_t sample;
	uint64_t blocks, bytes;
};

#define PROFILE_TABLE(type) \
	struct {                \
		type *items;        \
		uint32_t n;         \
	}

struct profile {
	uint32_t known;            // bit 1 << enum profile_value: the profile has this number
	bool is_diff;              // some samples are of the base
	uint8_t time_unit;         // 0: "ns" are; 'i': they are instructions; 'B': bytes
	uint32_t program, command; // strings
	uint32_t pid;
	uint64_t wall_start_ns, duration_ns, peak_time_ns; // 0: unknown
	PROFILE_TABLE(struct slice) strings;
	PROFILE_TABLE(struct profile_mapping) mappings;
	PROFILE_TABLE(struct profile_frame) frames;
	PROFILE_TABLE(struct profile_node) nodes;
	PROFILE_TABLE(struct profile_sample) samples;
	PROFILE_TABLE(struct profile_moment) moments;
	PROFILE_TABLE(struct profile_life) lives;
	PROFILE_TABLE(struct profile_grade) grades;
};

static inline bool profile_knows(const struct profile *p, enum profile_value value) {
	return p->known >> value & 1;
}

static inline struct slice profile_text(const struct profile *p, uint32_t string) {
	return p->strings.items[string];
}

/** When a moment was; the one behind the last, and PROFILE_NEVER, is the end. */
static inline uint64_t profile_moment_ns(const struct profile *p, uint32_t moment) {
	return moment < p->moments.n ? p->moments.items[moment].time_ns : p->duration_ns;
}

/** Over all samples of one side; sums wrap at 2^64. */
uint64_t profile_total(const struct profile *p, enum profile_value value, bool of_base);

/** The word of our CSV and JSON. */
const char *profile_value_name(enum profile_value value);

/**
 * What a viewer offers of the values that the profile knows: `shown` first, then the weightiest.
 * Returns how many.
 */
unsigned profile_views(const struct profile *p, enum profile_value shown,
		enum profile_value views[N_PROFILE_VALUES]);

/**
 * The tree again, with nodes gathered that have the same key: by function name, say. Parents come
 * before children; node 0 is the root. All lies in the arena.
 */
struct profile_tree {
	uint32_t n;
	struct profile_node *nodes; // with a key for a frame
	uint32_t *of_node;          // per node of the profile
};

/** `key_of_frame`: per frame of the profile; NULL: its function. */
void profile_gather(const struct profile *p, const uint32_t *key_of_frame, struct arena *arena,
		struct profile_tree *out);

/** Frames of the same function, as a format tells functions apart; numbered in their order. */
enum { PROFILE_BY_SYMBOL = 1, PROFILE_BY_FILE = 2, PROFILE_BY_MAPPING = 4 }; // and by name
struct profile_functions {
	uint32_t n;         // 0 is none
	uint32_t *of_frame; // per frame: its function
	uint32_t *frame;    // per function: its first frame
};

/** All in the arena. */
void profile_find_functions(const struct profile *p, unsigned told_by, struct arena *arena,
		struct profile_functions *out);

/**
 * Places in code: the frames of one, from the innermost on, are inlined into each other. Each is
 * known by its innermost frame and by the place without it; equal ones are one.
 */
struct profile_places {
	struct profile_tree tree; // by frame; a parent is what a frame is inlined into, or 0
	uint32_t *n_frames;       // per node of it
};

/** `most`: so many frames have one place; what is inlined further in begins another. */
void profile_find_places(const struct profile *p, uint32_t most, struct arena *arena,
		struct profile_places *out);

/** The node that calls the place which begins with a node. */
uint32_t profile_caller_of(const struct profile *p, const struct profile_places *places,
		uint32_t node);

// ---- a profile is built, for decoders and for export/
//
// Equal strings, mappings, frames and nodes become one. Failure is sticky: once memory or the
// arena's limit is exhausted everything returns 0 and profile_maker_take fails. Whoever feeds it
// from a file sets arena->max_bytes.

struct profile_maker {
	struct arena *arena; // texts go here at once, tables when the profile is taken
	struct profile head; // known, command, times: the caller's to fill; its tables stay empty
	VEC(struct slice) strings;
	VEC(struct profile_mapping) mappings;
	VEC(struct profile_frame) frames;
	VEC(struct profile_node) nodes;
	VEC(struct profile_sample) samples;
	VEC(struct profile_moment) moments;
	VEC(struct profile_life) lives;
	VEC(struct profile_grade) grades;
	struct index string_ids, mapping_ids, frame_ids, node_ids, sample_ids;
	size_t most_items; // of each table; follows from the arena's limit
	bool failed;
};

void profile_maker_init(struct profile_maker *m, struct arena *arena);
void profile_maker_finish(struct profile_maker *m);

/** The text is copied. Line ends and zero bytes are the encoders' business. */
uint32_t profile_maker_string(struct profile_maker *m, struct slice text);

uint32_t profile_maker_mapping(struct profile_maker *m, const struct profile_mapping *mapping);
uint32_t profile_maker_frame(struct profile_maker *m, const struct profile_frame *frame);
uint32_t profile_maker_node(struct profile_maker *m, uint32_t parent, uint32_t frame);

/** The sample of a stack, made with zeros if there is none yet. NULL: failed. Valid until the next
 * call. */
struct profile_sample *profile_maker_sample(struct profile_maker *m, uint32_t node, uint64_t size,
		bool is_base);

/** Add a row to one of the tables that have no ids. */
#define PROFILE_MAKER_ADD(m, table, ...) \
	((m)->failed = (m)->failed || !vec_add(&(m)->table, __VA_ARGS__))

/** The profile, all of it in the arena. The maker is as finished as it was before. */
bool profile_maker_take(struct profile_maker *m, struct profile *out, struct err *err);

/** Feeds a maker from the bytes of a file. False: `err` says what is wrong, or the maker failed. */
typedef bool profile_decoder(struct profile_maker *m, struct slice in, struct err *err);

/** The profile that a decoder makes, all of it in `arena`. */
bool profile_decode(profile_decoder *decode, struct profile *out, struct slice in,
		struct arena *arena, struct err *err);
