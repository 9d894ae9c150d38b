// SPDX-License-Identifier: MIT
/*
 * Makes the tree of frames: what each function is called, what each frame is but its caller, then
 * the call tree by that.
 */
#include "web/encode/columns.h"

struct builder {
	const struct recording *r;
	const struct names *names;
	struct arena *arena;
	struct arena scratch;
	struct frames *out;
	uint32_t *keys; // per frame: its kind
	struct index symbols, kinds;
};

/** A function of one module; the engine has numbered the functions. There is room. */
static uint32_t symbol_add(struct builder *b, struct frame_symbol symbol) {
	struct frame_symbol *all = b->out->symbols.items;
	uint64_t h = hash_u64((uint64_t)symbol.name->function_id << 32 | symbol.module);
	return INDEX_FIND_OR_PUT(&b->symbols, h, i,
			all[i].module == symbol.module && all[i].name->function_id == symbol.name->function_id,
			all, b->out->symbols.n, symbol);
}

static uint32_t kind_add(struct builder *b, struct frame_kind kind) {
	struct frame_kind *all = b->out->kinds.items;
	uint64_t h = hash_u64((uint64_t)kind.symbol << 32 | kind.line);
	return INDEX_FIND_OR_PUT(&b->kinds, h, i, memcmp(&all[i], &kind, sizeof kind) == 0, all,
			b->out->kinds.n, kind);
}

static void find_kinds(struct builder *b) {
	const struct recording *r = b->r;
	uint32_t most = names_n_frames(b->names);
	b->keys = arena_new(&b->scratch, uint32_t, most);
	b->out->symbols.items = arena_new(b->arena, struct frame_symbol, most + 1ul);
	b->out->kinds.items = arena_new(b->arena, struct frame_kind, most + 1ul);
	b->out->symbols.n = b->out->kinds.n = 1;
	for (uint32_t i = 1; i < r->locations.n; i++) {
		const struct name_list frames = names_of(b->names, i);
		const struct rec_location *l = &r->locations.items[i];
		for (uint32_t k = 0; k < frames.n; k++) {
			const struct name *f = &frames.items[k];
			uint32_t file = k < l->n_frames ? r->frames.items[l->first_frame + k].file : 0;
			uint32_t symbol = symbol_add(b, (struct frame_symbol){f, l->module, file});
			b->keys[names_number(b->names, f)] = kind_add(b, (struct frame_kind){symbol, f->line});
		}
	}
}

void frames_build(const struct recording *r, const struct names *n, struct arena *arena,
		struct frames *out) {
	struct builder b = {.r = r, .names = n, .arena = arena, .out = out};
	struct call_tree tree;
	*out = (struct frames){0};
	find_kinds(&b);
	call_tree_by_keys(r, n, b.keys, arena, &tree, &out->node_of);
	tree.nodes[0].key = 0;
	out->nodes.items = tree.nodes;
	out->nodes.n = tree.n;
	CALL_FOR(index_finish, &b, symbols, kinds);
	arena_finish(&b.scratch);
}
