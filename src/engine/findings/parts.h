// SPDX-License-Identifier: MIT
#pragma once
/**
 * What the rules share. That is: sites with their exact sums, the curves of those that matter, and
 * the way to state a finding: a draft, whose sentence grows while figures are put beside it.
 */

#include "engine/findings.h"
#include "engine/memory.h"

// ---- the shape of a site's live bytes over a run, as used by findings
//
// Pure arithmetic over points whose times rise; the last point is the end of the run.

struct curve {
	const uint64_t *times_ns;
	const uint64_t *bytes;
	uint32_t n;
	uint64_t start_ns; // what is "at start" is measured from then
};

enum curve_shape {
	CURVE_OTHER,
	CURVE_AT_START, // reached its level in the first tenth of the run and held it
	CURVE_ONCE,     // the same, at once, later
	CURVE_GREW,     // rose to the end, or to the moment at which all was freed before the end
	CURVE_STOPPED,  // rose gradually, then held its level to the end
	CURVE_BURSTS,   // came and went, several times
	CURVE_AT_END,   // came in the last hundredth of the run
	CURVE_RENEWED,  // what is never freed rose while the whole did not: judged over two curves
};

struct curve_facts {
	enum curve_shape shape;
	uint64_t top_bytes; // the largest value
	uint64_t from_ns,
			to_ns;          // GREW: the window measured. AT_START, ONCE, STOPPED: from when to when
							// the level was reached. AT_END: so long there was next to nothing
	uint64_t from_bytes;    // GREW: at from_ns; top_bytes at to_ns
	uint64_t rate;          // GREW: bytes per second, if uneven in the last quarter of the window
	bool is_even;           // GREW: along a straight line
	bool is_freed;          // at the end less than a tenth of top_bytes is left
	uint64_t held_until_ns; // when nine tenths of it were there for the last time
	uint32_t n_bursts;      // BURSTS: those that edges met
	uint64_t risen_bytes;   // BURSTS: all that these rose by
	uint64_t burst_ns;      // BURSTS: how long one lasts, in the mean
	uint64_t period_ns;     // BURSTS: from one's begin to the next one's, in the mean
};

struct curve_facts curve_judge(const struct curve *c);

/** Growth of less than a second has no rate per second, only an amount and a time. */
static inline bool curve_has_rate(const struct curve_facts *c) {
	return c->to_ns - c->from_ns >= 1000000000;
}

/** From when on it neither rose nor fell: it stayed between two values, the lower of them above two
 * fifths of the higher, and its last quarters have the same mean. */
struct curve_level {
	uint64_t from_ns, low_bytes, high_bytes;
};
bool curve_find_level(const struct curve *c, struct curve_level *out);

/** By how much it is higher at the end than it was in the tenth of the run before a moment. */
uint64_t curve_rise_since(const struct curve *c, uint64_t ns);

/** What a site kept grew while what it held may have risen and fallen. */
enum curve_waves {
	CURVE_NO_WAVES,
	CURVE_BELOW_WAVES, // evenly, before and after it fell furthest, by half as much or more
	CURVE_LAST_WAVE,   // only since it last fell, and before it had risen by about as much (half to
					   // four times) for about as long (a quarter or more)
};
enum curve_waves curve_find_waves(const struct curve *live, const struct curve *kept,
		const struct curve_facts *grew);

/** The first moment, behind its start-up, with this part of its largest value. */
uint64_t curve_first_ns(const struct curve *c, double part);

/** Around point `at`: the stretch in which the value never falls below half of that at `at`. */
struct curve_stretch {
	uint32_t first, last; // points
	uint64_t ns;          // from half way before the first to half way behind the last
};
struct curve_stretch curve_stretch_at(const struct curve *c, uint32_t at);

// ---- what the rules share

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
	uint64_t live_bytes, live_blocks; // without noise
	uint64_t left_bytes; // of these, by processes of a tree that have ended: in no curve's end
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
	struct finding draft;    // about to be said; begun before the rule runs
	struct buffer text;      // its sentence so far
	VEC(struct finding) found;
	struct place *places;
	uint32_t n_places;
	const struct place *start_up; // of the runtime: it held most at the peak of what came before
	uint32_t *place_of;           // per stack; n_places, one more row: of code without any name
	struct holder holder;
	uint64_t *times_ns; // of the points of all curves: the edges, and the end of what happened
	uint32_t n_points;
	uint64_t start_ns; // so long there was no heap
	bool runs_scripts; // the program is a runtime: what it holds, it holds for them
};

/** Zeroed, for the work: n of them, and one more. */
#define FINDER_NEW(f, type, n) arena_new(&(f)->scratch, type, (n) + 1ul)

/** The number of each stack of a place. */
#define EACH_STACK_OF(i, f, place)                  \
	for (uint32_t i = 0; i < (f)->r->stacks.n; i++) \
		if ((f)->place_of[i] == (place) - (f)->places)

/** Gather the stacks by site. */
void finder_gather(struct finder *f);

/** Then find f->holder, but for its curve. `is_site`: only who allocates it. */
void finder_find_holder(struct finder *f, bool is_site);

/** Then make the curves of the sites that matter, and of the holder. */
void finder_make_curves(struct finder *f);

/** The largest heap without the holder, at the edges, and when it was; 0: there is none. */
uint64_t holder_what_if(const struct finder *f, uint64_t *when_ns);

/** The heap is nearly as large without what the holder calls: others do the same. */
bool holder_is_replaced(const struct finder *f);

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

/** Begin the draft anew, for a rule that states several kinds: else it is of the rule's own. */
void finder_begin(struct finder *f, const char *id, const char *title);

/** A number of the draft; some that are called like their fields, or variables. */
void finder_put(struct finder *f, const char *name, uint64_t value);
#define FINDER_PUT_FIELD(of, f, field) finder_put(f, #field, (of)->field)
#define FINDER_PUT(f, of, ...)         FOR_FIELDS(FINDER_PUT_FIELD, of, f, __VA_ARGS__)
#define FINDER_PUT_VALUE(f, _, value)  finder_put(f, #value, value)
#define FINDER_PUT_VALUES(f, ...)      FOR_FIELDS(FINDER_PUT_VALUE, f, _, __VA_ARGS__)

/** Further words of the draft's sentence, as for printf. */
#define SAY(f, ...) buffer_printf(&(f)->text, __VA_ARGS__)

/** One of that id is there already, about `about` if given; without a function: of a runtime. */
bool finder_has_said(const struct finder *f, const char *id, const struct name *about);

/** The draft with the sentence so far becomes a finding, and the rule's next one is begun. */
void finder_say(struct finder *f, enum finding_severity severity, uint64_t weight);

/** The sentence so far with its stop; the next one is empty. */
const char *finder_end_sentence(struct finder *f);

/** Whom the draft is about, and the lens "m=METRIC&focus=FUNCTION". `metric` NULL: focus alone. */
void finder_about(struct finder *f, const struct name *name, const char *metric);

/** Numbers of the window that was measured. */
void put_window(struct finder *f, const struct curve_facts *c);
void put_rate(struct finder *f, const struct curve_facts *c);

/** "leakyParse() demo.cpp:44", for SAY, or alone in the sentence. */
const char *name_words(struct finder *f, const struct name *name);
static inline void put_name(struct finder *f, const struct name *name) {
	buffer_text(&f->text, name_words(f, name));
}

/**
 * The draft is about a site: finder_about and put_name, with the line that weighs most, and
 * "<- caller()", of an addon also "<- checkBlock app.js:2"; where a dependency allocates for it,
 * "via NAME (package)". Where none of these has a name, addresses follow, with shares of what was
 * there `when` ("at the peak, ", or ""); NULL: none do. `weights`: what each stack weighs; NULL: as
 * `by` says.
 */
void say_place(struct finder *f, const struct place *p, enum weight by, const char *metric,
		const char *when, const uint64_t *weights);

/**
 * " (93 % at units+0x48db)": where in its code a place of the user's without names has what
 * `weights` says per stack.
 */
void put_addresses(struct finder *f, const struct place *p, const uint64_t *weights,
		const char *when);

/** Frees of blocks from before the attach whose sizes are not known. */
static inline uint64_t finder_unknown_frees(const struct finder *f) {
	return f->r->meta.source == REC_ATTACHED ? f->r->quality.unknown_frees : 0;
}

/**
 * "; meanwhile 2.5 MB from before the attach were freed", if any were; blocks, if that is all one
 * knows.
 */
void put_freed_before(struct finder *f);

/**
 * The user's own function, named or not, that called the site in this stack; NULL: none. `been`, by
 * node: NULL too where it has been there for another stack of the site. NULL: that does not matter.
 */
const struct name *caller_of_site(const struct finder *f, uint32_t stack, bool has_name,
		uint8_t *been);

static inline uint64_t stack_weight(const struct rec_stack *s, enum weight by) {
	const uint64_t in_their_order[N_WEIGHTS] = {s->allocated_bytes, s->allocations, s->peak_bytes,
			s->live_bytes, s->short_lived};
	return in_their_order[by];
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

static inline struct stack_walk walk_of(const struct finder *f, uint32_t stack) {
	return stack_walk_init(f->r, f->names, f->r->stacks.items[stack].node);
}

/** An allocator was seen that could not be hooked: what it did is in no number. */
static inline bool finder_misses_allocator(const struct finder *f) {
	return ANY(i, f->r->allocators.n, f->r->allocators.items[i].why);
}

struct slice short_name_of(struct finder *f, const struct name *name);

/** What of a whole, in millionths. */
static inline uint64_t millionths(uint64_t part, uint64_t whole) {
	return whole ? (uint64_t)((double)part * 1e6 / (double)whole) : 0;
}

/** "; freed when called from A, not from B", if that is so for all of its stacks. */
void put_paths(struct finder *f, const struct place *p);

#define RULE(find, needs, id, title) void find(struct finder *f);
#include "engine/findings/rules.def"

/** The runtime's function that asked for most of what a module holds. */
struct asker {
	const struct name *name; // NULL: none has a name
	uint64_t weight, all;    // its own, the module's
};
struct asker runtime_largest_asker(struct finder *f, const struct place *p, enum weight by,
		const uint64_t *weights);

/** Behind all, in their order: the first sentence about the runtime says how scripts get names. */
void runtime_say_flag(struct finder *f);

enum { MIN_GROWN_BYTES = 64000 }; // less is no growth to speak of

/** Two edges; the number of edges stands for the end. */
struct window {
	uint32_t from, to;
	int64_t *grown; // by how much, per stack
};

/** By how many bytes more of an interval live at the second one. */
static inline int64_t window_change(const struct window *w, const struct rec_interval *v) {
	bool was_there = v->from <= w->from && w->from < v->until;
	bool is_there = v->from <= w->to && w->to < v->until;
	return (int64_t)v->bytes * ((int)is_there - (int)was_there);
}

/** By how many bytes each stack, and each place, holds more at the second one; what has no place
 * is behind the last place. */
int64_t *growth_of_stacks(struct finder *f, const struct window *w);
int64_t *growth_of_places(struct finder *f, const int64_t *of_stacks);

/** Growth by doubling: "it grew by doubling: ..." appended to a sentence; false: it did not. */
bool say_doubling(struct finder *f, const uint8_t *tags, const struct place *p);
