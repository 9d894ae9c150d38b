// SPDX-License-Identifier: MIT
/* Parses gates such as "never-freed>+1M", decides each, and says what it found. */
#include "report/compare.h"
#include "report/text/page.h"

// What the numbers are, and where they come from
static const struct {
	const char *name, *what;
	enum lens_metric metric; // whose sites explain it
	bool is_bytes, may_be_share;
} kinds[N_GATE_NUMBERS] = {
#define GATE_ROW(id, name, metric, is_bytes, may_be_share, says) \
	[GATE_##id] = {name, says, LENS_##metric, is_bytes, may_be_share},
		METRIC_GATES(GATE_ROW) OTHER_GATES(GATE_ROW)};

/** The names of those that may be a share. */
#define SHARE_true(name) " " name
#define SHARE_false(name)
#define SHARE(id, name, metric, is_bytes, may_be_share, ...) SHARE_##may_be_share(name)
#define SHARES_TEXT                                          METRIC_GATES(SHARE) OTHER_GATES(SHARE)

// ---- parsing

/** The longest name that `s` begins with. */
static bool take_name(struct slice *s, enum gate_number *out) {
	__auto_type kind = MOST_OF(k, kinds, N_OF(kinds), starts_with(*s, k->name) * strlen(k->name));
	if (kind) {
		*out = (enum gate_number)(kind - kinds);
		*s = slice_from(*s, strlen(kind->name));
	}
	return kind;
}

/** "k", "MB", "GiB", "%". */
static void take_unit(struct slice *s, struct gate *g, bool is_more) {
	static const char units[] = "kMGT";
	g->limit = is_more ? GATE_MORE : GATE_ABSOLUTE;
	if (take_prefix(s, "%")) {
		g->limit = is_more ? GATE_MORE_SHARE : GATE_SHARE;
		g->value /= 100;
		return;
	}
	const char *unit = s->size ? strchr(units, *s->data == 'K' ? 'k' : *s->data) : NULL;
	if (unit) {
		*s = slice_from(*s, 1);
		double step = take_prefix(s, "i") ? 1024 : 1000;
		for (const char *u = units; u <= unit; u++) {
			g->value *= step;
		}
	}
	(void)take_prefix(s, "B");
}

bool gate_parse(struct gate *g, const char *text, struct err *err) {
	struct slice rest = skip_spaces(slice_of_text(text));
	*g = (struct gate){.text = text};
	if (!take_name(&rest, &g->number)) {
		return err_usage(err, "--fail-if: invalid gate \"%s\"; begin with one of:" GATE_NAMES_TEXT,
				text);
	}
	rest = skip_spaces(rest);
	g->is_below = take_prefix(&rest, "<");
	bool ok = g->is_below || take_prefix(&rest, ">");
	g->or_equal = take_prefix(&rest, "=");
	rest = skip_spaces(rest);
	bool is_more = take_prefix(&rest, "+");
	ok = ok && take_fraction(&rest, &g->value);
	take_unit(&rest, g, is_more);
	if (!ok || skip_spaces(rest).size > 0) {
		return err_usage(err,
				"--fail-if: invalid gate \"%s\"; use e.g. 'peak>500M', 'temporary>30%%', "
				"'allocations>+5%%' or 'never-freed>+1M'",
				text);
	}
	if (g->limit == GATE_SHARE && !kinds[g->number].may_be_share) {
		return err_usage(err,
				"--fail-if: invalid gate \"%s\"; to compare with a base use +%.4g%%; shares, of "
				"all allocations or of RSS, are for:" SHARES_TEXT,
				text, g->value * 100);
	}
	return true;
}

struct run_value {
	double value, whole; // whole: what it can be a share of
	uint32_t run;
	bool is_missing;
};

struct checking {
	struct gate_runs ours, base;
	struct arena *arena;
	struct err *err;
};

// ---- numbers of runs

/** The look that a gate is about; with a range, the newest look in it. */
static struct memory_look look_of(const struct diff_input *run, enum gate_number number) {
	const struct recording *r = run->recording;
	if (run->lens->has_range) {
		uint32_t i = r->looks.n;
		while (i > 0 && !memory_has_look(run->lens, r, i - 1)) {
			i--;
		}
		return memory_look(r, i > 0 ? i - 1 : r->looks.n);
	}
	return number == GATE_RSS ? memory_at_end(r) : memory_at_peak(r);
}

static void value_of_look(const struct memory_look *m, enum gate_number number,
		struct run_value *out) {
	uint8_t has = m->look ? m->look->has : 0;
	out->whole = m->look ? (double)m->look->rss_bytes : 0;
	bool has_all = has & REC_HAS_PAGES && has & REC_HAS_BLOCKS;
	switch (number) {
	case GATE_RSS: out->value = out->whole; break;
	case GATE_HEAP_FREE: out->value = (double)m->bytes[REC_PART_HEAP_FREE]; break;
	case GATE_UNTOUCHED: out->value = (double)m->untouched_bytes; break;
	default: out->value = (double)m->bytes[REC_PART_UNKNOWN]; break;
	}
	out->is_missing = number == GATE_RSS ? !m->look
			: number == GATE_UNKNOWN     ? !(has & REC_HAS_PAGES)
			: number == GATE_UNTOUCHED   ? !has_all || !memory_knows_untouched(m)
										 : !has_all;
}

/** The number that a gate of a metric asks for. */
static uint64_t number_in(const struct lens_costs *c, enum gate_number number) {
	return kinds[number].is_bytes ? c->bytes : c->blocks;
}

/** Apply the gate's metric to a run; `as` is the recording whose stacks have it. */
static bool apply(const struct diff_input *run, enum gate_number number, struct arena *arena,
		struct recording *as, struct lens *lens, struct lens_result *out, struct err *err) {
	*lens = *run->lens;
	lens->metric = kinds[number].metric;
	return memory_as_recording(run->recording, lens, arena, as, err) &&
			lens_apply(lens, as, run->names, arena, out, err);
}

static bool value_of_run(const struct diff_input *run, enum gate_number number,
		struct run_value *out, struct err *err) {
	SCOPED(arena) scratch = {0};
	struct lens_result result;
	const struct recording *r = run->recording;
	const struct metric *m = &lens_metrics[kinds[number].metric];
	if (number >= GATE_RSS) {
		const struct memory_look look = look_of(run, number);
		value_of_look(&look, number, out);
		return true;
	}
	if (number == GATE_PEAK_RSS || number == GATE_LOST) {
		bool is_rss = number == GATE_PEAK_RSS;
		out->value = (double)(is_rss ? r->summary.peak_rss_bytes : r->quality.lost_events);
		out->is_missing = is_rss && r->summary.peak_rss_bytes == 0;
		return true;
	}
	out->is_missing = (r->missing &
							  (kinds[number].is_bytes ? m->bytes.number : m->blocks.number)) != 0;
	struct recording as;
	struct lens lens;
	bool ok = apply(run, number, &scratch, &as, &lens, &result, err);
	if (ok) {
		out->value = (double)number_in(&result.total, number);
		out->whole = (double)result.total.allocations;
	}
	if (!ok && err->code == ERR_UNSUPPORTED) { // no look covered that
		*err = (struct err){0};
		out->is_missing = ok = true;
	}
	return ok;
}

ORDER_OF(by_value, struct run_value, (a->value > b->value) - (a->value < b->value));

/** Ascending. NULL: `err` says why. */
static struct run_value *values_of(struct gate_runs runs, enum gate_number number,
		struct arena *arena, struct err *err) {
	struct run_value *values = arena_new(arena, struct run_value, runs.n);
	for (uint32_t i = 0; i < runs.n; i++) {
		values[i].run = i;
		if (!value_of_run(&runs.runs[i], number, &values[i], err)) {
			return NULL;
		}
	}
	qsort(values, runs.n, sizeof *values, by_value);
	return values;
}

/** The lower of two in the middle: always an actual run's number. */
static const struct run_value *median(const struct run_value *values, uint32_t n) {
	return &values[(n - 1) / 2];
}

bool gate_median_run(struct gate_runs runs, enum gate_number number, struct arena *arena,
		uint32_t *run, struct err *err) {
	struct run_value *values = values_of(runs, number, arena, err);
	*run = values ? median(values, runs.n)->run : 0;
	return values;
}

// ---- verdicts

/** None of ours on the base's side of its median, nor any of the base's on ours. */
static bool are_apart(const struct gate *g, const struct run_value *ours, uint32_t n_ours,
		const struct run_value *base, uint32_t n_base) {
	double our_median = median(ours, n_ours)->value, base_median = median(base, n_base)->value;
	return g->is_below ? ours[n_ours - 1].value < base_median && base[0].value > our_median
					   : ours[0].value > base_median && base[n_base - 1].value < our_median;
}

// ---- sentences

#define NUMBER_TEXT(number, v) number_text((char[HUMAN_MAX]){0}, number, v)

static char *number_text(char out[HUMAN_MAX], enum gate_number number, double v) {
	uint64_t n = v > 0 ? (uint64_t)v : 0;
	return kinds[number].is_bytes ? human_bytes(out, n) : human_count(out, n);
}

/** The heaviest site, for limits without a base. */
static void say_heaviest(struct buffer *s, const struct diff_input *run, enum gate_number number,
		struct arena *arena) {
	struct lens lens;
	struct lens_result result;
	struct recording as;
	check(apply(run, number, arena, &as, &lens, &result, NULL)); // it succeeded before
	const struct breakdown parts = breakdown_make(BY_SITE, &lens, &as, run->names, &result, arena);
	if (parts.n > 0) {
		buffer_text(s, "; the largest part is ");
		put_site(s, parts.parts[0].name, parts.parts[0].label, arena);
		buffer_printf(s, " with %s",
				NUMBER_TEXT(number, (double)number_in(&parts.parts[0].costs, number)));
	}
}

static uint64_t growth(const struct diff_site *site, enum gate_number number) {
	uint64_t ours = number_in(&site->costs[DIFF_OURS], number);
	uint64_t base = number_in(&site->costs[DIFF_BASE], number);
	return ours > base ? ours - base : 0;
}

/** The site that grew most. */
static void say_grown(struct buffer *s, const struct diff_input input[N_DIFF_SIDES],
		enum gate_number number, struct arena *arena) {
	struct diff_sites sites;
	enum lens_metric metric = kinds[number].metric;
	if (lens_metrics[metric].of != METRIC_OF_BLOCKS) {
		return;
	}
	diff_sites_make(BY_SITE, input, metric, arena, &sites);
	const struct diff_site *site = MOST_OF(one, sites.items, sites.n, growth(one, number));
	if (site) {
		buffer_printf(s, "; most of it is %s",
				number_in(&site->costs[DIFF_BASE], number) ? "" : "new: ");
		put_site(s, site->name, site->label, arena);
		buffer_printf(s, ", +%s", NUMBER_TEXT(number, (double)growth(site, number)));
	}
}

/** What was found, and what it is compared with: `base` may be NULL. */
static void say_value(struct buffer *s, const struct gate *g, const struct run_value *our,
		const struct run_value *base, struct gate_runs runs) {
	double change = base && base->value > 0 ? (our->value - base->value) / base->value * 100 : 0;
	buffer_printf(s, "%s %s", kinds[g->number].what, NUMBER_TEXT(g->number, our->value));
	if (base && base->value > 0) {
		buffer_printf(s, ", %.1f %% %s than the base's %s", change < 0 ? -change : change,
				change < 0 ? "less" : "more", NUMBER_TEXT(g->number, base->value));
	} else if (base) {
		buffer_text(s, ", the base had none");
	}
	if (runs.n > 1) {
		buffer_printf(s, " (median of %" PRIu32 " runs)", runs.n);
	}
	if (g->limit == GATE_SHARE) {
		buffer_printf(s, ", %s %% of %s",
				HUMAN_SHARE((uint64_t)our->value, (uint64_t)our->whole, 1),
				g->number >= GATE_RSS ? "RSS" : "the allocations");
	}
}

// ---- one gate

static bool needs_base(const struct gate *g) {
	return g->limit == GATE_MORE || g->limit == GATE_MORE_SHARE;
}

static bool check_gate(struct checking *k, const struct gate *g, struct buffer *s,
		bool *is_failed) {
	struct run_value *ours = values_of(k->ours, g->number, k->arena, k->err), *base = NULL;
	if (!ours || (needs_base(g) && !(base = values_of(k->base, g->number, k->arena, k->err)))) {
		return false;
	}
	const struct run_value *our = median(ours, k->ours.n);
	const struct run_value *theirs = base ? median(base, k->base.n) : NULL;
	if (our->is_missing || (theirs && theirs->is_missing)) {
		*is_failed = true;
		buffer_printf(s, "%s does not contain this figure",
				our->is_missing ? "the file" : "the base");
		return true;
	}
	double value = g->limit != GATE_SHARE ? our->value
			: our->whole > 0              ? our->value / our->whole
										  : 0;
	double limit = g->limit == GATE_MORE  ? theirs->value + g->value
			: g->limit == GATE_MORE_SHARE ? theirs->value * (1 + g->value)
										  : g->value;
	bool is_far = (g->is_below ? value < limit : value > limit) ||
			(g->or_equal && (g->is_below ? value <= limit : value >= limit));
	bool is_noise = is_far && theirs && k->ours.n + k->base.n > 2 &&
			!are_apart(g, ours, k->ours.n, base, k->base.n);
	*is_failed = is_far && !is_noise;
	say_value(s, g, our, theirs, k->ours);
	buffer_text(s, is_noise ? "; within the variation between runs, so not a failure" : "");
	bool is_of_metric = g->number < GATE_PEAK_RSS;
	if (*is_failed && is_of_metric && !g->is_below) {
		const struct diff_input input[N_DIFF_SIDES] = {k->ours.runs[our->run],
				theirs ? k->base.runs[theirs->run] : (struct diff_input){0}};
		(theirs ? say_grown : say_heaviest)(s, input, g->number, k->arena);
	}
	return true;
}

bool gates_check(const struct gate *gates, uint32_t n, struct gate_runs ours, struct gate_runs base,
		struct arena *arena, struct gate_result **out, struct err *err) {
	struct checking k = {ours, base, arena, err};
	*out = arena_new(arena, struct gate_result, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct gate *g = &gates[i];
		struct gate_result *result = &(*out)[i];
		SCOPED(buffer) s = {0};
		if (needs_base(g) && base.n == 0) {
			return err_usage(err, "--fail-if \"%s\" needs a base to compare with: -d BASE",
					g->text);
		}
		if (!check_gate(&k, g, &s, &result->is_failed)) {
			return false;
		}
		result->gate = g;
		result->sentence = arena_text(arena, buffer_view(&s));
	}
	return true;
}
