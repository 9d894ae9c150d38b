// SPDX-License-Identifier: MIT
/* Compares recordings, and judges them by gates. */
#include "report/compare.h"

#include "cli/print/options.h"
#include "sys/terminal.h"
#include "sys/unpack.h"

#include <unistd.h>

enum { SITES_COMPARED = 12 }; // per list, so that all of it fits a screen or two

bool compare_take_base(const struct option_given *g) {
	struct compare_options *o = option_field(g);
	if (o->n_bases == BASES_MAX) {
		return err_set(g->err, ERR_USAGE, "too many recordings to compare with; at most %d",
				BASES_MAX);
	}
	o->bases[o->n_bases++] = g->value;
	return true;
}

bool compare_take_gate(const struct option_given *g) {
	struct compare_options *o = option_field(g);
	if (o->n_gates == GATES_MAX) {
		return err_set(g->err, ERR_USAGE, "too many gates; at most %d", GATES_MAX);
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
};

static bool open_side(struct side *s, const struct print_options *o, const char *const *files,
		uint32_t n, const char *lens, struct arena *arena, struct err *err) {
	s->sessions = arena_new(arena, struct session, n + 1ul);
	s->lenses = arena_new(arena, struct lens, n + 1ul);
	s->runs = arena_new(arena, struct diff_input, n + 1ul);
	if (!s->sessions || !s->lenses || !s->runs) {
		return err_memory(err);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct session *session = &s->sessions[i];
		if (!session_open(session, files[i], &o->session, err)) {
			return false;
		}
		s->n++;
		if (i == 0) { // the others lie beside it most of the time
			(void)say_text(stderr, buffer_view(&session->complaints));
		}
		s->lenses[i] = lens_whole();
		if (lens &&
				!lens_parse(&s->lenses[i], slice_of_text(lens), &session->recording, arena, err)) {
			return false;
		}
		s->runs[i] = (struct diff_input){&session->recording, session->names, &s->lenses[i]};
	}
	return true;
}

static void close_side(struct side *s) {
	for (uint32_t i = 0; i < s->n; i++) {
		session_close(&s->sessions[i]);
	}
}

// ---- what is written

static bool write_junit(const char *path, const struct compare_request *request, struct err *err) {
	SCOPED(buffer) out = {0};
	return report_junit(&out, request, err) &&
			packer_put(path, PACKER_BY_NAME, buffer_view(&out), err);
}

static bool write_all(const struct print_options *o, const struct side sides[2],
		const uint32_t shown[2], const struct compare_request *request, struct buffer *out,
		struct err *err) {
	struct export_request exported = {
			.session = &sides[0].sessions[shown[0]],
			.base = request->has_base ? &sides[1].sessions[shown[1]] : NULL,
			.lens = &sides[0].lenses[shown[0]],
			.base_lens = request->has_base ? &sides[1].lenses[shown[1]] : NULL,
	};
	if (!export_all(&o->exports, &exported, err) ||
			(o->compare.junit && !write_junit(o->compare.junit, request, err))) {
		return false;
	}
	bool is_tree = o->layout == LAYOUT_VIEW && o->view == VIEW_TREE;
	comparison *put = is_tree        ? o->is_json ? report_compare_tree_json : report_compare_tree
			: o->is_json             ? report_compare_json
			: o->compare.is_markdown ? report_compare_markdown
									 : report_compare;
	return put(out, request, err);
}

/**
 * Of repeated runs the one in the middle is shown: by what the first gate is about, or the peak.
 */
static bool choose_runs(const struct print_options *o, const struct side sides[2],
		struct arena *arena, uint32_t shown[2], struct err *err) {
	enum gate_number number = o->compare.n_gates ? o->compare.gates[0].number : GATE_PEAK;
	struct err why = {0};
	for (int i = 0; i < 2; i++) {
		struct gate_runs runs = {sides[i].runs, sides[i].n};
		shown[i] = runs.n ? gate_median_run(runs, number, arena, &why) : 0;
	}
	if (why.code != ERR_NONE) {
		*err = why;
	}
	return why.code == ERR_NONE;
}

/** How a side is called: if two parts are compared, with the part. */
static const char *title(const struct print_options *o, const struct session *s, const char *lens,
		struct arena *arena) {
	const char *name = session_title(s);
	if (!o->compare.base_lens) {
		return name;
	}
	return arena_printf(arena, "%s (%s)", name, lens ? lens : "all of it") ?: name;
}

static bool judge(const struct print_options *o, const struct side sides[2], struct arena *arena,
		struct buffer *out, bool *is_broken, struct err *err) {
	const struct compare_options *c = &o->compare;
	struct gate_runs ours = {sides[0].runs, sides[0].n}, base = {sides[1].runs, sides[1].n};
	struct gate_result *results;
	uint32_t shown[2];
	if (!outputs_spare(&o->outputs, sides[0].sessions, sides[0].n, err) ||
			!outputs_spare(&o->outputs, sides[1].sessions, sides[1].n, err) ||
			!gates_check(c->gates, c->n_gates, ours, base, arena, &results, err) ||
			!choose_runs(o, sides, arena, shown, err)) {
		return false;
	}
	for (uint32_t i = 0; i < c->n_gates; i++) {
		*is_broken |= results[i].is_failed;
	}
	struct diff_input input[N_DIFF_SIDES] = {sides[0].runs[shown[0]]};
	if (sides[1].n) {
		input[DIFF_BASE] = sides[1].runs[shown[1]];
	}
	struct compare_request request = {
			.input = input,
			.has_base = sides[1].n > 0,
			.file = title(o, &sides[0].sessions[shown[0]], o->lens, arena),
			.base_file = sides[1].n ? title(o, &sides[1].sessions[shown[1]], c->base_lens, arena)
									: NULL,
			.n_runs = sides[0].n,
			.n_base_runs = sides[1].n,
			.gates = results,
			.n_gates = c->n_gates,
			.width = terminal_columns(STDOUT_FILENO) ?: 100,
			.limit = !o->has_limit ? SITES_COMPARED
					: o->limit     ? o->limit
								   : UINT32_MAX,
	};
	return write_all(o, sides, shown, &request, out, err);
}

bool compare_run(const struct print_options *o, struct buffer *out, bool *is_broken,
		struct err *err) {
	const struct compare_options *c = &o->compare;
	SCOPED(arena) arena = {0};
	struct side sides[2] = {{0}};
	*is_broken = false;
	const char *base_lens = c->base_lens ? c->base_lens : o->lens;
	bool ok = open_side(&sides[0], o, o->files, o->n_files, o->lens, &arena, err) &&
			open_side(&sides[1], o, c->bases, c->n_bases, base_lens, &arena, err) &&
			judge(o, sides, &arena, out, is_broken, err);
	close_side(&sides[0]);
	close_side(&sides[1]);
	return ok;
}
