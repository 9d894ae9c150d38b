// SPDX-License-Identifier: MIT
/*
 * Recognizes a container that grew by doubling, from the sizes of its stacks. Such a container
 * leaves a chain of sizes: each about twice (or one and a half times) the previous one, all about
 * equally often, and mostly on the same few stacks; tables of several sizes, each allocated on its
 * own line, also form a chain. What is said of it is the sum over that chain: one reservation would
 * save all but its last blocks.
 */
#include "engine/findings/parts.h"

struct step {
	uint64_t size, count, bytes;
	bool is_in_chain;
};

static bool is_exact_of(const struct rec_size *s, const uint8_t *tags) {
	return tags[s->stack] && !s->is_class && s->size > 0;
}

/** The exact sizes of the tagged stacks, ascending, equal ones merged. */
static struct step *sizes_of(struct finder *f, const uint8_t *tags, uint32_t *n) {
	const struct recording *r = f->r;
	struct step *steps = FINDER_NEW(f, struct step, r->sizes.n);
	*n = 0;
	EACH_THAT(s, r->sizes, is_exact_of(s, tags)) {
		steps[(*n)++] = (struct step){s->size, s->count, s->bytes, false};
	}
	if (*n == 0) {
		return NULL;
	}
	qsort(steps, *n, sizeof *steps, by_number);
	uint32_t kept = 0;
	for (uint32_t i = 1; i < *n; i++) {
		if (steps[i].size == steps[kept].size) {
			ADD_FIELDS(&steps[kept], &steps[i], count, bytes);
		} else {
			steps[++kept] = steps[i];
		}
	}
	*n = kept + 1;
	return steps;
}

struct chain {
	uint32_t n; // number of sizes
	uint64_t count, bytes, smallest, largest;
	uint64_t last_count, last_bytes; // of the largest
};

/**
 * Goes down from the largest size by steps to about half or two thirds, while blocks of other sizes
 * in between are fewer: among many sizes, some form a chain by chance.
 */
static struct chain find_chain(struct step *steps, uint32_t n) {
	struct step *at = &steps[n - 1];
	struct chain c = {1, at->count, at->bytes, at->size, at->size, at->count, at->bytes};
	at->is_in_chain = true;
	uint64_t n_others = 0;
	for (uint32_t i = n - 1; i-- > 0;) {
		double ratio = (double)at->size / (double)steps[i].size;
		if (ratio > 2.2) {
			break;
		}
		bool is_as_often = steps[i].count >= c.last_count && steps[i].count <= at->count * 2 + 2;
		if (ratio < 1.4 || !is_as_often) {
			n_others += steps[i].count;
		} else if (n_others > c.count - c.last_count + steps[i].count) {
			break;
		} else {
			at = &steps[i];
			at->is_in_chain = true;
			c.n++;
			ADD_FIELDS(&c, at, count, bytes);
			c.smallest = at->size;
		}
	}
	return c;
}

/** The most steps of a chain that one stack made. */
static uint32_t most_on_one_stack(struct finder *f, const uint8_t *tags, const struct step *steps,
		uint32_t n) {
	uint32_t *of_stack = FINDER_NEW(f, uint32_t, f->r->stacks.n);
	EACH(s, f->r->sizes) {
		const struct step key = {.size = s->size};
		const struct step *step = is_exact_of(s, tags)
				? bsearch(&key, steps, n, sizeof *steps, by_number)
				: NULL;
		of_stack[s->stack] += step && step->is_in_chain;
	}
	return (uint32_t)LARGEST(i, f->r->stacks.n, of_stack[i]);
}

bool say_doubling(struct finder *f, const uint8_t *tags, const struct place *p) {
	enum { LONG = 6, STACKS = 3 };
	uint32_t n;
	const uint64_t large = f->r->summary.peak_bytes / 20; // most programs have none
	bool has_large = p && FIND_IN(s, f->r->sizes, s->size >= large && is_exact_of(s, tags));
	struct step *steps = has_large ? sizes_of(f, tags, &n) : NULL;
	if (!steps) {
		return false;
	}
	struct chain c = find_chain(steps, n);
	uint64_t all = SUM(i, f->r->stacks.n, tags[i] ? f->r->stacks.items[i].allocated_bytes : 0);
	if (c.n < LONG || c.bytes < all / 2 || most_on_one_stack(f, tags, steps, n) < c.n / STACKS) {
		return false;
	}
	SAY(f, "; it grew by doubling, from %s to %s: one reservation%s saves %s allocations and %s",
			HUMAN_BYTES(c.smallest), HUMAN_BYTES(c.largest),
			c.count * 2 > c.n * 3 ? " each time" : "", HUMAN_COUNT(c.count - c.last_count),
			HUMAN_BYTES(c.bytes - c.last_bytes));
	finder_put(f, "doubling_steps", c.n);
	finder_put(f, "saved_allocations", c.count - c.last_count);
	finder_put(f, "saved_bytes", c.bytes - c.last_bytes);
	return true;
}
