// SPDX-License-Identifier: MIT
/*
 * From edges to who holds what.
 *
 *   root words ──► root objects: variables, threads, mappings
 *   fields     ──► rare edges, which count only for what is not reached otherwise
 *   flow       ──► dominators ──► rows: blocks of a stack below the same row are one
 *
 * Blocks below a row of their own stack belong to that row: lists and trees are as deep as the
 * program's data, rows are not.
 */
#include "engine/costs/stacks.h"
#include "engine/graph/parts.h"

enum {
	MANY_POINTERS = 100, // into the blocks of a stack, of which one field has
	FEW = 50,            // less than this fraction (1/FEW)
	ROWS_MOST = 1 << 16,
	LEAST = 1000, // a row must hold this fraction (1/LEAST) of everything held
};

/** A word of a root. `root` is its object; root.at, where that begins. */
struct root_word {
	struct graph_root root;
	uint32_t block;
};

/** Pointers from a word of the blocks of one stack to blocks of another. */
struct field {
	uint32_t from, to, word, n;
	uint32_t blocks, last; // that have any; 1 + the last of them
};

struct holding {
	struct marking *m;
	uint32_t *stacks;            // by block: the first stack with the same places, or STACK_NONE
	VEC(struct root_word) words; // by object
	VEC(size_t) objects;         // where the words of each begin, and their end
	VEC(struct field) fields;
	struct index field_index;
	struct flow flow; // vertices: the start, objects, blocks
	bool *is_usual;   // by vertex: reached without rare edges; NULL: not known yet
	size_t n_put;
	struct dominators dominators;
	uint32_t *rows;         // by position in dominators: 1 + row of out->holders
	struct index row_index; // by the row above and the stack
};

// ---- root objects

/** A thread's variables begin with the page of its thread area; two before it without a stack. */
static bool is_thread_local(const struct parts_input *in, const struct graph_root *r, uint64_t at) {
	if (r->kind != REC_HOLDER_STACK || r->thread == 0) {
		return false;
	}
	const struct smaps_area *a = &in->areas->items[r->area];
	const struct parts_thread *t = &in->threads[r->thread - 1];
	bool has_sp = t->sp >= a->start && t->sp < a->end;
	uint64_t start = (t->fs_base & -in->page_bytes) - (has_sp ? 0 : 2 * in->page_bytes);
	return t->fs_base >= a->start && t->fs_base < a->end && at >= start;
}

static void take_words(struct marking *m, struct part *p, const struct source *s, uint64_t at,
		const uint8_t *memory, size_t bytes) {
	const struct graph_input *in = m->in;
	(void)p;
	for (size_t i = 0; i + WORD <= bytes; i += WORD) {
		uint64_t word;
		memcpy(&word, memory + i, sizeof word);
		const uint32_t block = edges_may_be_block(m, word) ? edges_target(m, s, word) : NO_BLOCK;
		struct graph_root root = s->root;
		if (block == NO_BLOCK) {
			continue;
		}
		if (root.kind == REC_HOLDER_GLOBAL && in->variable) {
			root.at = in->variable(in->user, root.area, at + i) ?: root.at;
		} else if (is_thread_local(in->parts, &root, at + i)) {
			root.kind = REC_HOLDER_THREAD_LOCAL;
		} else if (root.kind == REC_HOLDER_STACK && in->frame) {
			root.frame = in->frame(in->user, at + i);
		}
		(void)vec_add(&m->holding->words, (struct root_word){root, block});
	}
}

/** Words with equal identity are one object; a thread's frames are adjacent, outer ones first. */
static uint64_t identity(const struct graph_root *r) {
	return r->thread > 0 ? (uint64_t)r->thread << 32 | (r->frame ? ~r->frame : 0)
			: r->kind == REC_HOLDER_MAPPING && r->mapping ? r->mapping
														  : r->at;
}

ORDER_OF(by_object, struct root_word,
		LOWEST(root.kind) ?: compare_u64(identity(&a->root), identity(&b->root)));

static void take_registers(struct holding *h) {
	const struct graph_input *in = h->m->in;
	for (size_t i = 0; i < in->n_threads * GRAPH_WORDS; i++) {
		const size_t thread = i / GRAPH_WORDS, word = i % GRAPH_WORDS;
		const uint32_t block = edges_block_of(h->m, in->threads[thread].words[word]);
		if (block != NO_BLOCK) {
			const struct graph_root root = {.thread = (uint32_t)thread + 1,
					.frame = in->frame ? in->frame(in->user, GRAPH_AT_WORD(thread, word)) : 0,
					.kind = REC_HOLDER_STACK};
			(void)vec_add(&h->words, (struct root_word){root, block});
		}
	}
}

static bool find_objects(struct holding *h) {
	struct marking *m = h->m;
	struct part *p = &m->parts[0];
	p->window_at = 0;
	m->holding = h;
	EACH_WHILE(root, m->roots, !p->is_unread) {
		edges_read_source(m, p, root, false, take_words);
	}
	take_registers(h);
	// Nothing is known of where the kernel's words, and those found in disguise, are
	EACH_NUMBER(i, (uint32_t)m->blocks.n, m->grades[i] == REC_DISGUISED) {
		(void)vec_add(&h->words, (struct root_word){{.kind = REC_HOLDER_DISGUISE}, i});
	}
	vec_sort(&h->words, by_object);
	EACH_NUMBER(i, h->words.n,
			i == 0 || by_object(&h->words.items[i - 1], &h->words.items[i]) != 0) {
		(void)vec_add(&h->objects, i);
	}
	(void)vec_add(&h->objects, h->words.n);
	return !p->is_unread;
}

/** Numbers start at 1. */
static const struct graph_root *object_of(const struct holding *h, size_t number) {
	return &h->words.items[h->objects.items[number - 1]].root;
}

/** Is it a frame called by the object before it, in the same thread? */
static bool is_called(const struct holding *h, size_t number) {
	const struct graph_root *r = object_of(h, number);
	const struct graph_root *before = number > 1 ? object_of(h, number - 1) : NULL;
	return before && r->frame && before->kind == r->kind && before->thread == r->thread;
}

// ---- stacks

/** By node, a hash sum over its distinct places. Not recursive, as stacks may be very deep. */
static uint64_t *find_places(const struct graph_input *in) {
	const struct rec_node *nodes = in->nodes;
	uint32_t last = 0;
	EACH_OF(n, nodes, in->n_nodes) {
		RAISE_TO(last, n->location);
	}
	FREED uint32_t *callee = memory_new(in->n_nodes, sizeof *callee); // the first one
	FREED uint32_t *next = memory_new(in->n_nodes, sizeof *next);     // with the same caller
	FREED uint32_t *entered = memory_new(last + 1ul, sizeof *entered);
	uint64_t *sums = memory_new(in->n_nodes, sizeof *sums);
	for (uint32_t i = in->n_nodes; i-- > 1;) {
		next[i] = callee[nodes[i].parent];
		callee[nodes[i].parent] = i;
	}
	for (uint32_t i = callee[0]; i != 0;) {
		const uint32_t place = nodes[i].location;
		sums[i] = sums[nodes[i].parent] + (entered[place]++ ? 0 : hash_u64(place));
		if (callee[i] != 0) {
			i = callee[i];
			continue;
		}
		for (; i != 0 && next[i] == 0; i = nodes[i].parent) {
			entered[nodes[i].location]--;
		}
		entered[nodes[i].location] -= i != 0;
		i = next[i];
	}
	return sums;
}

static void find_stacks(struct holding *h) {
	const struct graph_input *in = h->m->in;
	const struct live_blocks *blocks = &h->m->blocks;
	const uint32_t n_stacks = blocks->n_stacks;
	FREED uint64_t *sums = in->nodes ? find_places(in) : NULL;
	FREED uint32_t *alike = memory_new(n_stacks, sizeof *alike);
	struct map first = {0};
	h->stacks = memory_new(blocks->n, sizeof *h->stacks);
	for (uint32_t i = 0; i < n_stacks; i++) {
		const uint32_t node = sums ? aggregate_node(in->parts->blocks, i) : 0;
		const uint64_t known = node && node < in->n_nodes ? map_get(&first, sums[node]) : 0;
		alike[i] = known ? (uint32_t)known - 1 : i;
		if (node && node < in->n_nodes && !known) {
			(void)map_put(&first, sums[node], i + 1ul);
		}
	}
	for (size_t i = 0; i < blocks->n; i++) {
		const uint32_t stack = blocks->items[i].stack;
		h->stacks[i] = stack < n_stacks ? alike[stack] : STACK_NONE;
	}
	map_finish(&first);
}

// ---- rare fields

#define ANY_STACK (STACK_NONE - 1)

/** The field for pointers from that word to blocks of `to`. */
static uint32_t field_of(struct holding *h, uint32_t block, uint32_t to, const struct edge *e) {
	const struct field f = {.from = h->stacks[block], .to = to, .word = e->word};
	const uint64_t hash = hash_u64((uint64_t)f.from << 39 ^ (uint64_t)f.to << 7 ^ f.word);
	return VEC_FIND_OR_ADD(&h->field_index, &h->fields, hash, k,
			k->from == f.from && k->to == f.to && k->word == f.word, f);
}

/** Is this a small part of all that a stack has? Never of no stack. */
static bool is_few(uint32_t n, const uint32_t *all, uint32_t n_stacks, uint32_t stack) {
	return stack < n_stacks && all[stack] >= MANY_POINTERS && (uint64_t)n * FEW < all[stack];
}

static void count_in(struct holding *h, uint32_t number, uint32_t block) {
	struct field *f = &h->fields.items[number];
	f->n++;
	f->blocks += f->last != block + 1;
	f->last = block + 1;
}

/**
 * Mark edges as rare. A word is rare if few blocks of its stack have it, or if it has few of the
 * pointers to the blocks of another stack and most of its own do not have it. Large blocks are
 * treated as arrays, with one word for each stack they lead to; what most of many such blocks lack
 * was left behind in the others.
 */
static void mark_rare(struct holding *h) {
	const struct marking *m = h->m;
	const uint32_t n = (uint32_t)m->blocks.n, n_stacks = m->blocks.n_stacks;
	FREED uint32_t *n_into = memory_new(n_stacks + 1ul, 2 * sizeof *n_into); // last: of no stack
	uint32_t *n_blocks = n_into + n_stacks + 1;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t from = h->stacks[i];
		n_blocks[from < n_stacks ? from : n_stacks]++;
		EACH_EDGE(e, m, m->roots.n + i) {
			const uint32_t to = h->stacks[e->block];
			count_in(h, field_of(h, i, to, e), i);
			count_in(h, field_of(h, i, ANY_STACK, e), i);
			n_into[to < n_stacks ? to : n_stacks]++;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		EACH_EDGE(e, m, m->roots.n + i) {
			const uint32_t from = h->stacks[i], to = h->stacks[e->block];
			const uint32_t to_field = field_of(h, i, to, e), any = field_of(h, i, ANY_STACK, e);
			const struct field *field = &h->fields.items[to_field], *word = &h->fields.items[any];
			const bool is_array = e->word == WORDS_APART;
			const uint32_t n_with = is_array ? field->blocks : word->blocks;
			const bool is_unusual = from < n_stacks && n_with < n_blocks[from] / 2;
			const bool is_left = is_array ? is_unusual && n_blocks[from] >= MANY_POINTERS
										  : is_few(n_with, n_blocks, n_stacks, from);
			e->is_rare = is_left || (is_unusual && is_few(field->n, n_into, n_stacks, to));
		}
	}
}

// ---- the flow

static uint32_t vertex_of(const struct holding *h, uint32_t block) {
	return (uint32_t)(h->objects.n + block); // the last position is not an object
}

/** Count an edge, or store it. What usual edges reach is held by no others. */
static void take_edge(struct holding *h, uint32_t from, uint32_t to, bool is_rare) {
	bool counts = !h->is_usual ? !is_rare
							   : from == 0 || !h->is_usual[to] || (h->is_usual[from] && !is_rare);
	if (counts && h->flow.to) {
		h->flow.to[h->n_put++] = to;
	} else {
		h->flow.first[from + 1] += counts;
	}
}

/**
 * Take a vertex's edges. Stacks and disguised pointers are rare as well. A frame leads to the one
 * it called, so that the outer one holds what both point to.
 */
static void take_edges(struct holding *h, uint32_t vertex) {
	const struct marking *m = h->m;
	const uint32_t first_block = vertex_of(h, 0);
	if (vertex >= first_block) {
		EACH_EDGE(e, m, m->roots.n + (vertex - first_block)) {
			take_edge(h, vertex, first_block + e->block, e->is_rare);
		}
	} else if (vertex > 0) {
		for (size_t i = h->objects.items[vertex - 1]; i < h->objects.items[vertex]; i++) {
			take_edge(h, vertex, first_block + h->words.items[i].block, false);
		}
		if (vertex + 1 < first_block && is_called(h, vertex + 1)) {
			take_edge(h, vertex, vertex + 1, true);
		}
	} else {
		EACH_NUMBER(i, first_block, i > 0 && !is_called(h, i)) {
			take_edge(h, 0, i, object_of(h, i)->kind >= REC_HOLDER_STACK);
		}
	}
}

static void make_flow(struct holding *h) {
	struct flow *g = &h->flow;
	free(g->first);
	free(g->to);
	*g = (struct flow){.n = vertex_of(h, (uint32_t)h->m->blocks.n)};
	g->first = memory_new(g->n + 1ul, sizeof *g->first);
	for (uint32_t v = 0; v < g->n; v++) {
		take_edges(h, v);
		g->first[v + 1] += g->first[v];
	}
	g->to = memory_new(g->first[g->n], sizeof *g->to);
	h->n_put = 0;
	for (uint32_t v = 0; v < g->n; v++) {
		take_edges(h, v);
	}
}

/** First by usual edges alone, to see what they reach. */
static void find_dominators(struct holding *h) {
	make_flow(h);
	h->is_usual = flow_reach(&h->flow, 0);
	make_flow(h);
	dominators_find(&h->flow, &h->dominators);
}

// ---- rows

/**
 * The row for blocks of a stack below a row: that of the same stack above, if any. Blocks without a
 * known stack, and all beyond ROWS_MOST, share one row below each.
 */
static uint32_t row_below(struct holding *h, struct graph *out, uint32_t above, uint32_t stack,
		uint32_t class) {
	stack = out->holders.n < ROWS_MOST ? stack : STACK_NONE;
	for (uint32_t row = above; row != 0; row = out->holders.items[row - 1].row.above) {
		const struct rec_holder *r = &out->holders.items[row - 1].row;
		if (r->kind >= REC_HOLDER_BLOCKS && r->stack == stack &&
				out->holders.items[row - 1].class == class) {
			return row;
		}
	}
	const struct graph_holder fresh = {.row = {.above = above,
											   .stack = stack,
											   .kind = stack == STACK_NONE ? REC_HOLDER_REST
																		   : REC_HOLDER_BLOCKS},
			.class = class};
	const uint32_t hash = hash_pair(hash_pair(above, class), stack);
	return 1 +
			VEC_FIND_OR_ADD(&h->row_index, &out->holders, hash, r,
					r->row.above == above && r->row.stack == stack && r->class == class &&
							r->row.kind == fresh.row.kind,
					fresh);
}

static uint32_t add_root(struct graph *out, struct graph_root root) {
	const struct graph_holder holder = {.row = {.kind = root.kind, .mapping = root.mapping},
			.root = root};
	(void)vec_add(&out->holders, holder);
	return (uint32_t)out->holders.n;
}

/** From the top: a vertex's dominator has its row first. Blocks without one have many holders. */
static void put_rows(struct holding *h, struct graph *out) {
	const struct dominators *d = &h->dominators;
	const uint32_t first_block = vertex_of(h, 0);
	FREED uint32_t *lengths = memory_new(d->n, sizeof *lengths);
	h->rows = memory_new(d->n, sizeof *h->rows);
	const uint32_t several = add_root(out, (struct graph_root){.kind = REC_HOLDER_SEVERAL});
	for (uint32_t i = 1; i < d->n; i++) {
		const uint32_t v = d->vertices[i], above = d->above[i];
		if (v < first_block) {
			h->rows[i] = add_root(out, *object_of(h, v));
			continue;
		}
		const struct live_block *b = &h->m->blocks.items[v - first_block];
		const uint32_t stack = h->stacks[v - first_block];
		const uint32_t row = row_below(h, out, above ? h->rows[above] : several,
				stack != STACK_NONE ? stack : GRAPH_OLD + GRAPH_BITS_OF(b->bytes),
				h->m->class_of[v - first_block]);
		struct rec_holder *r = &out->holders.items[row - 1].row;
		lengths[i] = above && h->rows[above] == row ? lengths[above] + 1 : 1;
		h->rows[i] = row;
		r->blocks++;
		r->bytes += b->bytes;
		RAISE_TO(r->longest, lengths[i]);
	}
	for (size_t i = out->holders.n; i-- > 0;) {
		struct rec_holder *r = &out->holders.items[i].row;
		r->retained_blocks += r->blocks;
		r->retained_bytes += r->bytes;
		if (r->above) {
			ADD_FIELDS(&out->holders.items[r->above - 1].row, r, retained_blocks, retained_bytes);
		}
	}
}

/** Blocks of a class below others of it are already among what those retain. */
static void sum_classes(struct graph *out) {
	const struct graph_holder *all = out->holders.items;
	EACH(holder, out->holders) {
		uint32_t above = holder->row.above;
		while (above && all[above - 1].class != holder->class) {
			above = all[above - 1].row.above;
		}
		if (holder->class && !above) {
			out->classes.items[holder->class - 1].retained_bytes += holder->row.retained_bytes;
		}
	}
}

/** Merge rows that hold little, with all below them, into one per row above. */
static void join_small(struct holding *h, struct graph *out) {
	const struct graph_holder *all = out->holders.items;
	const size_t n = out->holders.n;
	const uint64_t held = SUM(i, n, all[i].row.above ? 0 : all[i].row.retained_bytes);
	FREED uint32_t *numbers = memory_new(n + 1, sizeof *numbers); // + 1, of its new row
	struct graph joined = {0};
	uint32_t sharers[GRAPH_SHARERS] = {0};
	index_finish(&h->row_index);
	if (all[0].row.retained_bytes > held / LEAST) { // held by several roots
		sharers_find(&h->flow, &h->dominators, &h->m->blocks, sharers);
	}
	for (; out->n_sharers < GRAPH_SHARERS && sharers[out->n_sharers]; out->n_sharers++) {
		out->sharers[out->n_sharers] = *object_of(h, sharers[out->n_sharers]);
	}
	for (size_t i = 0; i < n; i++) {
		struct graph_holder one = all[i];
		struct rec_holder *row = &one.row;
		row->above = numbers[row->above];
		bool is_below = row->above &&
				joined.holders.items[row->above - 1].row.kind == REC_HOLDER_REST;
		if (row->retained_bytes > held / LEAST && row->kind != REC_HOLDER_REST && !is_below) {
			(void)vec_add(&joined.holders, one);
			numbers[i + 1] = (uint32_t)joined.holders.n;
		} else if (row->retained_blocks > 0) {
			numbers[i + 1] = is_below ? row->above
									  : row_below(h, &joined, row->above, STACK_NONE, 0);
			struct rec_holder *rest = &joined.holders.items[numbers[i + 1] - 1].row;
			ADD_FIELDS(rest, row, blocks, bytes);
			rest->retained_blocks += is_below ? 0 : row->retained_blocks;
			rest->retained_bytes += is_below ? 0 : row->retained_bytes;
		}
	}
	vec_finish(&out->holders);
	out->holders = joined.holders;
}

bool holders_find(struct marking *m, struct graph *out) {
	struct holding h = {.m = m};
	find_stacks(&h);
	bool ok = find_objects(&h);
	if (ok) {
		mark_rare(&h);
		find_dominators(&h);
		put_rows(&h, out);
		sum_classes(out);
		join_small(&h, out);
	}
	CALL_FOR(vec_finish, &h, words, objects, fields);
	CALL_FOR(index_finish, &h, field_index, row_index);
	dominators_finish(&h.dominators);
	free(h.stacks);
	free(h.flow.first);
	free(h.flow.to);
	free(h.is_usual);
	free(h.rows);
	return ok;
}
