// SPDX-License-Identifier: MIT
/* Compares the paths on which a site's blocks are freed with those on which they never are. */
#include "engine/findings/parts.h"

// Frames of the user's own code, from the site outwards
struct own_frames {
	const struct name *items[64];
	uint32_t n;
};

static void collect_own(struct finder *f, uint32_t stack, struct own_frames *out) {
	struct stack_walk w = walk_of(f, stack);
	const struct name *frame;
	bool is_behind = false;
	out->n = 0;
	while (out->n < 64 && (frame = stack_walk_next(&w))) {
		is_behind |= frame == w.site;
		if (is_behind && frame->owner == OWNER_YOURS) {
			out->items[out->n++] = frame;
		}
	}
}

/** The heaviest stacks of a place all or none of whose blocks were freed. */
static bool find_paths(const struct finder *f, const struct place *p, uint32_t *freed,
		uint32_t *kept) {
	uint64_t n_freed = 0, n_kept = 0, n_mixed = 0;
	const struct rec_stack *stacks = f->r->stacks.items;
	EACH_STACK_OF(i, f, p) {
		const struct rec_stack *s = &stacks[i];
		if (s->live_blocks == 0) {
			*freed = n_freed == 0 || s->allocations > stacks[*freed].allocations ? i : *freed;
			n_freed += s->allocations;
		} else if (s->live_blocks == s->allocations) {
			*kept = n_kept == 0 || s->allocations > stacks[*kept].allocations ? i : *kept;
			n_kept += s->allocations;
		} else {
			n_mixed += s->allocations;
		}
	}
	return n_freed >= 5 && n_kept >= 5 && n_mixed * 20 <= p->allocations;
}

static bool passes(struct finder *f, uint32_t stack, const struct name *frame) {
	struct own_frames own;
	collect_own(f, stack, &own);
	return ANY(i, own.n, name_line(own.items[i]) == name_line(frame));
}

/** Is whatever passes `freed` freed, whatever passes `kept` not, and is that nearly all? */
static bool is_so_for_all(struct finder *f, const struct place *p, const struct name *freed,
		const struct name *kept) {
	uint64_t n_freed = 0, n_kept = 0;
	EACH_STACK_OF(i, f, p) {
		const struct rec_stack *s = &f->r->stacks.items[i];
		bool is_freed = passes(f, i, freed), is_kept = passes(f, i, kept);
		if (is_freed == is_kept    ? is_freed
						: is_freed ? s->live_blocks > 0
								   : s->live_blocks < s->allocations) {
			return false;
		}
		n_freed += is_freed ? s->allocations : 0;
		n_kept += is_kept ? s->live_blocks : 0;
	}
	return n_kept >= p->live_blocks / 10 * 9 && n_freed >= (p->allocations - n_kept) / 2;
}

/** "; freed when called from A, not from B": where the stacks of both kinds part. */
void put_paths(struct finder *f, const struct place *p) {
	enum { STACKS_MAX = 200 }; // with more, it is a function that everything calls
	uint32_t freed = 0, kept = 0, i = 0;
	if (p->n_stacks > STACKS_MAX || !find_paths(f, p, &freed, &kept)) {
		return;
	}
	struct own_frames a, b;
	collect_own(f, freed, &a);
	collect_own(f, kept, &b);
	while (i < a.n && i < b.n && name_line(a.items[i]) == name_line(b.items[i])) {
		i++;
	}
	if (i == a.n || i == b.n || !is_so_for_all(f, p, a.items[i], b.items[i])) {
		return;
	}
	const struct name *x = a.items[i], *y = b.items[i];
	bool have_lines = x->line > 0 && y->line > 0; // else they look the same
	if (!x->has_name || !y->has_name || (x->function_id == y->function_id && !have_lines)) {
		return;
	}
	if (i == 0) {
		SAY(f, "; what line %u allocates is freed, not what line %u does", x->line, y->line);
	} else if (x->function_id == y->function_id) {
		SAY(f, "; freed when called from line %u of %.*s, not from line %u", x->line,
				SLICE_ARG(short_name_of(f, x)), y->line);
	} else {
		SAY(f, "; freed when called from %.*s, not from %.*s", SLICE_ARG(short_name_of(f, x)),
				SLICE_ARG(short_name_of(f, y)));
	}
}
