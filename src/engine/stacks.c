// SPDX-License-Identifier: MIT
#include "engine/stacks.h"

#include "sys/pages.h"

#include <stdlib.h>

enum { NODE_PAGES = 1 << 16 };

bool stacks_init(struct stacks *s) {
	*s = (struct stacks){.node_pages = calloc(NODE_PAGES, sizeof *s->node_pages)};
	return s->node_pages != NULL;
}

void stacks_finish(struct stacks *s) {
	// Few of many places are in use: the sweep ends with the last one
	uint32_t n_left = s->node_pages ? s->n_node_pages : 0;
	for (uint32_t i = 0; n_left > 0; i++) {
		n_left -= s->node_pages[i] != NULL;
		free(s->node_pages[i]);
	}
	free(s->node_pages);
	index_finish(&s->by_thread);
	pages_give(s->items, s->capacity * sizeof *s->items);
	pages_give(s->rest, s->rest_capacity * sizeof *s->rest);
	*s = (struct stacks){0};
}

uint64_t stacks_bytes(const struct stacks *s) {
	return NODE_PAGES * sizeof *s->node_pages +
			(uint64_t)s->n_node_pages * STACK_NODE_PAGE * sizeof **s->node_pages +
			(uint64_t)s->n * (sizeof *s->items + sizeof *s->rest) + index_bytes(&s->by_thread);
}

static struct stack_at_node *at_node(struct stacks *s, uint32_t node) {
	struct stack_at_node **page = &s->node_pages[node / STACK_NODE_PAGE];
	if (!*page) {
		*page = calloc(STACK_NODE_PAGE, sizeof **page);
		if (!*page) {
			return NULL;
		}
		s->n_node_pages++;
	}
	return &(*page)[node % STACK_NODE_PAGE];
}

static uint64_t hash_of(uint32_t node, uint32_t thread) {
	return hash_u64((uint64_t)thread << 32 | node);
}

static uint32_t find(const struct stacks *s, uint32_t node, uint32_t thread) {
	uint64_t hash = hash_of(node, thread);
	uint32_t at = index_first(&s->by_thread, hash);
	for (uint32_t i; (i = index_next(&s->by_thread, hash, &at)) != INDEX_NONE;) {
		if (s->rest[i].node == node && s->rest[i].thread == thread) {
			return i;
		}
	}
	return STACK_NONE;
}

static uint32_t add(struct stacks *s, uint32_t node, uint32_t thread, uint64_t size,
		uint64_t moment) {
	size_t n = (size_t)s->n + 1;
	if (s->n == STACK_NONE || !index_reserve(&s->by_thread, 1) ||
			!pages_reserve((void **)&s->items, &s->capacity, n, sizeof *s->items) ||
			!pages_reserve((void **)&s->rest, &s->rest_capacity, n, sizeof *s->rest)) {
		return STACK_NONE;
	}
	s->items[s->n].usual_size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
	s->items[s->n].n_sizes = size < UINT32_MAX;
	s->rest[s->n].node = node;
	s->rest[s->n].thread = thread;
	s->rest[s->n].first = moment;
	index_put(&s->by_thread, hash_of(node, thread), s->n);
	return s->n++;
}

uint32_t stacks_find(struct stacks *s, uint32_t node, uint32_t thread, uint64_t size,
		uint64_t moment) {
	struct stack_at_node *known = at_node(s, node);
	if (!known) {
		return STACK_NONE;
	}
	uint32_t owner = thread <= STACKS_THREADS ? thread : 0;
	uint32_t stack = find(s, node, owner);
	if (stack == STACK_NONE && s->n >= STACKS_BY_THREAD && owner) {
		owner = 0;
		stack = find(s, node, owner);
	}
	if (stack == STACK_NONE) {
		stack = add(s, node, owner, size, moment);
	}
	if (stack != STACK_NONE) {
		*known = (struct stack_at_node){.stack = stack + 1, .thread = thread};
	}
	return stack;
}

void stacks_restart_epochs(struct stacks *s, uint32_t epoch) {
	for (uint32_t i = 0; i < s->n; i++) {
		s->items[i].epoch = s->items[i].epoch == epoch ? 1 : 0;
	}
}
