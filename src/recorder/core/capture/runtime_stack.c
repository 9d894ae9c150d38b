// SPDX-License-Identifier: MIT
/*
 * If the runtime's frames are not those of a known stack, the stack is walked from the root: each
 * native frame, or if it is the runtime's, the frames of the next piece.
 *
 *    native       main   eval       map_next   eval
 *    pieces              |main a               |b c      (| begins a piece)
 *    the stack    main   main a     map_next   b c
 */
#include "recorder/core/capture/context.h"

/** The runtime of the innermost frame that has one, and how many native frames are of one. */
static const struct runtime *find_runtime(const struct capture *c, uint64_t leaf, uint32_t *n) {
	const struct runtime *found = runtimes_find(leaf);
	*n = found != NULL;
	for (const struct frame *f = c->last; (f->checks & FRAME_OF_RUNTIME) != 0; f--) {
		const struct runtime *r = runtimes_find(f->where);
		*n += r != NULL;
		found = found != NULL ? found : r;
	}
	return found;
}

/** Add a frame, if any (0: none), to the stack at `node`. False: no room. */
static bool go_on(uint32_t *node, uint64_t where) {
	uint32_t child = where != 0 ? trie_child(*node, where) : *node;
	*node = child != 0 ? child : *node;
	return child != 0 || where == 0;
}

/** Add the piece that begins at `k`, or `native` if it has no frames. */
static bool go_through_piece(uint32_t *node, const struct known_frame **k,
		const struct known_frame *end, uint64_t native) {
	uint32_t before = *node;
	bool ok = true;
	do {
		ok = ok && go_on(node, (*k)->where & ~PIECE_BEGINS);
		++*k;
	} while (*k < end && ((*k)->where & PIECE_BEGINS) == 0);
	return ok && (*node != before || go_on(node, native));
}

/**
 * The node and flags of a stack with `n_frames` of Python's, or with what V8's frames stand for:
 * `wheres`, outermost last (0: the frame itself).
 */
static uint32_t node_of(const struct capture *c, uint64_t leaf, uint32_t n_frames,
		const uint64_t *wheres, uint32_t n, uint32_t *flags) {
	uint32_t node = 0;
	bool ok = true;
	const struct known_frame *k = c->python.frames, *end = k + n_frames;
	for (const struct frame *f = c->frames + 1; ok && f <= c->last + 1; f++) {
		uint64_t native = f <= c->last ? f->where : leaf, where = 0;
		if (n > 0 && (f->checks & FRAME_IS_RUNTIMES) != 0) {
			where = wheres[--n];
		}
		ok = k < end && runtimes_cover(native) ? go_through_piece(&node, &k, end, native)
											   : go_on(&node, where != 0 ? where : native);
	}
	*flags |= ok ? 0 : FRAME_FOLDED | FRAME_TRUNCATED;
	return node;
}

/** Are there as many pieces as native frames of the runtime? */
static bool is_match(const struct capture *c, uint64_t leaf) {
	uint32_t n_native, n_pieces = 0;
	(void)find_runtime(c, leaf, &n_native);
	for (uint32_t i = 0; i < c->python.n; i++) {
		n_pieces += (c->python.frames[i].where & PIECE_BEGINS) != 0;
	}
	return n_pieces == n_native && (c->python.frames[0].where & PIECE_BEGINS) != 0;
}

// ---- V8, whose frames are native ones

/** Find the `*n` frames they stand for, and extend `*path`. False: no room. */
static bool wheres_of_v8(struct capture *c, const struct runtime *runtime, uint64_t *wheres,
		uint32_t *n, uint64_t *path) {
	const struct v8_reader reader = {runtime, &c->guard, &c->own, c->thread};
	const uint32_t n_max = (uint32_t)((uint64_t *)&c->frames[c->n_max] - wheres);
	guard_begin(&c->guard);
	for (const struct frame *f = c->last; (f->checks & FRAME_OF_RUNTIME) != 0; f--) {
		if ((f->checks & FRAME_IS_RUNTIMES) == 0) {
			continue;
		}
		if (*n == n_max) {
			return false;
		}
		bool is_exact = (f->where & WIRE_EXACT_PC) != 0; // its slots may not be filled in yet
		uint64_t pc = wire_where_pc(f->where);
		wheres[*n] = is_exact ? 0 : v8_where(&reader, pc, f->bp, memo_of(c, f));
		*path = path_step(*path, wheres[(*n)++]);
	}
	return true;
}

// ---- either

bool runtime_stack_node(struct capture *c, uint64_t leaf, uint32_t *node, uint32_t *flags) {
	uint32_t n_native, n = 0;
	const struct runtime *runtime = runtimes_only();
	uint64_t path = path_step(c->last->path, leaf), *wheres = (uint64_t *)(c->last + 1);
	*flags = c->last->checks & (FRAME_FOLDED | FRAME_TRUNCATED);
	runtime = runtime != NULL ? runtime : find_runtime(c, leaf, &n_native);
	bool is_v8 = runtime != NULL && runtime->layout->kind == MODULE_V8;
	if (runtime == NULL ||
			!(is_v8 ? wheres_of_v8(c, runtime, wheres, &n, &path)
					: chain_of_python(&c->python, runtime, &c->guard, &path))) {
		*flags |= is_v8 || c->python.n > c->python.n_max ? FRAME_TRUNCATED : 0;
		return false;
	}
	struct known_stack *known = known_place(c, path);
	if (known_is(known, path, leaf)) {
		*node = known->node;
		return true;
	}
	if (!is_v8 && !is_match(c, leaf)) {
		return false;
	}
	*node = node_of(c, leaf, is_v8 ? 0 : c->python.n, wheres, n, flags);
	if ((*flags & FRAME_FOLDED) == 0) {
		known_set(known, path, leaf, *node);
	}
	return true;
}
