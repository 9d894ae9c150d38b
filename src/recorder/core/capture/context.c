// SPDX-License-Identifier: MIT
/* The layout of a context, and the nodes of its known stacks. */
#include "recorder/core/capture/context.h"

enum {
	RULE_BITS = 11, // of the caches of a busy thread
	KNOWN_BITS = 11,
	SMALL_BITS = 5, // of one with little memory
};

struct capture *capture_init(void *memory, size_t bytes, uint64_t stack_end, uint32_t thread) {
	enum {
		BYTES_PER_FRAME = sizeof(struct frame) + 2 * 2 * sizeof(uint64_t),
		BYTES_BEFORE_CHECKS = 2 * CHECKS_AT_ONCE * sizeof(uint64_t),
	};
	if (bytes < CAPTURE_SMALL_BYTES) {
		return NULL;
	}
	bool is_small = bytes < CAPTURE_BUSY_BYTES;
	unsigned rule_bits = is_small ? SMALL_BITS : RULE_BITS;
	unsigned known_bits = is_small ? SMALL_BITS : KNOWN_BITS;
	struct capture *c = memory;
	c->own = (struct window){stack_end, stack_end};
	c->foreign = (struct window){0, 0};
	c->generation = 0;
	c->rule_shift = (uint8_t)(64 - rule_bits);
	c->known_shift = (uint8_t)(64 - known_bits);
	c->rules = (struct rule *)(c + 1);
	c->known = (struct known_stack *)(c->rules + (1u << rule_bits));
	uint32_t n_pages = is_small ? GUARD_SMALL_PAGES : GUARD_BUSY_PAGES;
	c->guard = (struct guard){(uint64_t *)(c->known + (1u << known_bits)), n_pages - 1, 0, 0};
	uint32_t n_python = (uint32_t)(bytes / (4 * sizeof(struct known_frame)));
	uint64_t python_at = ((uint64_t)(c->guard.pages + n_pages) + 63) & ~63ull; // a cache line
	c->python = (struct known_python){(struct known_frame *)python_at, 0, n_python, 0};
	c->thread = thread;
	c->memo_mask = UINT32_MAX >> 1 >> __builtin_clz(n_python); // rounded down to a power of two
	c->frames = (struct frame *)(c->python.frames + n_python);
	size_t n_before = (size_t)((unsigned char *)c->frames - (unsigned char *)memory);
	size_t n = (bytes - n_before - BYTES_BEFORE_CHECKS) / BYTES_PER_FRAME;
	c->n_max = n < UINT32_MAX / 4 ? (uint32_t)n : UINT32_MAX / 4;
	c->n_checks_max = 2 * c->n_max;
	c->check_at = (uint64_t *)(c->frames + c->n_max) + CHECKS_AT_ONCE;
	c->check_value = c->check_at + c->n_checks_max + CHECKS_AT_ONCE;
	for (int i = -CHECKS_AT_ONCE; i < 0; i++) {
		c->check_at[i] = (uint64_t)&c->check_value[i];
	}
	c->last = c->frames;
	*c->last = (struct frame){.sp = UINT64_MAX};
	return c;
}

void capture_forget(struct capture *c) {
	c->last = c->frames;
	c->foreign = (struct window){0, 0};
	c->generation = 0; // a rule may be half filled in: the next capture clears them all
}

// ---- remembered frames

struct frame *capture_frame_within(const struct capture *c, uint32_t n) {
	struct frame *low = c->frames;
	struct frame *high = c->last;
	while (low < high) {
		struct frame *middle = low + (high - low + 1) / 2;
		if (frame_checks(middle) <= n) {
			low = middle;
		} else {
			high = middle - 1;
		}
	}
	return low;
}

void capture_drop_changed(struct capture *c) {
	uint32_t n = frame_checks(c->last);
	uint32_t i = 0;
	while (i < n && walk_load(c->check_at[i]) == c->check_value[i]) {
		i++;
	}
	c->last = capture_frame_within(c, i);
}

// ---- nodes

/**
 * Find or make the node of `where`, called by `outer`, which has one. Returns both frames' flags.
 */
static uint32_t place(const struct frame *outer, uint64_t where, uint32_t *node) {
	uint32_t flags = frame_flags(outer);
	*node = (flags & FRAME_FOLDED) == 0 ? trie_child(outer->node, where) : 0;
	if (*node == 0) {
		*node = outer->node;
		flags = FRAME_FOLDED | FRAME_TRUNCATED;
	}
	return flags;
}

/** Find or make the nodes of all remembered frames. */
static void find_nodes(struct capture *c) {
	struct frame *f = c->last;
	while (f > c->frames && f->node == 0 && (f->checks & FRAME_FOLDED) == 0) {
		f--;
	}
	for (; f < c->last; f++) {
		f[1].checks |= place(f, f[1].where, &f[1].node);
	}
}

/** Does a signal frame lie between the leaf and the frame at `stop_sp`? */
static bool has_crossed_signal(const struct capture *c, uint64_t stop_sp) {
	for (const struct frame *f = c->last; f > c->frames; f--) {
		if ((f->where & WIRE_EXACT_PC) != 0) {
			return true;
		}
		if (f->sp == stop_sp) {
			return false;
		}
	}
	return false;
}

/** The node of the leaf `where`, called by the remembered frames, and its flags. */
static uint32_t node_of_leaf(struct capture *c, uint64_t where, uint32_t *flags) {
	uint64_t path = path_step(c->last->path, where);
	struct known_stack *known = known_place(c, path);
	*flags = frame_flags(c->last);
	if ((*flags & FRAME_FOLDED) == 0 && known_is(known, path, where)) {
		return known->node;
	}
	uint32_t node;
	find_nodes(c);
	*flags = place(c->last, where, &node);
	if ((*flags & FRAME_FOLDED) == 0) {
		known_set(known, path, where, node);
	}
	return node;
}

/** The same for a stack with frames of a runtime, which its native path never identifies. */
static COLD uint32_t node_in_runtime(struct capture *c, uint64_t where, uint32_t *flags) {
	uint32_t node;
	if (!runtime_stack_node(c, where, &node, flags)) {
		uint32_t is_cut = *flags;
		atomic_fetch_add(&segment.header->runtime_mismatches, 1);
		find_nodes(c);
		*flags = place(c->last, where, &node) | is_cut;
	}
	return node;
}

struct capture_result capture_result_of(struct capture *c, uint64_t where, uint64_t stop_sp) {
	uint32_t flags;
	bool has_runtime = (c->last->checks & FRAME_OF_RUNTIME) != 0 || runtimes_cover(where);
	uint32_t node = has_runtime ? node_in_runtime(c, where, &flags)
								: node_of_leaf(c, where, &flags);
	return (struct capture_result){
			.node = node,
			.is_truncated = (flags & FRAME_TRUNCATED) != 0,
			.crossed_signal = stop_sp != 0 && has_crossed_signal(c, stop_sp),
	};
}
