// SPDX-License-Identifier: MIT
/*
 * Makes the tree of frames in three steps: what each function is called; a node for each distinct
 * (parent, function, line), in the order in which the recording has them; then the same nodes in
 * pre-order.
 */
#include "web/encode/frames.h"

struct table { // open addressing; 0 is empty
	uint32_t *slots;
	uint32_t mask;
};

struct builder {
	const struct recording *r;
	const struct names *names;
	struct arena *arena;
	struct arena scratch;
	struct frames *out;
	uint32_t *first_symbol; // per location: of its frames in symbol_of
	uint32_t *symbol_of;
	struct table symbols, nodes;
	uint32_t nodes_capacity;
};

static bool table_init(struct table *t, struct arena *arena, uint64_t n) {
	uint64_t size = 16;
	while (size < 2 * n) {
		size *= 2;
	}
	t->slots = size > UINT32_MAX ? NULL : arena_new(arena, uint32_t, size);
	t->mask = (uint32_t)(size - 1);
	return t->slots != NULL;
}

static uint64_t mix(uint64_t h, uint64_t v) {
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ (h >> 29);
}

/** A function of one module; the engine has numbered the functions. */
static uint32_t symbol_add(struct builder *b, struct frame_symbol symbol) {
	struct table *t = &b->symbols;
	uint64_t h = mix(symbol.name->function_id, symbol.module);
	for (uint32_t i = (uint32_t)(h >> 20) & t->mask;; i = (i + 1) & t->mask) {
		uint32_t id = t->slots[i];
		if (id == 0) {
			id = b->out->n_symbols++;
			b->out->symbols[id] = symbol;
			t->slots[i] = id;
			return id;
		}
		const struct frame_symbol *s = &b->out->symbols[id];
		if (s->module == symbol.module && s->name->function_id == symbol.name->function_id) {
			return id;
		}
	}
}

static bool find_symbols(struct builder *b) {
	const struct recording *r = b->r;
	uint64_t total = 1;
	b->first_symbol = arena_new(&b->scratch, uint32_t, r->locations.n);
	for (uint32_t i = 0; b->first_symbol && i < r->locations.n; i++) {
		uint32_t n;
		(void)names_of(b->names, i, &n);
		b->first_symbol[i] = (uint32_t)total;
		total += n;
	}
	b->symbol_of = arena_new(&b->scratch, uint32_t, total);
	b->out->symbols = arena_new(b->arena, struct frame_symbol, total);
	if (!b->first_symbol || !b->symbol_of || !b->out->symbols ||
			!table_init(&b->symbols, &b->scratch, total)) {
		return false;
	}
	b->out->n_symbols = 1;
	for (uint32_t i = 1; i < r->locations.n; i++) {
		uint32_t n;
		const struct name *frames = names_of(b->names, i, &n);
		const struct rec_location *l = &r->locations.items[i];
		for (uint32_t k = 0; k < n; k++) {
			uint32_t file = k < l->n_frames ? r->frames.items[l->first_frame + k].file : 0;
			b->symbol_of[b->first_symbol[i] + k] = symbol_add(b,
					(struct frame_symbol){&frames[k], l->module, file});
		}
	}
	return true;
}

static uint32_t node_add(struct builder *b, struct frame_node node) {
	struct table *t = &b->nodes;
	uint64_t h = mix(mix(node.parent, node.symbol), node.line);
	for (uint32_t i = (uint32_t)(h >> 20) & t->mask;; i = (i + 1) & t->mask) {
		uint32_t id = t->slots[i];
		if (id == 0) {
			id = b->out->n_nodes++;
			b->out->nodes[id] = node;
			t->slots[i] = id;
		} else if (memcmp(&b->out->nodes[id], &node, sizeof node) != 0) {
			continue;
		}
		return id;
	}
}

static bool find_nodes(struct builder *b) {
	const struct recording *r = b->r;
	uint64_t most = 1;
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		uint32_t n;
		(void)names_of(b->names, r->nodes.items[i].location, &n);
		most += n;
	}
	b->out->nodes = arena_new(&b->scratch, struct frame_node, most);
	b->out->node_of = arena_new(b->arena, uint32_t, (size_t)r->nodes.n + 1);
	if (!b->out->nodes || !b->out->node_of || !table_init(&b->nodes, &b->scratch, most)) {
		return false;
	}
	b->out->n_nodes = 1;
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		uint32_t location = r->nodes.items[i].location, n;
		const struct name *frames = names_of(b->names, location, &n);
		uint32_t at = b->out->node_of[r->nodes.items[i].parent];
		for (uint32_t k = n; k-- > 0;) { // the outermost first
			uint32_t symbol = b->symbol_of[b->first_symbol[location] + k];
			at = node_add(b, (struct frame_node){at, symbol, frames[k].line});
		}
		b->out->node_of[i] = at;
	}
	return true;
}

/** Parents have smaller indices already; siblings become neighbours of each other's subtrees. */
static bool put_in_order(struct builder *b) {
	struct frames *f = b->out;
	uint32_t *size = arena_new(&b->scratch, uint32_t, f->n_nodes);  // of a subtree
	uint32_t *place = arena_new(&b->scratch, uint32_t, f->n_nodes); // the new index
	uint32_t *next = arena_new(&b->scratch, uint32_t, f->n_nodes);  // free place among children
	struct frame_node *ordered = arena_new(b->arena, struct frame_node, f->n_nodes);
	if (!size || !place || !next || !ordered) {
		return false;
	}
	for (uint32_t i = f->n_nodes; i-- > 0;) {
		size[i]++;
		if (i > 0) {
			size[f->nodes[i].parent] += size[i];
		}
	}
	next[0] = 1;
	for (uint32_t i = 1; i < f->n_nodes; i++) {
		uint32_t parent = f->nodes[i].parent;
		place[i] = next[parent];
		next[parent] += size[i];
		next[i] = place[i] + 1;
		ordered[place[i]] = f->nodes[i];
		ordered[place[i]].parent = place[parent];
	}
	for (uint32_t i = 0; i < b->r->nodes.n; i++) {
		f->node_of[i] = place[f->node_of[i]];
	}
	f->nodes = ordered;
	return true;
}

bool frames_build(const struct recording *r, const struct names *n, struct arena *arena,
		struct frames *out) {
	struct builder b = {.r = r, .names = n, .arena = arena, .out = out};
	*out = (struct frames){0};
	bool ok = find_symbols(&b) && find_nodes(&b) && put_in_order(&b);
	arena_finish(&b.scratch);
	return ok;
}
