// SPDX-License-Identifier: MIT
#pragma once
/**
 * Builds a profile, for decoders and for export/: equal strings, mappings, frames and nodes become
 * one. Failure is sticky: once memory or the arena's limit is exhausted everything returns 0 and
 * profile_maker_take fails. Whoever feeds it from a file sets arena->max_bytes.
 */

#include "formats/profile.h"

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

void profile_maker_moment(struct profile_maker *m, uint64_t time_ns, uint64_t bytes,
		uint64_t blocks);
void profile_maker_life(struct profile_maker *m, const struct profile_life *life);

/** The profile, all of it in the arena. The maker is as finished as it was before. */
bool profile_maker_take(struct profile_maker *m, struct profile *out, struct err *err);
