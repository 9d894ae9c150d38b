// SPDX-License-Identifier: MIT
/*
 * Makes the tree of frames in three steps: what each function is called; a node for each distinct
 * (parent, function, line), in the order in which the recording has them; then the same nodes in
 * pre-order.
 */
#include "web/encode/columns.h"

struct builder {
	const struct recording *r;
	const struct names *names;
	struct arena *arena;
	struct arena scratch;
	struct frames *out;
	uint32_t *symbol_of; // per frame
	struct index symbols, nodes;
};

/** A function of one module; the engine has numbered the functions. There is room. */
static uint32_t symbol_add(struct builder *b, struct frame_symbol symbol) {
	struct frame_symbol *all = b->out->symbols.items;
	uint64_t h = hash_u64((uint64_t)symbol.name->function_id << 32 | symbol.module);
	return INDEX_FIND_OR_PUT(&b->symbols, h, i,
			all[i].module == symbol.module && all[i].name->function_id == symbol.name->function_id,
			all, b->out->symbols.n, symbol);
}

static bool find_symbols(struct builder *b) {
	const struct recording *r = b->r;
	uint32_t most = names_n_frames(b->names);
	b->symbol_of = arena_new(&b->scratch, uint32_t, most);
	b->out->symbols.items = arena_new(b->arena, struct frame_symbol, most + 1ul);
	if (!b->symbol_of || !b->out->symbols.items || !index_reserve(&b->symbols, most)) {
		return false;
	}
	b->out->symbols.n = 1;
	for (uint32_t i = 1; i < r->locations.n; i++) {
		const struct name_list frames = names_of(b->names, i);
		const struct rec_location *l = &r->locations.items[i];
		for (uint32_t k = 0; k < frames.n; k++) {
			const struct name *f = &frames.items[k];
			uint32_t file = k < l->n_frames ? r->frames.items[l->first_frame + k].file : 0;
			b->symbol_of[names_number(b->names, f)] = symbol_add(b,
					(struct frame_symbol){f, l->module, file});
		}
	}
	return true;
}

static uint32_t node_add(struct builder *b, struct frame_node node) {
	struct frame_node *all = b->out->nodes.items;
	uint64_t h = hash_u64(((uint64_t)node.parent << 32 | node.symbol) ^ hash_u64(node.line));
	return INDEX_FIND_OR_PUT(&b->nodes, h, i, memcmp(&all[i], &node, sizeof node) == 0, all,
			b->out->nodes.n, node);
}

static bool find_nodes(struct builder *b) {
	const struct recording *r = b->r;
	uint64_t most = 1 + SUM(i, r->nodes.n, names_of(b->names, r->nodes.items[i].location).n);
	b->out->nodes.items = arena_new(&b->scratch, struct frame_node, most);
	b->out->node_of = arena_new(b->arena, uint32_t, (size_t)r->nodes.n + 1);
	if (!b->out->nodes.items || !b->out->node_of || most > UINT32_MAX ||
			!index_reserve(&b->nodes, (uint32_t)most)) {
		return false;
	}
	b->out->nodes.n = 1;
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct name_list frames = names_of(b->names, r->nodes.items[i].location);
		uint32_t at = b->out->node_of[r->nodes.items[i].parent];
		const uint32_t *symbols = &b->symbol_of[names_number(b->names, frames.items)];
		for (uint32_t k = frames.n; k-- > 0;) { // the outermost first
			at = node_add(b, (struct frame_node){at, symbols[k], frames.items[k].line});
		}
		b->out->node_of[i] = at;
	}
	return true;
}

/** Parents have smaller indices already; siblings become neighbours of each other's subtrees. */
static bool put_in_order(struct builder *b) {
	struct frames *f = b->out;
	uint32_t *size = arena_new(&b->scratch, uint32_t, f->nodes.n);  // of a subtree
	uint32_t *place = arena_new(&b->scratch, uint32_t, f->nodes.n); // the new index
	uint32_t *next = arena_new(&b->scratch, uint32_t, f->nodes.n);  // free place among children
	struct frame_node *ordered = arena_new(b->arena, struct frame_node, f->nodes.n);
	if (!size || !place || !next || !ordered) {
		return false;
	}
	for (uint32_t i = f->nodes.n; i-- > 0;) {
		size[i]++;
		if (i > 0) {
			size[f->nodes.items[i].parent] += size[i];
		}
	}
	next[0] = 1;
	for (uint32_t i = 1; i < f->nodes.n; i++) {
		uint32_t parent = f->nodes.items[i].parent;
		place[i] = next[parent];
		next[parent] += size[i];
		next[i] = place[i] + 1;
		ordered[place[i]] = f->nodes.items[i];
		ordered[place[i]].parent = place[parent];
	}
	for (uint32_t i = 0; i < b->r->nodes.n; i++) {
		f->node_of[i] = place[f->node_of[i]];
	}
	f->nodes.items = ordered;
	return true;
}

bool frames_build(const struct recording *r, const struct names *n, struct arena *arena,
		struct frames *out) {
	struct builder b = {.r = r, .names = n, .arena = arena, .out = out};
	*out = (struct frames){0};
	bool ok = find_symbols(&b) && find_nodes(&b) && put_in_order(&b);
	index_finish(&b.symbols);
	index_finish(&b.nodes);
	arena_finish(&b.scratch);
	return ok;
}
