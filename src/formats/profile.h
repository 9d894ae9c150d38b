// SPDX-License-Identifier: MIT
#pragma once
/**
 * A profile as most tools see one: a tree of frames, with numbers at some nodes. The encoders of
 * this folder turn it into a file's bytes, the decoders make it from them; export/ makes it from a
 * recording under a lens, session/ makes a recording from it. Independent of the engine; uses no
 * files or clocks. Ids are indices; 0 is "none" for strings, mappings, frames and nodes and always
 * exists (node 0 is the root, the empty stack).
 */

#include "base/base.h"

/**
 * The numbers. A profile has those that are known; others are missing, not zero. PEAK: live at the
 * peak; LIVE: at the end ("in use"). X(ID, name in our CSV and JSON, field of a recording's stacks,
 * enum rec_number).
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

/** A frame in code; frames inlined at one address share `address` and `mapping`. */
struct profile_frame {
	uint32_t function, symbol, file; // strings
	uint32_t line;
	uint32_t mapping;
	uint64_t address; // of the call, not after it; 0: unknown
	bool is_inlined;  // into the frame of its parent node
};

struct profile_node {
	uint32_t parent; // the caller; has a smaller id
	uint32_t frame;
};

/** The numbers of the stack that ends in `node`. At most one sample per (node,
 * command, size, is_base). */
struct profile_sample {
	uint32_t node;
	uint32_t site;    // frame that the stack is named after; 0: unknown
	uint32_t command; // string: what its process executed, in a tree of processes; else 0
	bool is_base;     // of the base of a comparison
	uint64_t size;    // of each block, if a format knows it; 0: varies or unknown
	uint64_t values[N_PROFILE_VALUES];
};

/** The heap over time, for formats with snapshots. Times rise. */
struct profile_moment {
	uint64_t time_ns, bytes, blocks;
};

/** Blocks of a sample that were live at moments from .. until - 1. */
enum { PROFILE_NEVER = 0xffffffff };
struct profile_life {
	uint32_t sample;
	uint32_t from, until; // PROFILE_NEVER: to the end; from == until: at no moment
	uint64_t blocks, bytes;
};

/** What pointed to some of a sample's never freed blocks. */
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
	uint8_t time_unit;         // 0: times are ns; 'i': instructions; 'B': bytes
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

/** A moment's time; the end for moments.n and PROFILE_NEVER. */
static inline uint64_t profile_moment_ns(const struct profile *p, uint32_t moment) {
	return moment < p->moments.n ? p->moments.items[moment].time_ns : p->duration_ns;
}

/** The sum over all samples of one side, modulo 2^64. */
uint64_t profile_total(const struct profile *p, enum profile_value value, bool of_base);

/** Its name in our CSV and JSON. */
const char *profile_value_name(enum profile_value value);

/** The known values that a viewer offers: `shown` first, then the most important; how many. */
unsigned profile_views(const struct profile *p, enum profile_value shown,
		enum profile_value views[N_PROFILE_VALUES]);

/**
 * The tree with nodes merged by a key, such as the function name. Parents come before children;
 * node 0 is the root. Everything is in the arena.
 */
struct profile_tree {
	uint32_t n;
	struct profile_node *nodes; // with a key instead of a frame
	uint32_t *of_node;          // per node of the profile
};

/** `key_of_frame`: per frame; NULL: its function. */
void profile_gather(const struct profile *p, const uint32_t *key_of_frame, struct arena *arena,
		struct profile_tree *out);

/** Functions as a format distinguishes them, numbered by first frame. */
enum { PROFILE_BY_SYMBOL = 1, PROFILE_BY_FILE = 2, PROFILE_BY_MAPPING = 4 }; // besides the name
struct profile_functions {
	uint32_t n;         // 0 is none
	uint32_t *of_frame; // per frame: its function
	uint32_t *frame;    // per function: its first frame
};

/** Everything is in the arena. */
void profile_find_functions(const struct profile *p, unsigned told_by, struct arena *arena,
		struct profile_functions *out);

/**
 * Places in code: frames of one are inlined into each other, innermost first. A place is identified
 * by its innermost frame and the place without it.
 */
struct profile_places {
	struct profile_tree tree; // by frame; the parent is what a frame is inlined into, or 0
	uint32_t *n_frames;       // per node of it
};

/** `most`: frames per place; frames inlined further begin another place. */
void profile_find_places(const struct profile *p, uint32_t most, struct arena *arena,
		struct profile_places *out);

/** The node that calls the place beginning with a node. */
uint32_t profile_caller_of(const struct profile *p, const struct profile_places *places,
		uint32_t node);

// ---- building a profile, for decoders and for export/
//
// Equal strings, mappings, frames and nodes become one. Failure is sticky: beyond the arena's limit
// everything returns 0 and profile_maker_take fails. Set arena->max_bytes when reading files.

struct profile_maker {
	struct arena *arena; // gets texts at once, tables when the profile is taken
	struct profile head; // known, command, times: set by the caller; its tables stay empty
	VEC(struct slice) strings;
	VEC(struct profile_mapping) mappings;
	VEC(struct profile_frame) frames;
	VEC(struct profile_node) nodes;
	VEC(struct profile_sample) samples;
	VEC(struct profile_moment) moments;
	VEC(struct profile_life) lives;
	VEC(struct profile_grade) grades;
	struct index string_ids, mapping_ids, frame_ids, node_ids, sample_ids;
	size_t most_items; // of each table; from the arena's limit
	bool failed;
};

void profile_maker_init(struct profile_maker *m, struct arena *arena);
void profile_maker_finish(struct profile_maker *m);

/** Copies the text. Encoders handle line ends and NULs. */
uint32_t profile_maker_string(struct profile_maker *m, struct slice text);

uint32_t profile_maker_mapping(struct profile_maker *m, const struct profile_mapping *mapping);
uint32_t profile_maker_frame(struct profile_maker *m, const struct profile_frame *frame);
uint32_t profile_maker_node(struct profile_maker *m, uint32_t parent, uint32_t frame);

/** The sample with the node, command, size and side of `key`, which becomes one if there is none.
 * Valid until the next call. NULL: failed. */
struct profile_sample *profile_maker_sample(struct profile_maker *m,
		const struct profile_sample *key);

/** Add a row to a table without ids. */
#define PROFILE_MAKER_ADD(m, table, ...) \
	((m)->failed = (m)->failed || !vec_add(&(m)->table, __VA_ARGS__))

/** Put the profile into the arena. The maker must still be finished. */
bool profile_maker_take(struct profile_maker *m, struct profile *out, struct err *err);

/** Feeds a maker from a file's bytes. False: `err` says what is wrong, or the maker failed. */
typedef bool profile_decoder(struct profile_maker *m, struct slice in, struct err *err);

/** Run a decoder; the profile is in `arena`. */
bool profile_decode(profile_decoder *decode, struct profile *out, struct slice in,
		struct arena *arena, struct err *err);
