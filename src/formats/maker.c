// SPDX-License-Identifier: MIT
/* Tables of a profile without duplicates. */
#include "formats/profile.h"

enum {
	MOST_ITEMS = 1 << 30, // ids are 32 bits wide
	ITEM_BYTES = 64,      // the cost of one, including tables of ids
};

void profile_maker_init(struct profile_maker *m, struct arena *arena) {
	size_t most = arena->max_bytes / ITEM_BYTES;
	*m = (struct profile_maker){.arena = arena,
			.most_items = most && most < MOST_ITEMS ? most : MOST_ITEMS};
	(void)profile_maker_string(m, (struct slice){0});
	CALL_FOR(vec_push, m, mappings, frames, nodes);
}

void profile_maker_finish(struct profile_maker *m) {
	CALL_FOR(vec_finish, m, strings, mappings, frames, nodes, samples, moments, lives, grades);
	CALL_FOR(index_finish, m, string_ids, mapping_ids, frame_ids, node_ids, sample_ids);
}

/** The id of an item, or 0 beyond the limit. */
static uint32_t limited(struct profile_maker *m, uint32_t id) {
	m->failed |= id >= m->most_items;
	return m->failed ? 0 : id;
}

/** The id of an equal item, or of a new one; 0 after a failure. */
#define ID_OF(m, table, ids, hash, item, is_it, ...) \
	limited((m),                                     \
			(m)->failed                              \
					? INDEX_NONE                     \
					: VEC_FIND_OR_ADD(&(m)->ids, &(m)->table, (hash), item, is_it, __VA_ARGS__))

static struct slice copy_of(struct profile_maker *m, struct slice text) {
	const char *copy = arena_text(m->arena, text);
	m->failed |= !copy;
	return slice_of(copy, copy ? text.size : 0);
}

uint32_t profile_maker_string(struct profile_maker *m, struct slice text) {
	const uint64_t hash = slice_hash(SLICE_HASH, text);
	return ID_OF(m, strings, string_ids, hash, s, slice_equal(*s, text), copy_of(m, text));
}

uint32_t profile_maker_mapping(struct profile_maker *m, const struct profile_mapping *mapping) {
	uint32_t range = hash_pair((uint32_t)mapping->start, (uint32_t)mapping->end);
	const uint32_t hash = hash_pair(mapping->path, range);
	return ID_OF(m, mappings, mapping_ids, hash, it,
			it->start == mapping->start && it->end == mapping->end && it->path == mapping->path,
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
	return ID_OF(m, frames, frame_ids, hash, it, is_same_frame(it, frame), *frame);
}

uint32_t profile_maker_node(struct profile_maker *m, uint32_t parent, uint32_t frame) {
	const uint32_t hash = hash_pair(parent, frame);
	return ID_OF(m, nodes, node_ids, hash, it, it->parent == parent && it->frame == frame,
			(struct profile_node){parent, frame});
}

struct profile_sample *profile_maker_sample(struct profile_maker *m,
		const struct profile_sample *key) {
	uint32_t hash = hash_pair(key->node * 2 + key->is_base,
			hash_pair((uint32_t)key->size + key->command, (uint32_t)(key->size >> 32)));
	uint32_t id = ID_OF(m, samples, sample_ids, hash, it,
			it->node == key->node && it->size == key->size && it->is_base == key->is_base &&
					it->command == key->command,
			*key);
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
