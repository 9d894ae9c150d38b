// SPDX-License-Identifier: MIT
/* Sums over a profile; its tree grouped by a key; its functions and places in code. */
#include "formats/profile.h"

uint64_t profile_total(const struct profile *p, enum profile_value value, bool of_base) {
	const struct profile_sample *s = p->samples.items;
	return SUM(i, p->samples.n, s[i].is_base == of_base ? s[i].values[value] : 0);
}

const char *profile_value_name(enum profile_value value) {
#define NAME(id, name, ...) name,
	static const char *const names[] = {PROFILE_VALUES(NAME)};
	return names[value];
}

unsigned profile_views(const struct profile *p, enum profile_value shown,
		enum profile_value views[N_PROFILE_VALUES]) {
	const enum profile_value order[] = {shown, PROFILE_PEAK_BYTES, PROFILE_LIVE_BYTES,
			PROFILE_ALLOC_BYTES, PROFILE_ALLOC_OBJECTS, PROFILE_TEMPORARY};
	unsigned n = 0;
	EACH_NUMBER(i, N_OF(order), profile_knows(p, order[i]) && (i == 0 || order[i] != shown)) {
		views[n++] = order[i];
	}
	return n;
}

/** `n_frames` NULL: calls become children, not only what is inlined. */
static void gather(const struct profile *p, const uint32_t *key_of_frame, uint32_t most,
		uint32_t *n_frames, struct arena *arena, struct profile_tree *t) {
	SCOPED(index) table = {0};
	*t = (struct profile_tree){
			.n = 1,
			.nodes = arena_new(arena, struct profile_node, p->nodes.n),
			.of_node = arena_new(arena, uint32_t, p->nodes.n),
	};
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		const struct profile_node *n = &p->nodes.items[i];
		uint32_t parent = t->of_node[n->parent];
		uint32_t key = n_frames ? n->frame
				: key_of_frame  ? key_of_frame[n->frame]
								: p->frames.items[n->frame].function;
		if (n_frames && (!p->frames.items[n->frame].is_inlined || n_frames[parent] >= most)) {
			parent = 0;
		}
		uint32_t id = INDEX_FIND_OR_PUT(&table, hash_pair(parent, key), k,
				t->nodes[k].parent == parent && t->nodes[k].frame == key, t->nodes, t->n,
				(struct profile_node){parent, key});
		t->of_node[i] = id;
		if (n_frames) {
			n_frames[id] = n_frames[parent] + 1;
		}
	}
}

void profile_gather(const struct profile *p, const uint32_t *key_of_frame, struct arena *arena,
		struct profile_tree *out) {
	gather(p, key_of_frame, 0, NULL, arena, out);
}

void profile_find_places(const struct profile *p, uint32_t most, struct arena *arena,
		struct profile_places *out) {
	out->n_frames = arena_new(arena, uint32_t, p->nodes.n);
	gather(p, NULL, most, out->n_frames, arena, &out->tree);
}

static bool is_same(const struct profile_frame *a, const struct profile_frame *b,
		unsigned told_by) {
	return a->function == b->function &&
			(!(told_by & PROFILE_BY_SYMBOL) || a->symbol == b->symbol) &&
			(!(told_by & PROFILE_BY_FILE) || a->file == b->file) &&
			(!(told_by & PROFILE_BY_MAPPING) || a->mapping == b->mapping);
}

void profile_find_functions(const struct profile *p, unsigned told_by, struct arena *arena,
		struct profile_functions *out) {
	SCOPED(index) ids = {0};
	*out = (struct profile_functions){
			.n = 1,
			.of_frame = arena_new(arena, uint32_t, p->frames.n),
			.frame = arena_new(arena, uint32_t, p->frames.n + 1ul),
	};
	for (uint32_t i = 1; i < p->frames.n; i++) {
		const struct profile_frame *f = &p->frames.items[i];
		out->of_frame[i] = INDEX_FIND_OR_PUT(&ids, hash_pair(f->function, f->file), k,
				is_same(f, &p->frames.items[out->frame[k]], told_by), out->frame, out->n, i);
	}
}

uint32_t profile_caller_of(const struct profile *p, const struct profile_places *places,
		uint32_t node) {
	for (uint32_t at = places->tree.of_node[node]; at; at = places->tree.nodes[at].parent) {
		node = p->nodes.items[node].parent;
	}
	return node;
}
