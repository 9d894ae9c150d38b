// SPDX-License-Identifier: MIT
#pragma once
/** What the rules share: sites with exact sums, the curves of some, and drafts of sentences. */

#include "engine/findings.h"
#include "engine/memory.h"

// ---- the shape of a site's live bytes over a run, as used by findings
//
// Pure arithmetic over points with rising times; the last point is the end of the run.

struct curve {
	const uint64_t *times_ns;
	const uint64_t *bytes;
	uint32_t n;
	uint64_t start_ns; // "at start" is relative to this; UINT64_MAX: the start was before
};

enum curve_shape {
	CURVE_OTHER,
	CURVE_AT_START, // reached its level in the first tenth of the run and held it
	CURVE_ONCE,     // the same later, all at once
	CURVE_GREW,     // rose to the end, or until all was freed before the end
	CURVE_STOPPED,  // rose gradually, then held its level to the end
	CURVE_BURSTS,   // came and went several times
	CURVE_AT_END,   // came in the last hundredth of the run
	CURVE_RENEWED,  // never freed bytes rose while the whole did not: judged over two curves
};

struct curve_facts {
	enum curve_shape shape;
	uint64_t top_bytes; // the maximum
	uint64_t from_ns,
			to_ns;          // GREW: the window measured. AT_START, ONCE, STOPPED: when the level
							// was first and last reached. AT_END: little was there before
	uint64_t once_bytes;    // AT_START, ONCE, STOPPED: what came by to_ns; ONCE: since from_ns
	uint64_t from_bytes;    // GREW: at from_ns; at to_ns: top_bytes
	uint64_t rate;          // GREW: bytes per second; if uneven, in the last quarter of the window
	bool is_even;           // GREW: along a straight line
	bool is_freed;          // less than a tenth of top_bytes is left at the end
	uint64_t held_until_ns; // when nine tenths of it were last there
	uint32_t n_bursts;      // BURSTS: those that edges caught
	uint64_t risen_bytes;   // BURSTS: the sum of their rises
	uint64_t lasted_ns;     // BURSTS: mean duration of one
	uint64_t period_ns;     // BURSTS: mean time between beginnings
};

struct curve_facts curve_judge(const struct curve *c);

/** Growth in less than a second is stated as an amount and a time, not as a rate. */
static inline bool curve_has_rate(const struct curve_facts *c) {
	return c->to_ns - c->from_ns >= 1000000000;
}

/**
 * A level: from from_ns on between low_bytes, above two fifths of high_bytes, and high_bytes; the
 * last quarters have the same mean.
 */
struct curve_level {
	uint64_t from_ns, low_bytes, high_bytes;
};
bool curve_find_level(const struct curve *c, struct curve_level *out);

/** How much higher the end is than the tenth of the run before a moment. */
uint64_t curve_rise_since(const struct curve *c, uint64_t ns);

/** How a site's kept bytes grew relative to rises and falls of its live bytes. */
enum curve_waves {
	CURVE_NO_WAVES,
	CURVE_BELOW_WAVES, // evenly, before and after its largest fall, of at least half as much
	CURVE_LAST_WAVE,   // only since its last fall; it had risen before by a similar amount (half to
					   // four times) for a similar time (at least a quarter)
};
enum curve_waves curve_find_waves(const struct curve *live, const struct curve *kept,
		const struct curve_facts *grew);

/** The first moment after start-up with this fraction of the maximum. */
uint64_t curve_first_ns(const struct curve *c, double part);

/** The stretch around point `at` in which values stay above half of that at `at`. */
struct curve_stretch {
	uint32_t first, last; // points
	uint64_t ns;          // from half way before the first to half way after the last
};
struct curve_stretch curve_stretch_at(const struct curve *c, uint32_t at);

// ---- what the rules share

/** What a sentence weighs sites by. A site is shown by the line that weighs most. */
enum weight {
	BY_ALLOCATED_BYTES,
	BY_ALLOCATIONS,
	BY_PEAK_BYTES,
	BY_LIVE_BYTES,
	BY_SHORT_LIVED,
	N_WEIGHTS,
};

/** All stacks of one site name; those of runtimes by module. */
struct place {
	const struct name *name; // of the stack that allocated the most bytes
	uint32_t heaviest;       // that stack
	uint32_t n_stacks;
	uint64_t allocations, allocated_bytes, short_lived;
	uint64_t peak_bytes, peak_blocks;
	uint64_t live_bytes, live_blocks; // without noise
	uint64_t left_bytes;              // of these, by ended processes of a tree
	uint64_t end_bytes; // with noise, without what ended processes left: the end of live_curve
	uint64_t noise_bytes, noise_blocks; // also live: a runtime's own, and suppressed ones
	uint64_t first_ns, last_ns;
	const uint64_t *live_curve; // n_points, or NULL: not among those that matter
	const uint64_t *kept_curve; // of it, never freed
	const uint64_t
			*gone_curve; // freed so far, of what was live at some edge; not set at the last point
	uint64_t lasting_bytes;  // live from the middle of the run to its last tenth, of tagged places
	bool has_memory_finding; // a rule explained its bytes
	bool has_churn_finding;
};

/** Who holds the peak, with its callees (holder.c describes the choice). */
struct holder {
	const struct name *name; // or NULL
	uint64_t bytes;          // with its callees, at the peak
	uint64_t own;            // as a site
	uint8_t *tags;           // per stack: passes through it?
	const uint64_t *curve;   // of these stacks, n_points
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
	struct arena *arena;  // for results
	struct arena scratch; // for temporary data
	struct findings *out;
	const struct rule *rule; // running now
	struct finding draft;    // the finding being composed; begun before the rule runs
	struct buffer text;      // its sentence so far
	VEC(struct finding) found;
	struct place *places;
	uint32_t n_places;
	const struct place *start_up; // the runtime's largest of what came before the program; or NULL
	uint32_t *place_of;           // per stack; n_places: a further row, for code without any name
	struct holder holder;
	uint64_t *times_ns; // of the points of all curves: the edges, and the end of activity
	uint32_t n_points;
	uint64_t start_ns; // there was no heap before
	bool runs_scripts; // the program is a runtime, which holds memory for them
};

/** n + 1 zeroed items in scratch. */
#define FINDER_NEW(f, type, n) arena_new(&(f)->scratch, type, (n) + 1ul)

/** The index of each stack of a place. */
#define EACH_STACK_OF(i, f, place)                  \
	for (uint32_t i = 0; i < (f)->r->stacks.n; i++) \
		if ((f)->place_of[i] == (place) - (f)->places)

void finder_gather(struct finder *f);

/** Find f->holder except its curve, after finder_gather. `is_site`: by own allocations only. */
void finder_find_holder(struct finder *f, bool is_site);

/** Make the curves of the sites that matter, and of the holder. */
void finder_make_curves(struct finder *f);

/** The largest heap at an edge without the holder, and when; 0: none. */
uint64_t holder_what_if(const struct finder *f, uint64_t *when_ns);

/** Is the heap nearly as large without what the holder calls, because others do the same? */
bool holder_is_replaced(const struct finder *f);

/** The peak without what the runtime had allocated before. */
static inline uint64_t finder_own_peak(const struct finder *f) {
	return f->r->summary.peak_bytes - (f->start_up ? f->start_up->peak_bytes : 0);
}

/** Can a finding name this frame on its way down? */
static inline bool holder_may_be(const struct name *frame, const struct name *site) {
	return (frame->owner == OWNER_YOURS || frame == site) && !frame->is_wrapper && frame->has_name;
}

static inline struct curve finder_as_curve(const struct finder *f, const uint64_t *bytes) {
	return (struct curve){f->times_ns, bytes, f->n_points, f->start_ns};
}

/** Restart the draft; for rules that state several kinds of findings. */
void finder_begin(struct finder *f, const char *id, const char *title);

/** Add a number to the draft; the macros add fields, or variables, under their names. */
void finder_put(struct finder *f, const char *name, uint64_t value);
#define FINDER_PUT_FIELD(of, f, field) finder_put(f, #field, (of)->field)
#define FINDER_PUT(f, of, ...)         FOR_FIELDS(FINDER_PUT_FIELD, of, f, __VA_ARGS__)
#define FINDER_PUT_VALUE(f, _, value)  finder_put(f, #value, value)
#define FINDER_PUT_VALUES(f, ...)      FOR_FIELDS(FINDER_PUT_VALUE, f, _, __VA_ARGS__)

/** Append to the draft's sentence, as printf. */
#define SAY(f, ...) buffer_printf(&(f)->text, __VA_ARGS__)

/** Is there a finding with this id, about `about` (may be NULL), or about a runtime? */
bool finder_has_said(const struct finder *f, const char *id, const struct name *about);

/** Turn the draft into a finding, and begin the rule's next one. */
void finder_say(struct finder *f, enum finding_severity severity, uint64_t weight);

/** The finished sentence, with its full stop; the next one begins empty. */
const char *finder_end_sentence(struct finder *f);

/** Set what the draft is about, and its lens "m=METRIC&focus=FUNCTION". No `metric`: only focus. */
void finder_about(struct finder *f, const struct name *name, const char *metric);

/** Add the numbers of the measured window. */
void put_window(struct finder *f, const struct curve_facts *c);
void put_rate(struct finder *f, const struct curve_facts *c);

/** "leakyParse() demo.cpp:44"; put_name appends it to the sentence. */
const char *name_words(struct finder *f, const struct name *name);
static inline void put_name(struct finder *f, const struct name *name) {
	buffer_text(&f->text, name_words(f, name));
}

/**
 * Make the draft about a site: finder_about and put_name, with its heaviest line, and "<-
 * caller()", for an addon also "<- checkBlock app.js:2"; if a dependency allocates for it, "via
 * NAME (package)". If none of these has a name, addresses follow, with shares of what was there
 * `when` ("at the peak, ", or ""; NULL: no addresses). `weights`: by stack; NULL: as `by` says.
 * Returns the stack that stands for the site: of that line the heaviest.
 */
uint32_t say_place(struct finder *f, const struct place *p, enum weight by, const char *metric,
		const char *when, const uint64_t *weights);

/** What each stack weighs in a place, without what a runtime keeps of another's. From malloc. */
uint64_t *weights_in(const struct finder *f, const struct place *p, enum weight by);

/** " (93 % at units+0x48db)": where `weights`, by stack, are in a user's unnamed code. */
void put_addresses(struct finder *f, const struct place *p, const uint64_t *weights,
		const char *when);

/** Frees of blocks from before the attach, whose sizes are unknown. */
static inline uint64_t finder_unknown_frees(const struct finder *f) {
	return f->r->meta.source == REC_ATTACHED ? f->r->quality.unknown_frees : 0;
}

/** "; meanwhile 2.5 MB from before the attach were freed", if any; blocks if sizes are unknown. */
void put_freed_before(struct finder *f);

/**
 * The user's function, named or not, that called the site in this stack, no overload of it; or
 * NULL. `been` (may be NULL), by node: skip callers already seen for another stack of the site.
 */
const struct name *caller_of_site(const struct finder *f, uint32_t stack, bool has_name,
		uint8_t *been);

/** What a sentence names for a stack: names_site, or its module if that has no name. */
static inline const struct name *finder_site(const struct finder *f, uint32_t stack) {
	const struct name *site = names_site(f->names, f->r->stacks.items[stack].node);
	return site && !site->has_name ? names_without_symbols(f->names, site) : site;
}

/** Does a runtime keep this stack's never freed blocks for itself? */
static inline bool finder_is_noise(const struct finder *f, uint32_t stack) {
	const struct name *keeper = names_keeper(f->names, f->r->stacks.items[stack].node);
	return !keeper || keeper->is_runtime;
}

static inline struct stack_walk walk_of(const struct finder *f, uint32_t stack) {
	return stack_walk_init(f->r, f->names, f->r->stacks.items[stack].node);
}

/** Was there an allocator that could not be hooked? No figure includes it. */
static inline bool finder_misses_allocator(const struct finder *f) {
	return ANY(i, f->r->allocators.n, f->r->allocators.items[i].why);
}

struct slice short_name_of(struct finder *f, const struct name *name);

static inline uint64_t millionths(uint64_t part, uint64_t whole) {
	return whole ? (uint64_t)((double)part * 1e6 / (double)whole) : 0;
}

/** "; freed when called from A, not from B", if that is true of all its stacks. */
void put_paths(struct finder *f, const struct place *p);

#define RULE(find, needs, id, title) void find(struct finder *f);
#include "engine/findings/rules.def"

/** The runtime function that requested most of what a module holds. */
struct asker {
	const struct name *name; // NULL: none with a name
	uint64_t weight, all;    // its own, the module's
};
struct asker runtime_largest_asker(struct finder *f, const struct place *p,
		const uint64_t *weights);

/** Run last: the first sentence about the runtime says how scripts get names. */
void runtime_say_flag(struct finder *f);

enum { MIN_GROWN_BYTES = 64000 }; // less is not called growth

/** A pair of edges; edges.n is the end. */
struct window {
	uint32_t from, to;
	int64_t *grown; // per stack, by how much
};

/** How many bytes more of an interval are live at `to` than at `from`. */
static inline int64_t window_change(const struct window *w, const struct rec_interval *v) {
	bool was_there = v->from <= w->from && w->from < v->until;
	bool is_there = v->from <= w->to && w->to < v->until;
	return (int64_t)v->bytes * ((int)is_there - (int)was_there);
}

/** How many bytes more each stack or place holds at `to`; no place: after the last one. */
int64_t *growth_of_stacks(struct finder *f, const struct window *w);
int64_t *growth_of_places(struct finder *f, const int64_t *of_stacks);

/** Append "; it grew by doubling, ..." to the sentence. False: it did not. */
bool say_doubling(struct finder *f, const uint8_t *tags, const struct place *p);
