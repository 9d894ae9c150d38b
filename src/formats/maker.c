// SPDX-License-Identifier: MIT
/* Tables of a profile that find what is in them already. */
#include "formats/profile.h"

enum {
	MOST_ITEMS = 1 << 30, // ids are 32 bits wide
	ITEM_BYTES = 64,      // what one costs, with its place in the tables of ids
};

void profile_maker_init(struct profile_maker *m, struct arena *arena) {
	size_t most = arena->max_bytes / ITEM_BYTES;
	*m = (struct profile_maker){.arena = arena,
			.most_items = most && most < MOST_ITEMS ? most : MOST_ITEMS};
	(void)profile_maker_string(m, (struct slice){0});
	m->failed |= !vec_push(&m->mappings) || !vec_push(&m->frames) || !vec_push(&m->nodes);
}

void profile_maker_finish(struct profile_maker *m) {
	CALL_FOR(vec_finish, m, strings, mappings, frames, nodes, samples, moments, lives, grades);
	CALL_FOR(index_finish, m, string_ids, mapping_ids, frame_ids, node_ids, sample_ids);
}

/** Remember item n of a table under its hash; 0 if anything failed. */
static uint32_t added(struct profile_maker *m, struct index *ids, uint32_t hash, bool is_there,
		size_t n) {
	m->failed |= !is_there || n >= m->most_items || !index_add(ids, hash, (uint32_t)n);
	return m->failed ? 0 : (uint32_t)n;
}

/** The id of an item: that of the same one, or of a new one; 0 if anything failed. */
#define ID_OF(m, table, ids, hash, i, is_it, ...)                               \
	({                                                                          \
		uint32_t id_ = INDEX_FIND(&(m)->ids, (hash), i, is_it);                 \
		if (id_ == INDEX_NONE) {                                                \
			bool is_there_ = !(m)->failed && vec_add(&(m)->table, __VA_ARGS__); \
			id_ = added((m), &(m)->ids, (hash), is_there_, (m)->table.n - 1);   \
		}                                                                       \
		id_;                                                                    \
	})

uint32_t profile_maker_string(struct profile_maker *m, struct slice text) {
	const uint32_t hash = (uint32_t)slice_hash(SLICE_HASH, text);
	uint32_t id = INDEX_FIND(&m->string_ids, hash, i, slice_equal(m->strings.items[i], text));
	if (id != INDEX_NONE) {
		return id;
	}
	const char *copy = m->failed ? NULL : arena_text(m->arena, text);
	bool ok = copy && vec_add(&m->strings, slice_of(copy, text.size));
	return added(m, &m->string_ids, hash, ok, m->strings.n - 1);
}

uint32_t profile_maker_mapping(struct profile_maker *m, const struct profile_mapping *mapping) {
	uint32_t range = hash_pair((uint32_t)mapping->start, (uint32_t)mapping->end);
	const uint32_t hash = hash_pair(mapping->path, range);
	return ID_OF(m, mappings, mapping_ids, hash, i,
			m->mappings.items[i].start == mapping->start &&
					m->mappings.items[i].end == mapping->end &&
					m->mappings.items[i].path == mapping->path,
			*mapping);
}

static bool is_same_frame(const struct profile_frame *a, const struct profile_frame *b) {
	return a->function == b->function && a->symbol == b->symbol && a->file == b->file &&
			a->line == b->line && a->mapping == b->mapping && a->address == b->address &&
			a->is_inlined == b->is_inlined;
}

uint32_t profile_maker_frame(struct profile_maker *m, const struct profile_frame *frame) {
	uint32_t place = hash_pair((uint32_t)frame->address, (uint32_t)(frame->address >> 32));
	uint32_t hash = hash_pair(hash_pair(frame->function, frame->line), place ^ frame->is_inlined);
	return ID_OF(m, frames, frame_ids, hash, i, is_same_frame(&m->frames.items[i], frame), *frame);
}

uint32_t profile_maker_node(struct profile_maker *m, uint32_t parent, uint32_t frame) {
	const uint32_t hash = hash_pair(parent, frame);
	return ID_OF(m, nodes, node_ids, hash, i,
			m->nodes.items[i].parent == parent && m->nodes.items[i].frame == frame,
			(struct profile_node){parent, frame});
}

struct profile_sample *profile_maker_sample(struct profile_maker *m, uint32_t node, uint64_t size,
		bool is_base) {
	uint32_t hash = hash_pair(node * 2 + is_base,
			hash_pair((uint32_t)size, (uint32_t)(size >> 32)));
	struct profile_sample made = {.node = node, .is_base = is_base, .size = size};
	uint32_t id = ID_OF(m, samples, sample_ids, hash, i,
			m->samples.items[i].node == node && m->samples.items[i].size == size &&
					m->samples.items[i].is_base == is_base,
			made);
	return m->failed ? NULL : &m->samples.items[id];
}

#define TAKE(to, m, table)                                                     \
	(to)->table.n = (uint32_t)(m)->table.n,                                    \
	(to)->table.items = arena_copy((m)->arena, (m)->table.items, (m)->table.n, \
			sizeof *(m)->table.items),                                         \
	(m)->failed |= !(to)->table.items || (m)->table.n >= MOST_ITEMS

bool profile_maker_take(struct profile_maker *m, struct profile *out, struct err *err) {
	*out = m->head;
	FOR_FIELDS(TAKE, out, m, strings, mappings, frames, nodes, samples, moments, lives, grades);
	return !m->failed || err_memory(err);
}

bool profile_decode(profile_decoder *decode, struct profile *out, struct slice in,
		struct arena *arena, struct err *err) {
	SCOPED(profile_maker) m;
	profile_maker_init(&m, arena);
	return (decode(&m, in, err) || m.failed) && profile_maker_take(&m, out, err);
}
