// SPDX-License-Identifier: MIT
/*
 * The runtime's frames are found anew each time, in room for new frames that is free now; then the
 * stack is gone through from the root: a native frame, or where that is the runtime's, the frames
 * of the next piece.
 *
 *    native, root first     main   eval          map_next   eval
 *    pieces, leaf first     main   a main|             b|   c b|      (| ends a piece)
 *    the stack              main   main a        map_next   b c
 */
#include "recorder/core/capture/runtime_stack.h"

#include "recorder/core/runtime/chain.h"

/** A way from the root to the leaf. */
struct way {
	const struct frame *frame, *last; // the next one; behind the last one comes the leaf
	uint64_t leaf;
	const uint64_t *pieces; // of these the first `n` are still to come, from the end
	uint32_t n;
	bool is_in_piece;
	bool is_done;
};

static struct way way_begin(const struct capture *c, uint64_t leaf, const struct chain *chain) {
	return (struct way){.frame = c->frames + 1,
			.last = c->last,
			.leaf = leaf,
			.pieces = chain->frames,
			.n = chain->n};
}

/** The next `where`; 0: that was the leaf. */
static uint64_t way_next(struct way *w) {
	if (w->is_in_piece) {
		uint64_t where = w->pieces[--w->n];
		w->is_in_piece = w->n > 0 && (w->pieces[w->n - 1] & CHAIN_ENDS_PIECE) == 0;
		return where;
	}
	if (w->is_done) {
		return 0;
	}
	w->is_done = w->frame > w->last;
	uint64_t native = w->is_done ? w->leaf : w->frame++->where;
	if (!runtimes_cover(wire_where_pc(native)) || w->n == 0) {
		return native;
	}
	uint64_t where = w->pieces[--w->n] & ~CHAIN_ENDS_PIECE;
	w->is_in_piece = where != 0 && w->n > 0 && (w->pieces[w->n - 1] & CHAIN_ENDS_PIECE) == 0;
	return where != 0 ? where : native;
}

/** How many native frames the runtime has on the stack. `runtime`: whose they are. */
static uint32_t count_native(const struct capture *c, uint64_t leaf,
		const struct runtime **runtime) {
	*runtime = runtimes_find(wire_where_pc(leaf));
	uint32_t n = *runtime != NULL;
	for (const struct frame *f = c->last; f > c->frames && (f->checks & FRAME_OF_RUNTIME) != 0;
			f--) {
		const struct runtime *r = runtimes_find(wire_where_pc(f->where));
		n += r != NULL;
		*runtime = r != NULL ? r : *runtime;
	}
	return n;
}

static bool find_chain(struct capture *c, uint64_t leaf, struct chain *chain) {
	const struct runtime *runtime;
	uint32_t n = count_native(c, leaf, &runtime);
	const struct frame *end = &c->frames[c->n_max];
	*chain = (struct chain){.frames = (uint64_t *)(c->last + 1),
			.n_max = (uint32_t)((const uint64_t *)end - (uint64_t *)(c->last + 1))};
	return runtime != NULL && chain_of_python(chain, runtime, &c->guard, &c->python_thread) &&
			chain->n_pieces == n;
}

bool runtime_stack_node(struct capture *c, uint64_t leaf, uint32_t *node, uint32_t *flags) {
	struct chain chain;
	*flags = c->last->checks & (FRAME_FOLDED | FRAME_TRUNCATED);
	if (!find_chain(c, leaf, &chain)) {
		*flags |= chain.is_full ? FRAME_TRUNCATED : 0;
		return false;
	}
	struct way way = way_begin(c, leaf, &chain);
	uint64_t path = 0, last = 0;
	for (uint64_t where; (where = way_next(&way)) != 0;) {
		path = path_step(path, where);
		last = where;
	}
	struct known_stack *known = known_place(c, path);
	if (known_is(known, path, last)) {
		*node = known->node;
		return true;
	}
	way = way_begin(c, leaf, &chain);
	uint32_t at = 0;
	for (uint64_t where; (where = way_next(&way)) != 0;) {
		uint32_t child = trie_child(at, where);
		if (child == 0) {
			*flags |= FRAME_FOLDED | FRAME_TRUNCATED;
			break;
		}
		at = child;
	}
	*node = at;
	if ((*flags & FRAME_FOLDED) == 0) {
		known_set(known, path, last, at);
	}
	return true;
}
