// SPDX-License-Identifier: MIT
/*
 * Recognizes libstdc++'s memory for exceptions in programs that contain the library and have no
 * symbols. A static initializer of the library allocates it: one block, of a size fixed when the
 * library is built. A stack is that of a static initializer if _start called something else later,
 * in more stacks: main.
 */
#include "engine/names/parts.h"

// The initializer and the pool it makes, call_init, __libc_start_main, _start
enum { FRAMES_MOST = 5 };

static bool is_pool(const struct names *n, const struct rec_stack *s) {
	enum { UNTIL_GCC_12 = 64 * (1024 + 112), SINCE_GCC_13 = 256 * 288 };
	bool is_size = s->allocated_bytes == UNTIL_GCC_12 || s->allocated_bytes == SINCE_GCC_13;
	if (!is_size || s->allocations != 1 || s->live_blocks != 1) {
		return false;
	}
	const struct rec_node *nodes = n->recording->nodes.items;
	uint32_t n_frames = 0;
	for (uint32_t node = s->node; node != 0; node = nodes[node].parent) {
		const uint32_t first = n->first[nodes[node].location];
		const uint32_t count = n->first[nodes[node].location + 1] - first;
		n_frames += count;
		if (ANY(i, count, n->frames[first + i].has_name && !n->frames[first + i].is_runtime)) {
			return false;
		}
	}
	return n_frames <= FRAMES_MOST;
}

// A callee of a stack's outermost function: when, in how many stacks
struct branch {
	uint32_t top; // per node: itself or the branch it is in; 0: outermost
	uint32_t n_stacks;
	uint64_t first_ns, last_ns;
};

static struct branch *find_branches(const struct recording *r, struct arena *scratch) {
	struct branch *branches = arena_new(scratch, struct branch, r->nodes.n + 1ul);
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		uint32_t parent = r->nodes.items[i].parent, outer = r->nodes.items[parent].parent;
		branches[i].top = parent == 0 ? 0 : outer == 0 ? i : branches[parent].top;
		branches[i].first_ns = UINT64_MAX;
	}
	EACH(s, r->stacks) {
		struct branch *b = &branches[branches[s->node].top];
		b->n_stacks++;
		b->first_ns = s->first_ns < b->first_ns ? s->first_ns : b->first_ns;
		b->last_ns = s->last_ns > b->last_ns ? s->last_ns : b->last_ns;
	}
	return branches;
}

static bool is_before_main(const struct recording *r, const struct branch *branches,
		uint32_t node) {
	const uint32_t top = branches[node].top, start = r->nodes.items[top].parent;
	const struct branch *own = &branches[top];
	return top != 0 &&
			ANY(i, r->nodes.n,
					r->nodes.items[i].parent == start && i != top &&
							branches[i].first_ns >= own->last_ns &&
							branches[i].n_stacks >= own->n_stacks);
}

void names_cpp_find_start_up(struct names *n) {
	const struct recording *r = n->recording;
	SCOPED(arena) scratch = {0};
	const struct rec_stack *pool = FIND_IN(s, r->stacks, is_pool(n, s));
	bool is_start_up = pool && is_before_main(r, find_branches(r, &scratch), pool->node);
	for (uint32_t node = pool ? pool->node : 0; is_start_up && node != 0;
			node = r->nodes.items[node].parent) {
		struct name *frame = &n->frames[n->first[r->nodes.items[node].location]];
		frame->is_runtime = true;
		frame->owner = OWNER_LIBRARY;
	}
}
