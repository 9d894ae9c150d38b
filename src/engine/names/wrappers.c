// SPDX-License-Identifier: MIT
/*
 * Recognizes a project's own allocation functions, which are never sites. A name alone (ngx_palloc,
 * AcquireAlignedMemory, llvm::User::operator new) does not distinguish them from functions with
 * similar names that do work (allocate_users). A function is taken for one only if
 *
 *   its name speaks of allocating,
 *   it calls nothing but allocation functions, in all stacks, and
 *   three functions call it, or only other allocation functions do, or its name ends in a word that
 *   is used for memory only (ReallocateMemory, my_calloc).
 *
 * An unnamed function that it calls in its own module (a static function of a stripped library) is
 * part of it: what that calls counts.
 *
 * At first all with fitting names are candidates; those that fail the rest are refuted, which may
 * refute their callers, until nothing changes.
 */
#include "engine/names/parts.h"

enum { CALLERS = 3 };

struct candidate {
	bool is_one;
	bool is_sure;            // by its name, whoever calls it
	bool has_caller_outside; // one that is not an allocation function
	uint8_t n_callers;
	uint32_t callers[CALLERS]; // function_ids
};

struct search {
	struct names *n;
	struct candidate *functions; // by function_id
	uint32_t *named;             // by node: the nearest named frame outwards from its innermost one
	bool has_changed;
};

static bool is_allocating(const struct search *s, const struct name *f) {
	return f->is_wrapper || s->functions[f->function_id].is_one;
}

static bool find_candidates(struct search *s) {
	bool has_any = false;
	EACH_OF_THAT(f, s->n->frames, s->n->n_frames,
			f->has_name && !f->is_runtime && !f->is_wrapper &&
					owner_speaks_of_allocating(f->function)) {
		struct candidate *c = &s->functions[f->function_id];
		c->is_one = has_any = true;
		c->is_sure = owner_is_called_like_allocating(f->function);
	}
	return has_any;
}

/** `caller` calls `callee`, on behalf of `worker` if it is unnamed. */
static void look_at_call(struct search *s, const struct name *caller, const struct name *worker,
		const struct name *callee) {
	bool is_part = !callee->has_name && slice_equal(callee->module, worker->module);
	if (!is_allocating(s, callee) && !is_part) {
		s->has_changed |= s->functions[worker->function_id].is_one;
		s->functions[worker->function_id].is_one = false;
	}
	struct candidate *c = &s->functions[callee->function_id];
	if (!c->is_one || caller->function_id == callee->function_id) {
		return;
	}
	c->has_caller_outside |= !is_allocating(s, caller);
	if (c->n_callers < CALLERS && !ANY(k, c->n_callers, c->callers[k] == caller->function_id)) {
		c->callers[c->n_callers++] = caller->function_id;
	}
}

static void look_at_calls(struct search *s) {
	const struct recording *r = s->n->recording;
	const uint32_t *first = s->n->first;
	const struct name *frames = s->n->frames;
	for (uint32_t i = 0; i < r->locations.n; i++) {
		for (uint32_t k = first[i]; k + 1 < first[i + 1]; k++) {
			look_at_call(s, &frames[k + 1], &frames[k + 1], &frames[k]);
		}
	}
	EACH_THAT(node, r->nodes, node->parent != 0) {
		look_at_call(s, &frames[first[r->nodes.items[node->parent].location]],
				&frames[s->named[node->parent]], &frames[first[node->location + 1] - 1]);
	}
}

static void refute_those_with_few_callers(struct search *s) {
	EACH_OF(c, s->functions, s->n->n_functions) {
		bool has_few = c->n_callers < CALLERS && (c->has_caller_outside || c->n_callers == 0);
		if (c->is_one && has_few && !c->is_sure) {
			c->is_one = false;
			s->has_changed = true;
		}
		c->has_caller_outside = false;
		c->n_callers = 0;
	}
}

static void find_named(struct search *s) {
	const struct recording *r = s->n->recording;
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct rec_node *node = &r->nodes.items[i];
		uint32_t innermost = s->n->first[node->location];
		bool has_name = s->n->frames[innermost].has_name || node->parent == 0;
		s->named[i] = has_name ? innermost : s->named[node->parent];
	}
}

void names_find_wrappers(struct names *n) {
	SCOPED(arena) scratch = {0};
	struct search s = {.n = n,
			.functions = arena_new(&scratch, struct candidate, n->n_functions + 1ul),
			.named = arena_new(&scratch, uint32_t, n->recording->nodes.n + 1ul)};
	find_named(&s);
	s.has_changed = find_candidates(&s);
	bool has_any = s.has_changed;
	while (s.has_changed) {
		s.has_changed = false;
		look_at_calls(&s);
		refute_those_with_few_callers(&s);
	}
	for (uint32_t i = 0; has_any && i < n->n_frames; i++) {
		n->frames[i].is_wrapper |= s.functions[n->frames[i].function_id].is_one;
	}
}
