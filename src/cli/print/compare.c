// SPDX-License-Identifier: MIT
/* Compares recordings, and judges them by gates. */
#include "cli/print/options.h"
#include "sys/unpack.h"

enum { SITES_COMPARED = 12 }; // per list, so that all fits a screen or two

bool compare_take_base(const struct option_given *g) {
	struct compare_options *o = option_field(g);
	if (o->n_bases == BASES_MAX) {
		return err_usage(g->err, "too many recordings to compare with; at most %d", BASES_MAX);
	}
	o->bases[o->n_bases++] = g->value;
	return true;
}

bool compare_take_gate(const struct option_given *g) {
	struct compare_options *o = option_field(g);
	if (o->n_gates == GATES_MAX) {
		return err_usage(g->err, "too many gates; at most %d", GATES_MAX);
	}
	return gate_parse(&o->gates[o->n_gates++], g->value, g->err);
}

bool compare_is_asked(const struct compare_options *o) {
	return o->n_bases || o->n_gates || o->is_markdown || o->junit;
}

// ---- the recordings

struct side {
	struct session *sessions;
	struct lens *lenses;
	struct diff_input *runs;
	uint32_t n;
	uint32_t shown;           // the run shown
	struct recording counted; // what a view counts of that run
	struct lens counted_by;
};

struct comparing {
	const struct print_options *o;
	struct side ours, base;
	struct arena arena;
	struct err *err;
};

static bool open_side(struct comparing *c, struct side *s, const char *const *files, uint32_t n,
		const char *lens) {
	s->sessions = arena_new(&c->arena, struct session, n + 1ul);
	s->lenses = arena_new(&c->arena, struct lens, n + 1ul);
	s->runs = arena_new(&c->arena, struct diff_input, n + 1ul);
	for (uint32_t i = 0; i < n; i++) {
		struct session *session = &s->sessions[i];
		if (!session_open(session, files[i], &c->o->session, c->err)) {
			return false;
		}
		s->n++;
		if (i == 0) { // the others are usually beside it, with the same complaints
			(void)say_text(stderr, buffer_view(&session->complaints));
		}
		s->lenses[i] = lens_whole();
		if (lens &&
				!lens_parse(&s->lenses[i], slice_of_text(lens), &session->recording, &c->arena,
						c->err)) {
			return false;
		}
		const enum lens_metric metric = s->lenses[i].metric;
		if (c->o->layout != LAYOUT_VIEW && c->o->exports.n == 0 &&
				lens_metrics[metric].of != METRIC_OF_BLOCKS) {
			return err_usage(c->err, "lens: m=%s is compared by views, e.g. with --tree",
					lens_metric_names[metric]);
		}
		s->runs[i] = (struct diff_input){&session->recording, session->names, &s->lenses[i]};
	}
	return true;
}

static void finish(struct comparing *c) {
	struct side *const sides[N_DIFF_SIDES] = {&c->ours, &c->base};
	for (int side = 0; side < N_DIFF_SIDES; side++) {
		for (uint32_t i = 0; i < sides[side]->n; i++) {
			session_close(&sides[side]->sessions[i]);
		}
	}
	arena_finish(&c->arena);
}

static struct gate_runs runs_of(const struct side *s) {
	return (struct gate_runs){s->runs, s->n};
}

/** Of repeated runs show the median one: by the first gate's number, or the peak. */
static bool choose_run(struct comparing *c, struct side *s) {
	const struct compare_options *o = &c->o->compare;
	enum gate_number number = o->n_gates ? o->gates[0].number : GATE_PEAK;
	return s->n == 0 || gate_median_run(runs_of(s), number, &c->arena, &s->shown, c->err);
}

// ---- what is written

static bool write_junit(const char *path, const struct compare_request *request, struct err *err) {
	SCOPED(buffer) out = {0};
	report_junit(&out, request);
	return packer_put(path, PACKER_BY_NAME, buffer_view(&out), err);
}

static bool write_all(struct comparing *c, const struct compare_request *request,
		struct buffer *out) {
	const struct print_options *o = c->o;
	struct export_request exported = {
			.session = &c->ours.sessions[c->ours.shown],
			.base = request->has_base ? &c->base.sessions[c->base.shown] : NULL,
			.lens = &c->ours.lenses[c->ours.shown],
			.base_lens = request->has_base ? &c->base.lenses[c->base.shown] : NULL,
	};
	comparison *put = o->layout == LAYOUT_VIEW
			? o->is_json ? report_compare_tree_json : report_compare_tree
			: o->is_json             ? report_compare_json
			: o->compare.is_markdown ? report_compare_markdown
									 : report_compare;
	put(out, request);
	return export_all(&o->exports, &exported, c->err) &&
			(!o->compare.junit || write_junit(o->compare.junit, request, c->err));
}

/** Replace the runs shown by what a view counts of them. */
static bool find_counted(struct comparing *c, struct diff_input runs[N_DIFF_SIDES]) {
	struct side *const sides[N_DIFF_SIDES] = {&c->ours, &c->base};
	for (int i = 0; i < N_DIFF_SIDES; i++) {
		struct side *s = sides[i];
		const struct session *session = &s->sessions[s->shown];
		s->counted_by = *runs[i].lens;
		s->counted_by.metric = print_metric(c->o, c->ours.lenses[c->ours.shown].metric);
		runs[i] = (struct diff_input){&s->counted, runs[i].names, &s->counted_by};
		if (!memory_as_recording(&session->recording, &s->counted_by, &c->arena, &s->counted,
					c->err)) {
			return err_add(c->err, "%s", session_title(session));
		}
	}
	const struct recording *r = &c->ours.counted, *base = &c->base.counted;
	return r->of < METRIC_OF_GRADED || r->summary.peak_time_ns != base->summary.peak_time_ns ||
			memory_lacks_look(&c->ours.sessions[c->ours.shown].recording,
					"both sides are the same look", c->err);
}

/** The name of a side, with its part if two parts are compared. */
static const char *title(struct comparing *c, const struct side *s, const char *lens) {
	const char *name = session_title(&s->sessions[s->shown]);
	return !c->o->compare.base_lens
			? name
			: arena_printf(&c->arena, "%s (%s)", name, lens ? lens : "all of it");
}

bool compare_run(const struct print_options *o, struct buffer *out, bool *is_broken,
		struct err *err) {
	const struct compare_options *compare = &o->compare;
	SCOPED_BY(finish) struct comparing c = {.o = o, .err = err};
	const struct side *ours = &c.ours, *base = &c.base;
	struct gate_result *results;
	*is_broken = false;
	if (!open_side(&c, &c.ours, o->files, o->n_files, o->lens) ||
			!open_side(&c, &c.base, compare->bases, compare->n_bases,
					compare->base_lens ? compare->base_lens : o->lens) ||
			!outputs_spare(&o->outputs, ours->sessions, ours->n, err) ||
			!outputs_spare(&o->outputs, base->sessions, base->n, err) ||
			!gates_check(compare->gates, compare->n_gates, runs_of(ours), runs_of(base), &c.arena,
					&results, err) ||
			!choose_run(&c, &c.ours) || !choose_run(&c, &c.base)) {
		return false;
	}
	*is_broken = ANY(i, compare->n_gates, results[i].is_failed);
	const bool has_base = base->n > 0;
	struct diff_input input[N_DIFF_SIDES] = {ours->runs[ours->shown], base->runs[base->shown]};
	if (o->layout == LAYOUT_VIEW && !find_counted(&c, input)) {
		return false;
	}
	struct compare_request request = {
			.input = input,
			.has_base = has_base,
			.by = o->view == VIEW_PARTS ? o->by : N_BREAKDOWNS,
			.file = title(&c, ours, o->lens),
			.base_file = has_base ? title(&c, base, compare->base_lens) : NULL,
			.n_runs = ours->n,
			.n_base_runs = base->n,
			.gates = results,
			.n_gates = compare->n_gates,
			.width = terminal_columns(STDOUT_FILENO) ?: 100,
			.limit = !o->has_limit ? SITES_COMPARED
					: o->limit     ? o->limit
								   : UINT32_MAX,
	};
	return write_all(&c, &request, out);
}
