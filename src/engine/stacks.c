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
	for (uint32_t i = 0; s->node_pages && i < NODE_PAGES; i++) {
		free(s->node_pages[i]);
	}
	free(s->node_pages);
	pages_give(s->items, s->capacity * sizeof *s->items);
	pages_give(s->rest, s->rest_capacity * sizeof *s->rest);
	*s = (struct stacks){0};
}

uint64_t stacks_bytes(const struct stacks *s) {
	return NODE_PAGES * sizeof *s->node_pages +
			(uint64_t)s->n_node_pages * STACK_NODE_PAGE * sizeof **s->node_pages +
			(uint64_t)s->n * (sizeof *s->items + sizeof *s->rest);
}

uint32_t stacks_add(struct stacks *s, uint32_t node, uint64_t size, uint64_t moment) {
	if (s->n == STACK_NONE) {
		return STACK_NONE;
	}
	uint32_t **page = &s->node_pages[node / STACK_NODE_PAGE];
	if (!*page) {
		*page = calloc(STACK_NODE_PAGE, sizeof **page);
		if (!*page) {
			return STACK_NONE;
		}
		s->n_node_pages++;
	}
	if (!pages_reserve((void **)&s->items, &s->capacity, (size_t)s->n + 1, sizeof *s->items) ||
			!pages_reserve((void **)&s->rest, &s->rest_capacity, (size_t)s->n + 1,
					sizeof *s->rest)) {
		return STACK_NONE;
	}
	s->items[s->n].usual_size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
	s->items[s->n].n_sizes = size < UINT32_MAX;
	s->rest[s->n].node = node;
	s->rest[s->n].first = moment;
	(*page)[node % STACK_NODE_PAGE] = s->n + 1;
	return s->n++;
}

void stacks_restart_epochs(struct stacks *s, uint32_t epoch) {
	for (uint32_t i = 0; i < s->n; i++) {
		s->items[i].epoch = s->items[i].epoch == epoch ? 1 : 0;
	}
}
