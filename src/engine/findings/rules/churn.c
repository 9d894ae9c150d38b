// SPDX-License-Identifier: MIT
/* Finds wasted work of the allocator: short-lived blocks, many of one size. */
#include "engine/findings/parts.h"

/**
 * "228,686/s"; for less than a second or half of the run, "within 25 ms". Goes by most of the
 * site's stacks: activity at the start says nothing about the rate.
 */
static void put_pace(struct finder *f, const struct place *p) {
	uint64_t run = f->r->meta.duration_ns, worked = p->last_ns - p->first_ns, n = 0, until = 0;
	EACH_STACK_OF(i, f, p) {
		const struct rec_stack *s = &f->r->stacks.items[i];
		bool ends_early = s->last_ns - p->first_ns < run / 2;
		n += ends_early ? s->short_lived : 0;
		until = ends_early && s->last_ns > until ? s->last_ns : until;
	}
	bool is_early = worked >= run / 2 && n > 0 && n >= p->short_lived / 10 * 9;
	worked = is_early ? until - p->first_ns : worked;
	if (worked < run / 2 || worked < 1000000000) {
		SAY(f, worked < 1000000 ? "%sin %s" : "%swithin %s", is_early ? "nearly all of them " : "",
				HUMAN_SPAN(worked));
		finder_put(f, "within_ns", worked);
		return;
	}
	uint64_t rate = run ? (uint64_t)((double)p->short_lived * 1e9 / (double)run) : 0;
	SAY(f, "%s/s", HUMAN_COUNT(rate));
	finder_put(f, "per_s", rate);
}

/** The part before the last "::", without template arguments: "std::vector" for its push_back. */
static struct slice qualifier_of(struct slice name) {
	size_t at = last_part_at(before_first(name, '('));
	return before_first(slice_of(name.data, at ? at - 2 : 0), '<');
}

/** The class whose member requested the memory: "std::vector", Rust's "Vec". Empty: none known. */
static struct slice class_of(struct finder *f, uint32_t stack) {
	struct stack_walk w = walk_of(f, stack);
	const struct name *frame, *via = NULL;
	while ((frame = stack_walk_next(&w)) && frame != w.site) {
		via = frame->is_wrapper || !frame->has_name ? via : frame;
	}
	struct slice class = qualifier_of(via ? short_name_of(f, via) : (struct slice){0});
	if (class.size == 0 || contains(class, "basic_string")) {
		return class.size ? slice_of_text("std::string") : class;
	}
	const uint8_t *last = memrchr(class.data, ':', class.size);
	if (last && last[1] >= 'A' && last[1] <= 'Z') { // Rust's types
		return slice_of(last + 1, (size_t)(class.data + class.size - last - 1));
	}
	bool is_public = starts_with(class, "std::") && !contains(class, "__");
	return is_public ? class : (struct slice) { 0 };
}

/** The commonest size of a place's short-lived blocks, from stacks where nearly all are such. */
struct usual_size {
	uint64_t size, count;
	uint64_t n;        // blocks of those stacks
	uint64_t left_out; // short-lived blocks of the other stacks
};

static bool is_short_lived(const struct rec_stack *s) {
	return s->short_lived >= s->allocations / 10 * 9;
}

static struct usual_size usual_size_of(const struct finder *f, const struct place *p) {
	const struct recording *r = f->r;
	struct usual_size out = {0};
	EACH_STACK_OF(i, f, p) {
		const struct rec_stack *s = &r->stacks.items[i];
		out.n += is_short_lived(s) ? s->allocations : 0;
		out.left_out += is_short_lived(s) ? 0 : s->short_lived;
	}
	EACH(s, r->sizes) {
		bool is_its = f->place_of[s->stack] == p - f->places && !s->is_class &&
				is_short_lived(&r->stacks.items[s->stack]);
		if (is_its && s->count > out.count) {
			COPY_FIELDS(&out, s, size, count);
		}
	}
	return out;
}

/** ", always 101 bytes" if known of all, "usually" for nine of ten. A mean could be far off. */
static void put_size(struct finder *f, const struct place *p, uint32_t stack) {
	struct usual_size usual = usual_size_of(f, p);
	if (usual.n < p->short_lived / 10 * 9 || usual.n == 0) {
		return;
	}
	if (usual.count >= usual.n / 10 * 9 && usual.count > 0) {
		bool is_always = usual.count == usual.n && usual.left_out == 0;
		SAY(f, ", %s %s", is_always ? "always" : "usually", COUNTED(usual.size, "byte"));
		finder_put(f, "size", usual.size);
	}
	struct slice class = class_of(f, stack);
	if (class.size > 0) {
		SAY(f, " (%.*s)", SLICE_ARG(class));
	}
}

/** Without runtimes' sites, which nobody can change. */
#define SUM_OF_OWN(f, field) \
	SUM(i, (f)->n_places, (f)->places[i].name->is_runtime ? 0 : (f)->places[i].field)

static void say_churn(struct finder *f, struct place *p) {
	const struct rec_summary *s = &f->r->summary;
	const uint32_t stack = say_place(f, p, BY_SHORT_LIVED, "allocations", "", NULL);
	SAY(f, " makes %s of the short-lived blocks (freed within 1 ms or 16 allocations): %s in all, ",
			HUMAN_PERCENT(p->short_lived, s->short_lived), HUMAN_COUNT(p->short_lived));
	put_pace(f, p);
	put_size(f, p, stack);
	FINDER_PUT(f, p, short_lived, allocations);
	bool is_felt = p->short_lived >= 10000 && p->short_lived >= SUM_OF_OWN(f, allocations) / 2;
	// Too few to notice: who holds the peak comes first
	finder_say(f, is_felt ? FINDING_WORTH_IT : FINDING_EXPLAINS,
			millionths(p->short_lived, s->allocations) / (is_felt ? 1 : 8));
	p->has_churn_finding = true;
}

void find_churn(struct finder *f) {
	enum { PLACES = 2, FEW = 1000 };
	const struct rec_summary *s = &f->r->summary;
	const uint64_t own = SUM_OF_OWN(f, short_lived);
	for (int i = 0; i < PLACES && own >= FEW; i++) {
		struct place *p = MOST_OF(place, f->places, f->n_places,
				place->has_churn_finding || place->name->is_runtime ? 0 : place->short_lived);
		if (!p || p->short_lived < own / 5 || p->short_lived < s->allocations / 10) {
			return;
		}
		say_churn(f, p);
	}
}

/** Blocks of one size from one stack, enough that a pool would pay off. */
void find_one_size(struct finder *f) {
	enum { MANY = 10000 };
	const struct recording *r = f->r;
	const struct rec_size *best = NULL;
	EACH(s, r->sizes) {
		const struct name *site = names_site(f->names, r->stacks.items[s->stack].node);
		if (!s->is_class && site && !site->is_runtime && (!best || s->count > best->count)) {
			best = s;
		}
	}
	const struct place *p = best ? &f->places[f->place_of[best->stack]] : NULL;
	if (!p || p->has_churn_finding || best->count < MANY ||
			best->count < r->summary.allocations / 10 * 3) {
		return;
	}
	(void)say_place(f, p, BY_ALLOCATIONS, "allocations", NULL, NULL);
	SAY(f, " allocates %s blocks of %s each on one path", HUMAN_COUNT(best->count),
			COUNTED(best->size, "byte"));
	finder_put(f, "blocks", best->count);
	finder_put(f, "size", best->size);
	finder_say(f, FINDING_EXPLAINS, millionths(best->count, r->summary.allocations) / 2);
}
