// SPDX-License-Identifier: MIT
/* Says what would make a recording tell more. */
#include "engine/findings/parts.h"
#include "engine/names/owner.h"

/** How to build the program with line information, judging by its symbols. */
static const char *how_to_have_lines(const struct finder *f) {
	for (uint32_t i = 0; i < f->r->frames.n; i++) {
		struct slice symbol = f->r->strings.items[f->r->frames.items[i].symbol];
		if (owner_is_rust_symbol(symbol)) {
			return "debug = \"line-tables-only\" in its profile in Cargo.toml";
		}
		if (starts_with(symbol, "NimMain")) {
			return "nim's --debugger:native";
		}
	}
	return "-g";
}

/** Most of what its own functions allocated has names, but no files and lines. */
void find_no_lines(struct finder *f) {
	uint64_t without = 0, all = 0;
	const struct name *some = NULL;
	struct slice exe = f->r->strings.items[f->r->meta.exe];
	EACH_OF(p, f->places, f->n_places) {
		bool is_its = p->name->owner == OWNER_YOURS && p->name->has_name &&
				slice_equal(p->name->module, exe);
		bool has_none = is_its && p->name->file.size == 0;
		all += is_its ? p->allocated_bytes : 0;
		without += has_none ? p->allocated_bytes : 0;
		some = has_none ? p->name : some;
	}
	if (!some || without < all / 2 || finder_misses_allocator(f)) {
		return;
	}
	bool is_in_part = ANY(i, f->r->modules.n,
			f->r->modules.items[i].has_lines &&
					slice_equal(f->r->strings.items[f->r->modules.items[i].path], exe));
	SAY(f, "%.*s has %s: build %s with %s", SLICE_ARG(path_base(some->module)),
			is_in_part ? "file and line information only of a part"
					   : "no file and line information",
			is_in_part ? "the rest" : "it", how_to_have_lines(f));
	finder_put(f, "bytes", without);
	finder_say(f, FINDING_FACT, 0);
}

/** Is everything below its own frame the allocator? */
static bool only_forwards(struct finder *f, uint32_t stack) {
	struct stack_walk w = walk_of(f, stack);
	const struct name *frame;
	return EVERY((frame = stack_walk_next(&w)) && frame != w.site, frame->is_wrapper);
}

static uint32_t count_callers(struct finder *f, const struct place *p) {
	uint8_t *seen = FINDER_NEW(f, uint8_t, names_n_functions(f->names));
	uint8_t *been = FINDER_NEW(f, uint8_t, f->r->nodes.n);
	uint32_t n = 0;
	EACH_STACK_OF(i, f, p) {
		const struct name *caller = caller_of_site(f, i, true, been);
		if (!only_forwards(f, i)) {
			return 0;
		}
		if (caller && !seen[caller->function_id]) {
			seen[caller->function_id] = 1;
			n++;
		}
	}
	return n;
}

/** A function with many callers that only allocates: suggests --fold, never folds it silently. */
void find_wrapper(struct finder *f) {
	enum { CALLERS = 20 };
	const struct place *p = MOST_OF(place, f->places, f->n_places,
			place->name->owner == OWNER_YOURS && place->n_stacks >= CALLERS ? place->allocations
																			: 0);
	if (!p || p->allocations < f->r->summary.allocations / 10) {
		return;
	}
	uint32_t n = count_callers(f, p);
	if (n < CALLERS) {
		return;
	}
	finder_about(f, p->name, "allocations");
	SAY(f, "%s makes %s of the allocations for %s callers; to see those instead: --fold '%.*s'",
			name_words(f, p->name), HUMAN_PERCENT(p->allocations, f->r->summary.allocations),
			HUMAN_COUNT(n), SLICE_ARG(short_name_of(f, p->name)));
	finder_put(f, "callers", n);
	finder_put(f, "allocations", p->allocations);
	finder_say(f, FINDING_FACT, millionths(p->allocations, f->r->summary.allocations));
}
