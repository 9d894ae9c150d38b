// SPDX-License-Identifier: MIT
/* Names a place in a sentence: its site, who called it, and through whom it gets its memory. */
#include "engine/findings/parts.h"
#include "engine/names/owner.h"

/** Does it tell a reader nothing: the language's library, internals of V8 and Python? */
static bool is_inside(struct slice function) {
	static const char begins[] = "|std::|void std::|_";
	return starts_with_any(function, begins) || contains(function, "::internal::") ||
			contains(function, "::detail::");
}

/** The runtime function that requested a stack's memory, unless internal. NULL: unnamed code. */
static const struct name *asker_of_stack(const struct finder *f, uint32_t stack) {
	struct stack_walk w = walk_of(f, stack);
	const struct name *asker = NEXT_FRAME_THAT(frame, &w,
			!frame->is_wrapper && slice_equal(frame->module, w.site->module) &&
					(!frame->has_name ||
							(!owner_speaks_of_allocating(frame->function) &&
									!is_inside(frame->function))));
	return asker && asker->has_name ? asker : NULL;
}

struct asker runtime_largest_asker(struct finder *f, const struct place *p,
		const uint64_t *weights) {
	uint64_t *of_function = FINDER_NEW(f, uint64_t, names_n_functions(f->names));
	struct asker best = {0};
	EACH_STACK_OF(i, f, p) {
		const struct name *name = weights[i] > 0 ? asker_of_stack(f, i) : NULL;
		uint64_t sum = name ? of_function[name->function_id] += weights[i] : 0;
		best.name = sum > best.weight ? name : best.name;
		best.weight = sum > best.weight ? sum : best.weight;
		best.all += weights[i];
	}
	return best;
}

const struct name *caller_of_site(const struct finder *f, uint32_t stack, bool has_name,
		uint8_t *been) {
	struct stack_walk w = walk_of(f, stack);
	const struct name *caller = NEXT_FRAME_THAT(frame, &w, frame == w.site);
	const struct slice site = function_bare(w.site->function);
	while ((caller = stack_walk_next(&w)) != NULL &&
			(caller->owner != OWNER_YOURS || caller->has_name != has_name ||
					slice_equal(function_bare(caller->function), site))) {
		if (been && w.i == w.frames.n) {
			if (been[w.node]) {
				return NULL;
			}
			been[w.node] = 1;
		}
	}
	return caller;
}

/** The script function for which the site, in a user's addon, allocated; or NULL. */
static const struct name *script_behind(const struct finder *f, uint32_t stack) {
	struct stack_walk w = walk_of(f, stack);
	const struct name *site = finder_site(f, stack);
	return !f->runs_scripts || site->owner != OWNER_YOURS || site->module.size == 0
			? NULL
			: NEXT_FRAME_THAT(frame, &w,
					  frame->owner == OWNER_YOURS && frame->module.size == 0 &&
							  frame->file.size > 0);
}

/** "ld, no symbols": whose code called an allocation function that has no named caller. */
static const struct name *module_behind(const struct finder *f, uint32_t stack) {
	const struct name *site = names_site(f->names, f->r->stacks.items[stack].node);
	const struct name *caller = site->is_wrapper ? caller_of_site(f, stack, false, NULL) : NULL;
	return caller ? names_without_symbols(f->names, caller) : NULL;
}

// What a site called to get its memory
struct called {
	const struct name *function; // a dependency's, maybe through unnamed functions; or NULL
	struct slice module;         // whose code it called, unless its own; or empty
};

static struct called called_by_site(const struct finder *f, uint32_t stack) {
	struct stack_walk w = walk_of(f, stack);
	const struct name *const site = w.site, *frame, *next = NULL, *named = NULL;
	while ((frame = stack_walk_next(&w)) && frame != site) {
		named = frame->has_name ? frame : named;
		next = frame;
	}
	struct called out = {0};
	// What a library allocates for unnamed code is described by the library's function
	bool is_work = named && !named->is_wrapper && named->owner != OWNER_YOURS;
	bool is_alloc_of_work = named && named->is_wrapper && !next->has_name &&
			!owner_is_allocation_function(named->function) &&
			!owner_is_called_like_allocating(named->function);
	out.function = named && !named->is_runtime && (is_work || is_alloc_of_work) ? named : NULL;
	bool is_hook = next && next->owner == OWNER_YOURS && site->owner != OWNER_YOURS;
	if (frame && next && !is_hook && !next->is_runtime && !next->is_wrapper &&
			!slice_equal(next->module, site->module) &&
			!slice_equal(next->module, names_program(f->r))) {
		out.module = next->module;
	}
	return out;
}

/** Of the line that weighs most in all its stacks, the heaviest stack. */
static uint32_t heaviest_stack(const struct finder *f, const struct place *p,
		const uint64_t *weights) {
	SCOPED(map) lines = {0};
	EACH_NUMBER(i, f->r->stacks.n, f->place_of[i] == p - f->places && weights[i] > 0) {
		const uint64_t line = name_line(finder_site(f, i));
		(void)map_put(&lines, line, map_get(&lines, line) + weights[i]);
	}
	uint32_t most = p->heaviest;
	EACH_STACK_OF(i, f, p) {
		const uint64_t of_line = map_get(&lines, name_line(finder_site(f, i)));
		const uint64_t of_most = map_get(&lines, name_line(finder_site(f, most)));
		bool is_more = of_line > of_most || (of_line == of_most && weights[i] > weights[most]);
		most = is_more ? i : most;
	}
	return most;
}

/** What a stack's site called, as far as that is true of most of the place. */
static struct called called_by_place(const struct finder *f, const struct place *p,
		const uint64_t *weights, uint32_t stack) {
	struct called out = called_by_site(f, stack);
	uint64_t all = 0, by_function = 0, by_module = 0;
	EACH_NUMBER(i, out.function || out.module.size > 0 ? f->r->stacks.n : 0,
			f->place_of[i] == p - f->places) {
		const struct called other = called_by_site(f, i);
		bool is_same = out.function && other.function &&
				other.function->function_id == out.function->function_id;
		all += weights[i];
		by_function += is_same ? weights[i] : 0;
		by_module += slice_equal(other.module, out.module) ? weights[i] : 0;
	}
	out.function = by_function > all / 5 * 3 ? out.function : NULL;
	out.module = by_module > all / 5 * 3 ? out.module : (struct slice){0};
	return out;
}

uint64_t *weights_in(const struct finder *f, const struct place *p, enum weight by) {
	uint64_t *weights = memory_new(f->r->stacks.n + 1ul, sizeof *weights);
	EACH_STACK_OF(i, f, p) {
		const struct rec_stack *s = &f->r->stacks.items[i];
		const uint64_t in_their_order[N_WEIGHTS] = {s->allocated_bytes, s->allocations,
				s->peak_bytes, s->live_bytes, s->short_lived};
		bool is_noise = by == BY_LIVE_BYTES && !p->name->is_runtime && finder_is_noise(f, i);
		weights[i] = is_noise ? 0 : in_their_order[by];
	}
	return weights;
}

uint32_t say_place(struct finder *f, const struct place *p, enum weight by, const char *metric,
		const char *when, const uint64_t *weights) {
	FREED uint64_t *own = weights ? NULL : weights_in(f, p, by);
	weights = weights ?: own;
	const uint32_t heaviest = heaviest_stack(f, p, weights);
	const struct name *name = finder_site(f, heaviest);
	finder_about(f, name, metric);
	put_name(f, name);
	struct asker asker = p->name->is_runtime ? runtime_largest_asker(f, p, weights)
											 : (struct asker){0};
	if (asker.weight > asker.all / 5 * 3) {
		SAY(f, " via %.*s", SLICE_ARG(short_name_of(f, asker.name)));
	}
	const struct called via = called_by_place(f, p, weights, heaviest);
	const struct name *caller = caller_of_site(f, heaviest, true, NULL);
	caller = caller ? caller : module_behind(f, heaviest);
	if (via.function) {
		SAY(f, " via %.*s (%.*s)", SLICE_ARG(short_name_of(f, via.function)),
				SLICE_ARG(names_package(via.function)));
	} else if (via.module.size > 0) {
		SAY(f, " via %.*s", SLICE_ARG(path_base(via.module)));
	} else if (when && !caller && !name->has_name) {
		put_addresses(f, p, weights, when);
	}
	const struct name *script = script_behind(f, heaviest);
	if (caller && caller != script) {
		SAY(f, " <- %.*s", SLICE_ARG(short_name_of(f, caller)));
	}
	if (script) {
		SAY(f, " <- %s", name_words(f, script));
	}
	return heaviest;
}
