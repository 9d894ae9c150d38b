// SPDX-License-Identifier: MIT
/* Says once per site what it never freed, if much of it, else the shape of what it held. */
#include "engine/findings/parts.h"
#include "engine/lens/parts.h"

enum { MIN_BYTES = 1000, MIN_RUNTIME_BYTES = 8000000 };

/** " (12:03:05 to 12:13:07)", for runs long enough to remember by the clock. */
static void put_clock(struct finder *f, const struct rec_meta *m, uint64_t from_ns,
		uint64_t to_ns) {
	enum { LONG_RUN_S = 60 };
	if (m->wall_start_ns && m->duration_ns >= LONG_RUN_S * 1000000000ull) {
		SAY(f, " (%s to %s)", CLOCK_TIME(m, from_ns), CLOCK_TIME(m, to_ns));
	}
}

/** How long until the limit of its control group is reached at this rate. */
static void put_time_to_limit(struct finder *f, uint64_t rate) {
	const struct recording *r = f->r;
	uint64_t limit = r->meta.memory_limit_bytes;
	if (limit == 0 || r->samples.n == 0 || rate == 0 || recording_is_tree(r)) {
		return;
	}
	const struct rec_sample *last = &r->samples.items[r->samples.n - 1];
	uint64_t used = last->rss_bytes - (last->ours_bytes < last->rss_bytes ? last->ours_bytes : 0);
	double ns = ((double)limit - (double)used) * 1e9 / (double)rate;
	if (ns <= 0 || ns > 365 * 86400e9) {
		return;
	}
	SAY(f, "; at this rate the limit of %s of its container is reached in %s", HUMAN_BYTES(limit),
			HUMAN_DURATION((uint64_t)ns));
	finder_put(f, "limit_in_ns", (uint64_t)ns);
}

/** Were nine tenths of it still there in the last twentieth of the recording? */
static bool is_held_to_end(const struct finder *f, const struct curve_facts *c) {
	uint64_t run_ns = f->r->meta.duration_ns; // curves may end earlier, when nothing happens
	return c->held_until_ns >= run_ns - run_ns / 20;
}

void put_window(struct finder *f, const struct curve_facts *c) {
	if (curve_has_rate(c)) {
		finder_put(f, "rate_bytes_per_s", c->rate);
	}
	FINDER_PUT(f, c, from_ns, to_ns);
	finder_put(f, "grown_bytes", c->top_bytes - c->from_bytes);
}

/** Did `came` of the `live` bytes or blocks replace `freed` ones from before the attach? */
static bool is_replaced(uint64_t came, uint64_t live, uint64_t freed) {
	return freed > 0 && freed >= came / 2 && (live > freed ? live - freed : 0) < came / 2;
}

/**
 * Did the heap not grow by as much, because memory from before the attach was freed? By bytes, or
 * for never freed blocks by number, if the sizes of those freed are unknown.
 */
static bool replaces_old(const struct finder *f, const struct place *kept,
		const struct curve_facts *c) {
	const struct rec_summary *s = &f->r->summary;
	return is_replaced(c->top_bytes - c->from_bytes, s->live_bytes, s->old_freed_bytes) ||
			(kept && is_replaced(kept->live_blocks, s->live_blocks, finder_unknown_frees(f)));
}

/** If growth is uneven, the rate of its last quarter. */
void put_rate(struct finder *f, const struct curve_facts *c) {
	if (curve_has_rate(c)) {
		SAY(f, " (%s/s%s)", HUMAN_BYTES(c->rate), c->is_even ? "" : " towards the end");
	}
}

/** "grew at an even 105 kB/s to the end", or by how much in which time. */
static void put_growth(struct finder *f, const struct curve_facts *c) {
	bool is_to_end = c->to_ns >= f->r->meta.duration_ns / 100 * 98, has_rate = curve_has_rate(c);
	if (c->is_even && has_rate) {
		SAY(f, "grew at an even %s/s%s", HUMAN_BYTES(c->rate), is_to_end ? " to the end" : "");
	} else {
		SAY(f, "grew %sby %s", c->is_even ? "evenly " : "",
				HUMAN_BYTES(c->top_bytes - c->from_bytes));
		put_rate(f, c);
	}
	if (c->is_even && is_to_end && !has_rate) {
		SAY(f, " in %s", HUMAN_SPAN(c->to_ns - c->from_ns));
	} else if (!c->is_even || !is_to_end) {
		SAY(f, " from %s to %s", HUMAN_DURATION(c->from_ns), HUMAN_DURATION(c->to_ns));
	}
	put_clock(f, &f->r->meta, c->from_ns, c->to_ns);
	put_window(f, c);
	put_time_to_limit(f, has_rate ? c->rate : 0);
}

/** "1,000 of 1,500 blocks, 542.0 kB". */
static void put_kept(struct finder *f, const struct place *p) {
	if (!(f->r->missing & (REC_LIVE_BLOCKS | REC_ALLOCATIONS))) {
		SAY(f, "%s of %s, ", HUMAN_COUNT(p->live_blocks), COUNTED(p->allocations, "block"));
		finder_put(f, "blocks", p->live_blocks);
		finder_put(f, "allocations", p->allocations);
	}
	SAY(f, "%s", HUMAN_BYTES(p->live_bytes));
	finder_put(f, "bytes", p->live_bytes);
}

/** When the kept bytes reached this many. */
static uint64_t kept_ns(const struct finder *f, const struct place *p, uint64_t bytes) {
	return f->times_ns[sorted_first(p->kept_curve, f->n_points - 1, bytes)];
}

/** When everything kept was there: a place's last allocation may have been freed. */
static uint64_t last_kept_ns(const struct finder *f, const struct place *p) {
	uint64_t ns = kept_ns(f, p, p->kept_curve[f->n_points - 1]);
	return LOWER_TO(ns, p->last_ns);
}

static uint64_t most_kept_ns(const struct finder *f, const struct place *p) {
	return kept_ns(f, p, p->live_bytes - p->live_bytes / 4);
}

static bool is_kept_early(const struct finder *f, const struct place *p) {
	return most_kept_ns(f, p) <= f->r->meta.duration_ns / 10;
}

/** "allocated once, at 5.0 ms"; "92 % of it allocated at 5.0 ms" if the rest came otherwise. */
static void put_once(struct finder *f, const struct curve_facts *c, const char *all,
		const char *of) {
	const bool is_start = c->shape == CURVE_AT_START;
	if (c->once_bytes < c->top_bytes) {
		SAY(f, "%s of %sallocated", HUMAN_PERCENT(c->once_bytes, c->top_bytes), of);
	} else {
		SAY(f, "%sallocated once,", all);
	}
	SAY(f, is_start ? " in the first %s" : " at %s",
			HUMAN_DURATION(is_start ? c->to_ns : c->from_ns));
}

/** How the kept bytes came about. */
static void put_kept_shape(struct finder *f, const struct place *p, const struct curve_facts *c) {
	if (c->shape == CURVE_GREW) {
		put_growth(f, c);
		if (replaces_old(f, p, c)) {
			put_freed_before(f);
		}
	} else if (c->shape == CURVE_AT_START || c->shape == CURVE_ONCE) {
		put_once(f, c, "", "it ");
	} else if (c->shape == CURVE_STOPPED) {
		SAY(f, "%sstopped growing after %s", c->once_bytes < c->top_bytes ? "nearly " : "",
				HUMAN_DURATION(c->to_ns));
		finder_put(f, "stopped_ns", c->to_ns);
	} else if (c->shape == CURVE_AT_END) {
		SAY(f, "nearly all of it allocated after %s", HUMAN_DURATION(c->from_ns));
	} else {
		if (c->shape == CURVE_RENEWED) {
			SAY(f, "most of it in place of what was freed; ");
		} else if (c->shape == CURVE_OTHER && is_kept_early(f, p)) {
			SAY(f, "most of it in the first %s; ", HUMAN_DURATION(most_kept_ns(f, p)));
		}
		SAY(f, "%sallocated by %s", p->live_blocks == 1 ? "" : "the last of it ",
				HUMAN_DURATION(last_kept_ns(f, p)));
	}
}

/**
 * Say how many processes left it at their ends; at least how many, where threads of several were
 * merged (row 0). Gives what else is live plus the most of one that is told apart.
 */
static uint64_t put_left(struct finder *f, const struct place *p) {
	uint64_t *left = FINDER_NEW(f, uint64_t, f->r->processes.n), most = 0, n = 0;
	EACH_STACK_OF(i, f, p) {
		const struct rec_stack *s = &f->r->stacks.items[i];
		const uint32_t process = rec_thread_process(f->r, s->thread);
		n += process > 0 && left[process] == 0 && s->left_bytes > 0;
		left[process] += s->left_bytes;
		RAISE_TO(most, process > 0 ? left[process] : 0);
	}
	if (n > 1) {
		SAY(f, ", left by %s%s processes at their ends%s", left[0] ? "at least " : "",
				HUMAN_COUNT(n),
				left[0] ? "" : FORMAT(64, ", at most %s by one", HUMAN_BYTES(most)));
	}
	return p->live_bytes - p->left_bytes + most;
}

static enum finding_severity severity_of_kept(const struct finder *f, const struct place *p,
		const struct curve_facts *c, uint64_t bytes) {
	const struct rec_summary *s = &f->r->summary;
	const enum curve_shape is = c->shape;
	bool is_settled = is == CURVE_AT_START || is == CURVE_ONCE || is == CURVE_RENEWED ||
			is == CURVE_AT_END ||
			(is == CURVE_OTHER && !(f->r->missing & REC_TIME) &&
					(is_kept_early(f, p) || last_kept_ns(f, p) < f->r->meta.duration_ns / 2));
	// Many small blocks count only if they are a part of what is left; a program that never frees
	// leaves them everywhere
	bool is_many = p->live_blocks >= 100 && p->live_bytes >= s->live_bytes / 20;
	bool is_little = bytes < s->peak_bytes / 100 && !is_many;
	bool is_rising = c->shape == CURVE_GREW || bytes >= s->peak_bytes / 10;
	bool is_worth_it = c->shape == CURVE_STOPPED || !is_rising || replaces_old(f, p, c);
	return is_settled || is_little ? FINDING_EXPLAINS
			: is_worth_it          ? FINDING_WORTH_IT
								   : FINDING_LOOK_FIRST;
}

/** Kinds of findings told apart by shape, which the rule's row does not name. */
static const struct {
	const char *id, *title;
	uint64_t part; // minimal fraction (1/part) of the peak at its maximum; 0: not stated
} kinds[CURVE_RENEWED + 1] = {
		[CURVE_AT_START] = {"at-start", "at start-up", 5},
		[CURVE_ONCE] = {"allocated-once", "allocated once", 5},
		[CURVE_GREW] = {"growing", "growing", 100},
		[CURVE_STOPPED] = {"stopped-growing", "stopped growing", 20},
		[CURVE_BURSTS] = {"bursts", "bursts", 20},
};

static void say_never_freed(struct finder *f, struct place *p, const struct curve_facts *c) {
	bool is_at_once = c->shape == CURVE_AT_START || c->shape == CURVE_ONCE;
	if (is_at_once) {
		finder_begin(f, kinds[c->shape].id, kinds[c->shape].title);
	}
	(void)say_place(f, p, BY_LIVE_BYTES, "never-freed", "", NULL);
	SAY(f, ": ");
	put_kept(f, p);
	const uint64_t bytes = p->left_bytes > 0 ? put_left(f, p) : p->live_bytes;
	if (f->r->edges.n && !(f->r->missing & REC_TIME) && p->left_bytes == 0) {
		SAY(f, ", ");
		put_kept_shape(f, p, c);
	}
	SAY(f, is_at_once ? ", and never freed" : "");
	put_paths(f, p);
	finder_say(f, severity_of_kept(f, p, c, bytes), millionths(bytes, f->r->summary.peak_bytes));
	p->has_memory_finding = true;
}

static void put_freed(struct finder *f, const struct curve_facts *c) {
	if (c->is_freed && is_held_to_end(f, c) && f->r->processes.n == 0) {
		SAY(f, "; freed only at the end");
	} else if (c->is_freed) {
		SAY(f, "; held until %s", HUMAN_DURATION(c->held_until_ns));
	}
}

static void say_growing(struct finder *f, const struct curve_facts *c) {
	SAY(f, ": ");
	put_growth(f, c);
	SAY(f, ", to %s", HUMAN_BYTES(c->top_bytes));
	bool is_in_place = replaces_old(f, NULL, c);
	if (is_in_place) {
		put_freed_before(f);
	}
	put_freed(f, c);
	// What is freed at the end is work in progress, unless it is a good part of the heap
	bool is_passing = c->is_freed && c->top_bytes < f->r->summary.peak_bytes / 10;
	f->draft.severity = is_in_place || is_passing ? FINDING_WORTH_IT : FINDING_LOOK_FIRST;
}

static uint64_t freed_blocks(const struct place *p) {
	return p->allocations - p->live_blocks - p->noise_blocks;
}

/** What was allocated after a moment, of what was live at some edge. */
static uint64_t came_since(const struct finder *f, const struct place *p, uint64_t ns) {
	const size_t last = f->n_points > 1 ? f->n_points - 2 : 0;
	const size_t behind = sorted_first(f->times_ns, last + 1, ns + 1), at = behind ? behind - 1 : 0;
	return p->live_curve[last] + p->gone_curve[last] - p->live_curve[at] - p->gone_curve[at];
}

/** Did it hold a level from this moment on, while it freed and reallocated blocks? */
static bool makes_anew(const struct finder *f, const struct place *p, uint64_t from_ns,
		uint64_t level_bytes) {
	uint64_t middle = from_ns + (f->times_ns[f->n_points - 1] - from_ns) / 2;
	return freed_blocks(p) > 0 && came_since(f, p, middle) >= level_bytes / 4 &&
			p->lasting_bytes < level_bytes / 2 && !(f->r->missing & REC_LIVE_BLOCKS);
}

static void put_turnover(struct finder *f, const struct place *p) {
	SAY(f, "; blocks came and went: %s of %s were freed", HUMAN_COUNT(freed_blocks(p)),
			HUMAN_COUNT(p->allocations));
	finder_put(f, "freed_blocks", freed_blocks(p));
	finder_put(f, "allocations", p->allocations);
}

static void say_stopped(struct finder *f, const struct place *p, const struct curve_facts *c) {
	SAY(f, ": stopped growing at %s after %s", HUMAN_BYTES(c->top_bytes), HUMAN_DURATION(c->to_ns));
	if (makes_anew(f, p, c->to_ns, c->top_bytes)) {
		put_turnover(f, p);
	}
	put_freed(f, c);
	finder_put(f, "stopped_ns", c->to_ns);
	f->draft.severity = FINDING_WORTH_IT;
}

static void say_once(struct finder *f, const struct curve_facts *c) {
	const char *bytes_were = FORMAT(64, "%s were ", HUMAN_BYTES(c->top_bytes));
	SAY(f, ": ");
	put_once(f, c, bytes_were, bytes_were);
	if (c->held_until_ns == f->times_ns[f->n_points - 1]) {
		SAY(f, ", and held since");
	} else if (c->is_freed && is_held_to_end(f, c)) {
		SAY(f, ", and held to the end");
	} else {
		SAY(f, ", and held until %s", HUMAN_DURATION(c->held_until_ns));
	}
	finder_put(f, "reached_ns", c->to_ns);
	f->draft.severity = FINDING_EXPLAINS;
}

/** A burst that no edge caught would have to rise from a fifth of the maximum to half of it. */
static void say_bursts(struct finder *f, const struct place *p, const struct curve_facts *c) {
	bool are_all = p->allocated_bytes < c->risen_bytes + c->top_bytes / 10 * 3;
	SAY(f, ": holds up to %s, in %s%u bursts above half of that, of %s%s",
			HUMAN_BYTES(c->top_bytes), are_all ? "" : "at least ", c->n_bursts,
			c->lasted_ns < 1000000 ? "" : "about ", HUMAN_SPAN(c->lasted_ns));
	if (are_all) {
		SAY(f, ", one every %s", HUMAN_DURATION(c->period_ns));
	}
	finder_put(f, "bursts", c->n_bursts);
	FINDER_PUT(f, c, lasted_ns, period_ns);
	f->draft.severity = c->top_bytes >= f->r->summary.peak_bytes / 2 ? FINDING_LOOK_FIRST
																	 : FINDING_WORTH_IT;
}

static void say_shape(struct finder *f, struct place *p, const struct curve_facts *c) {
	finder_begin(f, kinds[c->shape].id, kinds[c->shape].title);
	// The curve shows what it held; the line is of the peak or the end, where it held more
	static const char *const when[N_WEIGHTS] =
			{[BY_PEAK_BYTES] = "at the peak, ", [BY_LIVE_BYTES] = "at the end, "};
	enum weight by = p->live_bytes > p->peak_bytes ? BY_LIVE_BYTES
			: p->peak_bytes                        ? BY_PEAK_BYTES
												   : BY_ALLOCATED_BYTES;
	(void)say_place(f, p, by, NULL, when[by], NULL);
	SAY(f, p->name->is_runtime ? ", for what it runs" : "");
	finder_put(f, "bytes", c->top_bytes);
	switch (c->shape) {
	case CURVE_GREW: say_growing(f, c); break;
	case CURVE_STOPPED: say_stopped(f, p, c); break;
	case CURVE_AT_START:
	case CURVE_ONCE: say_once(f, c); break;
	default: say_bursts(f, p, c); break;
	}
	finder_say(f, f->draft.severity, millionths(c->top_bytes, f->r->summary.peak_bytes));
	p->has_memory_finding = true;
}

/** Edges show a level, not whether the same blocks make it up. */
static bool is_allocated_once(const struct finder *f, const struct place *p,
		const struct curve_facts *c) {
	uint64_t soon = f->times_ns[f->n_points - 1] / 100;
	return p->lasting_bytes >= c->top_bytes / 10 * 9 ||
			came_since(f, p, c->to_ns + soon) <= c->top_bytes / 10;
}

static bool is_worth_saying(const struct finder *f, const struct place *p,
		const struct curve_facts *c) {
	const uint64_t part = kinds[c->shape].part;
	if (p->name->is_runtime) {
		return c->shape == CURVE_GREW && c->top_bytes - c->from_bytes >= MIN_RUNTIME_BYTES;
	}
	bool is_once = c->shape == CURVE_AT_START || c->shape == CURVE_ONCE;
	// Edges catch only some of many short bursts: few long ones. Allocated bytes tell them apart
	return part > 0 && c->top_bytes >= MIN_GROWN_BYTES &&
			c->top_bytes >= f->r->summary.peak_bytes / part &&
			(c->shape != CURVE_BURSTS || p->allocated_bytes / 2 <= c->n_bursts * c->top_bytes) &&
			(!is_once || is_allocated_once(f, p, c));
}

/** Is enough never freed to be mentioned? What came all at once must be a good part. */
static bool is_much_kept(const struct finder *f, const struct place *p,
		const struct curve_facts *kept) {
	uint64_t peak = f->r->summary.peak_bytes;
	bool is_gradual = kept->shape == CURVE_GREW || kept->shape == CURVE_STOPPED ||
			kept->shape == CURVE_OTHER;
	return !p->name->is_runtime && p->live_bytes >= MIN_BYTES &&
			(p->live_bytes >= peak / (is_gradual ? 2000 : 100) ||
					(is_gradual && p->live_blocks >= 100));
}

/**
 * If blocks are constantly freed and reallocated, those the recording never saw freed accumulate
 * towards its end. That is no growth if the site held as much before, or they are a last wave.
 */
static bool is_renewed(const struct finder *f, const struct place *p, const struct curve *live,
		const struct curve *kept, const struct curve_facts *never_freed,
		enum curve_shape shape_of_all) {
	const enum curve_shape shape = never_freed->shape;
	if (shape == CURVE_AT_START || shape == CURVE_ONCE || freed_blocks(p) == 0) {
		return false;
	}
	enum curve_waves waves = shape == CURVE_GREW ? curve_find_waves(live, kept, never_freed)
												 : CURVE_NO_WAVES;
	if (waves != CURVE_NO_WAVES) {
		return waves == CURVE_LAST_WAVE;
	}
	// Short runs have too few edges to judge curves; the sums are exact
	uint64_t freed_bytes = p->allocated_bytes - p->live_bytes - p->noise_bytes;
	if (freed_bytes < p->live_bytes / 2 && f->r->summary.old_freed_blocks == 0) {
		return false;
	}
	uint64_t since = curve_first_ns(kept, 0.1), half = curve_first_ns(kept, 0.5);
	return curve_rise_since(live, since) < curve_rise_since(kept, since) / 2 ||
			(shape_of_all == CURVE_STOPPED &&
					curve_rise_since(live, half) < curve_rise_since(kept, half) / 2);
}

/** "held 2.7 to 2.9 MB from 35 ms on; blocks came and went"; false: not so, or too little. */
static bool say_steady(struct finder *f, struct place *p, const struct curve *live) {
	struct curve_level level;
	uint64_t peak = f->r->summary.peak_bytes;
	if (p->name->is_runtime || !curve_find_level(live, &level) ||
			!makes_anew(f, p, level.from_ns, level.high_bytes) || level.high_bytes < MIN_BYTES ||
			level.high_bytes < peak / 20) {
		return false;
	}
	finder_begin(f, "steady", "steady");
	const char *low = HUMAN_BYTES(level.low_bytes), *high = HUMAN_BYTES(level.high_bytes);
	(void)say_place(f, p, BY_PEAK_BYTES, NULL, "at the peak, ", NULL);
	bool is_one = strcmp(low, high) == 0;
	SAY(f, ": held %s%s%s from %s on", is_one ? "" : low, is_one ? "" : " to ", high,
			HUMAN_DURATION(level.from_ns));
	finder_put(f, "bytes", level.high_bytes);
	FINDER_PUT(f, &level, low_bytes, from_ns);
	put_turnover(f, p);
	finder_say(f, FINDING_EXPLAINS, millionths(level.high_bytes, peak));
	p->has_memory_finding = true;
	return true;
}

static void look_at(struct finder *f, struct place *p) {
	struct curve live = finder_as_curve(f, p->live_curve);
	struct curve kept = finder_as_curve(f, p->kept_curve);
	struct curve_facts shape = curve_judge(&live), never_freed = curve_judge(&kept);
	bool has_time = !(f->r->missing & REC_TIME), knows_end = has_time && p->left_bytes == 0;
	shape.shape = has_time ? shape.shape : CURVE_OTHER; // how it came about is unknown
	never_freed.shape = knows_end ? never_freed.shape : CURVE_OTHER;
	bool is_much = p->live_bytes >= shape.top_bytes / 10 && is_much_kept(f, p, &never_freed);
	bool is_anew = knows_end && is_much &&
			is_renewed(f, p, &live, &kept, &never_freed, shape.shape);
	bool is_first_time = f->r->summary.old_freed_blocks == 0; // else there may have been old ones
	if (is_anew && is_first_time && shape.shape == CURVE_STOPPED && is_worth_saying(f, p, &shape)) {
		say_shape(f, p, &shape);
	} else if (is_anew && say_steady(f, p, &live)) {
		return;
	} else if (is_anew && freed_blocks(p) >= p->allocations / 10 * 9) {
		return; // what is left is the latest, and will go like the rest
	} else if (is_much) {
		never_freed.shape = is_anew ? CURVE_RENEWED : never_freed.shape;
		say_never_freed(f, p, &never_freed);
	} else if (is_worth_saying(f, p, &shape)) {
		say_shape(f, p, &shape);
	} else if (has_time && p->live_bytes < shape.top_bytes / 10) {
		(void)say_steady(f, p, &live);
	}
}

void find_held(struct finder *f) {
	EACH_OF_THAT(p, f->places, f->n_places, p->live_curve) {
		look_at(f, p);
	}
}
