// SPDX-License-Identifier: MIT
/* Finds the stack of a node and thread, and keeps its lifetimes. */
#include "engine/costs/stacks.h"

#include "sys/pages.h"

enum { NODE_PAGES = 1 << 16 };

void stacks_init(struct stacks *s) {
	*s = (struct stacks){.node_pages = memory_new(NODE_PAGES, sizeof *s->node_pages),
			.owner_most = STACKS_THREADS};
}

void stacks_finish(struct stacks *s) {
	// Few places are in use: stop at the last one
	uint32_t n_left = s->node_pages ? s->n_node_pages : 0;
	for (uint32_t i = 0; n_left > 0; i++) {
		n_left -= s->node_pages[i] != NULL;
		free(s->node_pages[i]);
	}
	free(s->node_pages);
	index_finish(&s->by_thread);
	pages_give(s->items, s->capacity * sizeof *s->items);
	pages_give(s->lives, s->lives_capacity * sizeof *s->lives);
	index_finish(&s->lives_of);
	*s = (struct stacks){0};
}

uint64_t stacks_bytes(const struct stacks *s) {
	return NODE_PAGES * sizeof *s->node_pages +
			(uint64_t)s->n_node_pages * STACK_NODE_PAGE * sizeof **s->node_pages +
			(uint64_t)s->n * sizeof *s->items + index_bytes(&s->by_thread) +
			(uint64_t)s->n_lives * sizeof *s->lives + index_bytes(&s->lives_of);
}

static struct stack_at_node *at_node(struct stacks *s, uint32_t node) {
	struct stack_at_node **page = &s->node_pages[node / STACK_NODE_PAGE];
	if (!*page) {
		*page = memory_new(STACK_NODE_PAGE, sizeof **page);
		s->n_node_pages++;
	}
	return &(*page)[node % STACK_NODE_PAGE];
}

static uint64_t hash_of(uint32_t node, uint32_t thread) {
	return hash_u64((uint64_t)thread << 32 | node);
}

static bool is_of(const struct stacks *s, uint32_t stack, uint32_t node, uint32_t thread) {
	return s->items[stack].node == node && s->items[stack].thread == thread;
}

static uint32_t find(const struct stacks *s, uint32_t node, uint32_t thread) {
	uint64_t hash = hash_of(node, thread);
	return INDEX_FIND(&s->by_thread, hash, i, is_of(s, i, node, thread));
}

/** `known`: the node's last request. */
static uint32_t find_beside(const struct stacks *s, const struct stack_at_node *known,
		uint32_t node, uint32_t thread) {
	return !known->stack                               ? STACK_NONE
			: is_of(s, known->stack - 1, node, thread) ? known->stack - 1
													   : find(s, node, thread);
}

static void put(struct stacks *s, uint32_t stack) {
	const struct stack *item = &s->items[stack];
	index_put(&s->by_thread, hash_of(item->node, item->thread), stack);
}

/** A node's only stack is found through the node; a second one puts both in the index. */
static void put_beside(struct stacks *s, const struct stack_at_node *known, uint32_t stack) {
	if (!known->stack) {
		return;
	}
	(void)index_reserve(&s->by_thread, 2);
	const struct stack *other = &s->items[known->stack - 1];
	if (find(s, other->node, other->thread) == STACK_NONE) {
		put(s, known->stack - 1);
	}
	put(s, stack);
}

static uint32_t add(struct stacks *s, const struct stack_at_node *known, struct stack stack) {
	if (s->n == STACK_NONE) {
		(void)memory_lacks();
	}
	pages_reserve((void **)&s->items, &s->capacity, (size_t)s->n + 1, sizeof *s->items);
	s->items[s->n] = stack;
	put_beside(s, known, s->n);
	RAISE_TO(s->newest_owner, stack.thread);
	s->owner_most = s->n + 1 < STACKS_BY_THREAD ? STACKS_THREADS : s->newest_owner;
	return s->n++;
}

uint32_t stacks_find(struct stacks *s, uint32_t node, uint32_t thread, uint64_t size,
		uint64_t moment) {
	struct stack_at_node *known = at_node(s, node);
	uint32_t asked = stacks_owner(s, thread), owner = asked;
	uint32_t stack = find_beside(s, known, node, owner);
	if (stack == STACK_NONE && s->n >= STACKS_BY_THREAD && owner) {
		owner = 0;
		stack = find_beside(s, known, node, owner);
	}
	if (stack == STACK_NONE) {
		stack = add(s, known,
				(struct stack){
						.usual_size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
						.n_sizes = size < UINT32_MAX,
						.first = moment,
						.node = node,
						.thread = owner,
				});
	}
	*known = (struct stack_at_node){.stack = stack + 1, .owner = asked};
	return stack;
}

// ---- lifetimes

void stacks_reserve_lives(struct stacks *s, uint32_t more) {
	pages_reserve((void **)&s->lives, &s->lives_capacity, (size_t)s->n_lives + more,
			sizeof *s->lives);
	(void)index_reserve(&s->lives_of, more);
}

void stacks_carry_lives(struct stacks *s, uint32_t stack, unsigned class) {
	const uint32_t i = INDEX_FIND_OR_PUT(&s->lives_of, hash_u64(stack), k,
			s->lives[k].stack == stack, s->lives, s->n_lives, (struct stack_lives){.stack = stack});
	uint32_t *count = &s->lives[i].counts.blocks[class];
	*count = *count < UINT32_MAX - 256 ? *count + 256 : UINT32_MAX;
}

// ----

void stacks_restart_epochs(struct stacks *s, uint32_t epoch) {
	for (uint32_t i = 0; i < s->n; i++) {
		s->items[i].epoch = s->items[i].epoch == epoch ? 1 : 0;
	}
}
