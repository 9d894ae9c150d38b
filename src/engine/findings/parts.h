// SPDX-License-Identifier: MIT
#pragma once
/**
 * What the rules share. That is: sites with their exact sums, the curves of those that matter, and
 * the way to state a finding.
 */

#include "engine/findings.h"
#include "engine/findings/curve.h"

/** What a sentence is about. A site is shown by the line of the stack that weighs most by it. */
enum weight {
	BY_ALLOCATED_BYTES,
	BY_ALLOCATIONS,
	BY_PEAK_BYTES,
	BY_LIVE_BYTES,
	BY_SHORT_LIVED,
	N_WEIGHTS,
};

/** All stacks of one name, runtimes' stacks gathered by module. */
struct place {
	const struct name *name;      // of the stack that allocated most bytes
	uint32_t heaviest[N_WEIGHTS]; // stacks
	uint32_t n_stacks;
	uint64_t allocations, allocated_bytes, short_lived;
	uint64_t peak_bytes, peak_blocks;
	uint64_t live_bytes, live_blocks;   // without noise
	uint64_t noise_bytes, noise_blocks; // live as well: a runtime's own, and what is suppressed
	uint64_t first_ns, last_ns;
	const uint64_t *live_curve; // n_points, or NULL: not one of those that matter
	const uint64_t *kept_curve; // of it, what is never freed
	const uint64_t
			*gone_curve; // what was freed so far, of what lived at some edge; not at the last point
	bool has_memory_finding; // its bytes are explained by a rule
	bool has_churn_finding;
};

/** Who holds the peak, with what it calls (holder.c says how it is chosen). */
struct holder {
	const struct name *name; // NULL: nobody in particular
	uint64_t bytes;          // with what it calls, at the peak
	uint64_t own;            // as a site
	uint8_t *tags;           // per stack: passes through it
	const uint64_t *curve;   // of these stacks: n_points
};

struct finder;

/** A row of rules.def. */
struct rule {
	void (*find)(struct finder *f);
	uint32_t needs;
	const char *id, *title;
};

struct finder {
	const struct recording *r;
	const struct names *names;
	struct arena *arena;  // of the result
	struct arena scratch; // of the work
	struct findings *out;
	const struct rule *rule; // that runs
	struct finding *items;
	uint32_t n, capacity;
	struct place *places;
	uint32_t n_places;
	const struct place *start_up; // of the runtime: it held most at the peak of what came before
	uint32_t *place_of;           // per stack
	struct holder holder;
	uint64_t *times_ns; // of the points of all curves: the edges, and the end of what happened
	uint32_t n_points;
	uint64_t start_ns; // so long there was no heap
	bool runs_scripts; // the program is a runtime: what it holds, it holds for them
	bool failed;       // no memory
};

/** Gather the stacks by site. False, of each of these: no memory. */
bool finder_gather(struct finder *f);

/** Then find f->holder, but for its curve. */
bool finder_find_holder(struct finder *f);

/** Then make the curves of the sites that matter, and of the holder. */
bool finder_make_curves(struct finder *f);

/** The peak but for what the runtime had made before. */
static inline uint64_t finder_own_peak(const struct finder *f) {
	return f->r->summary.peak_bytes - (f->start_up ? f->start_up->peak_bytes : 0);
}

/** A frame that a finding may name on its way down. */
static inline bool holder_may_be(const struct name *frame, const struct name *site) {
	return (frame->owner == OWNER_YOURS || frame == site) && !frame->is_wrapper && frame->has_name;
}

static inline struct curve finder_as_curve(const struct finder *f, const uint64_t *bytes) {
	return (struct curve){f->times_ns, bytes, f->n_points, f->start_ns};
}

/**
 * A new finding with the id and title of the running rule's row, or of its own; one that nobody
 * will see if memory ran out (f->failed).
 */
struct finding *finder_add(struct finder *f);
struct finding *finder_add_as(struct finder *f, const char *id, const char *title);

void finding_put(struct finding *out, const char *name, uint64_t value);

/** One of that id is there already; about this function, unless it is NULL. */
bool finder_has_said(const struct finder *f, const char *id, const struct name *about);

/** The sentence so far becomes the finding's text; the buffer is finished. */
void finder_say(struct finder *f, struct finding *out, struct buffer *sentence,
		enum finding_severity severity, uint64_t weight);

/** Whom it is about, and the lens "m=METRIC&focus=FUNCTION". `metric` NULL: focus alone. */
void finder_about(struct finder *f, struct finding *out, const struct name *name,
		const char *metric);

/** "leakyParse() demo.cpp:44". */
void put_name(struct finder *f, struct buffer *out, const struct name *name);

/**
 * A finding about a site: finder_about and put_name, with the line that weighs most, "<- caller()"
 * and, where a dependency allocates for it, "via NAME (package)". Where none of these has a name,
 * addresses follow, with shares of what was there `when` ("at the peak, ", or ""); NULL: none do.
 * `weights`: of what else the shares are, per stack; NULL: of `by`.
 */
void say_place(struct finder *f, struct buffer *text, struct finding *out, const struct place *p,
		enum weight by, const char *metric, const char *when, const uint64_t *weights);

/**
 * " (93 % at units+0x48db)": where in its code a place of the user's without names has what
 * `weights` says per stack.
 */
void put_addresses(struct finder *f, struct buffer *out, const struct place *p,
		const uint64_t *weights, const char *when);

/** Frees of blocks from before the attach whose sizes are not known. */
static inline uint64_t finder_unknown_frees(const struct finder *f) {
	return f->r->meta.source == REC_ATTACHED ? f->r->quality.unknown_frees : 0;
}

/**
 * "; meanwhile 2.5 MB from before the attach were freed", if any were; blocks, if that is all one
 * knows.
 */
void put_freed_before(const struct finder *f, struct buffer *out, struct finding *finding);

/** The user's own function, named or not, that called the site in this stack; NULL: none. */
const struct name *caller_of_site(const struct finder *f, uint32_t stack, bool has_name);

static inline uint64_t stack_weight(const struct rec_stack *s, enum weight by) {
	switch (by) {
	case BY_ALLOCATIONS: return s->allocations;
	case BY_PEAK_BYTES: return s->peak_bytes;
	case BY_LIVE_BYTES: return s->live_bytes;
	case BY_SHORT_LIVED: return s->short_lived;
	default: return s->allocated_bytes;
	}
}

/** Whom a sentence names for a stack: names_site, but a module where that has no name. */
static inline const struct name *finder_site(const struct finder *f, uint32_t stack) {
	const struct name *site = names_site(f->names, f->r->stacks.items[stack].node);
	return site && !site->has_name ? names_without_symbols(f->names, site) : site;
}

/** What is never freed of it a runtime keeps for itself. */
static inline bool finder_is_noise(const struct finder *f, uint32_t stack) {
	const struct name *keeper = names_keeper(f->names, f->r->stacks.items[stack].node);
	return !keeper || keeper->is_runtime;
}

struct slice short_name_of(struct finder *f, const struct name *name);

/** What of a whole, in millionths. */
static inline uint64_t millionths(uint64_t part, uint64_t whole) {
	return whole ? (uint64_t)((double)part * 1e6 / (double)whole) : 0;
}

/** "; freed when called from A, not from B", if that is so for all of its stacks. */
void put_paths(struct finder *f, struct buffer *out, const struct place *p);

#define RULE(find, needs, id, title) void find(struct finder *f);
#include "engine/findings/rules.def"
#undef RULE

/** The runtime's function that asked for most of what a module holds. */
struct asker {
	const struct name *name; // NULL: none has a name
	uint64_t weight, all;    // its own, the module's
};
struct asker runtime_largest_asker(struct finder *f, const struct place *p, enum weight by);

/** Behind all, in their order: the first sentence about the runtime says how scripts get names. */
void runtime_say_flag(struct finder *f);

/** Growth by doubling: "it grew by doubling: ..." appended to a sentence; false: it did not. */
bool say_doubling(struct finder *f, struct buffer *out, struct finding *finding,
		const uint8_t *tags, const struct place *p);
