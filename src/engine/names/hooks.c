// SPDX-License-Identifier: MIT

/*
 * Finds code without a name that libraries call back only to have memory: allocator hooks.
 *
 * What a library calls back from one of its functions does work of its own (a callback of
 * libevent). What four functions of libraries call, directly or through others that call nothing
 * else, only hands memory out (the functions given to xmlMemSetup() of libxml2): the library's
 * function did the work.
 */

#include "engine/names/parts.h"

enum { CALLERS_ENOUGH = 4 };

#define MANY UINT32_MAX

// Per location
struct callee {
	uint32_t only; // the one location that it calls; 0: none, MANY
	uint32_t hook; // the one that it is, or that it does nothing but call; 0: none
	uint32_t n_callers;
	uint32_t callers[CALLERS_ENOUGH]; // functions of libraries
};

static const struct name *innermost_of(const struct names *n, uint32_t location) {
	return &n->frames[n->first[location]];
}

static bool is_of_library(const struct names *n, uint32_t location) {
	const struct name *f = innermost_of(n, location);
	return location && f->owner == OWNER_LIBRARY && !f->is_runtime;
}

static void add_caller(struct callee *c, uint32_t function) {
	for (uint32_t i = 0; i < c->n_callers; i++) {
		if (c->callers[i] == function) {
			return;
		}
	}
	if (c->n_callers < CALLERS_ENOUGH) {
		c->callers[c->n_callers++] = function;
	}
}

static void note_calls(const struct names *n, struct callee *of) {
	const struct recording *r = n->recording;
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct rec_node *node = &r->nodes.items[i];
		uint32_t outer = r->nodes.items[node->parent].location, inner = node->location;
		const struct name *f = innermost_of(n, inner);
		of[outer].only = of[outer].only == 0 || of[outer].only == inner ? inner : MANY;
		if (f->owner == OWNER_YOURS && !f->has_name && is_of_library(n, outer)) {
			of[inner].hook = inner;
		}
	}
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		of[r->nodes.items[r->stacks.items[i].node].location].only = MANY;
	}
}

const bool *names_find_hooks(const struct names *n, struct arena *scratch) {
	const struct recording *r = n->recording;
	struct callee *of = arena_new(scratch, struct callee, r->locations.n + 1ul);
	bool *is_hook = arena_new(scratch, bool, r->locations.n + 1ul);
	if (!of || !is_hook) {
		return NULL;
	}
	note_calls(n, of);
	for (uint32_t i = r->nodes.n; i-- > 1;) { // callees come behind their callers
		const struct rec_node *node = &r->nodes.items[i];
		uint32_t outer = r->nodes.items[node->parent].location, inner = node->location;
		bool is_part = of[outer].only == inner && of[outer].hook == 0;
		if (of[inner].hook && is_part && is_of_library(n, outer)) {
			of[outer].hook = of[inner].hook;
		}
	}
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct rec_node *node = &r->nodes.items[i];
		uint32_t outer = r->nodes.items[node->parent].location;
		struct callee *inner = &of[node->location];
		if (inner->hook && is_of_library(n, outer)) {
			add_caller(inner, innermost_of(n, outer)->function_id);
			is_hook[inner->hook] |= inner->n_callers == CALLERS_ENOUGH;
		}
	}
	return is_hook;
}
