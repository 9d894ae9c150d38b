// SPDX-License-Identifier: MIT
/* The options of heaptrack_print. A new one is a row of options.def and a field in the header. */
#include "cli/print/options.h"

enum { SITES_IN_JSON = 100 };

// ---- taking values

/** A view, or a section of the classic layout, also chooses the layout. */
static bool take_view(const struct option_given *g) {
	struct print_options *o = g->options;
	o->layout = LAYOUT_VIEW;
	o->view = (enum view)g->row->arg;
	o->of = g->value;
	return true;
}

static bool take_classic(const struct option_given *g) {
	((struct print_options *)g->options)->layout = LAYOUT_CLASSIC;
	return g->row->value == VALUE_SWITCH ? option_take_switch(g) : option_take_number(g);
}

static bool take_limit(const struct option_given *g) {
	((struct print_options *)g->options)->has_limit = true;
	return option_take_number(g);
}

static bool take_fold(const struct option_given *g) {
	struct session_options *s = &((struct print_options *)g->options)->session;
	if (s->n_folds == SESSION_FOLDS_MAX) {
		return err_usage(g->err, "--fold: more than %d patterns; put them into a .heaptrackrc file",
				SESSION_FOLDS_MAX);
	}
	s->folds[s->n_folds++] = g->value;
	return true;
}

/** A list of functions grouped in some way, or of parts. */
static bool take_by(const struct option_given *g) {
	struct print_options *o = g->options;
	o->layout = LAYOUT_VIEW;
	o->of = NULL;
	EACH_NUMBER(i, N_LENS_GROUPS, strcmp(g->value, lens_group_names[i]) == 0) {
		o->group = i;
		o->view = VIEW_FUNCTIONS;
		return true;
	}
	const char *name = strcmp(g->value, "type") == 0 ? breakdown_names[BY_CLASS] : g->value;
	EACH_NUMBER(i, N_BREAKDOWNS, strcmp(name, breakdown_names[i]) == 0) {
		o->by = (enum breakdown_by)i;
		o->view = VIEW_PARTS;
		return true;
	}
	return err_usage(g->err, "--by: unknown list \"%s\"; use one of: %s", g->value, g->row->words);
}

/** --unreachable, --classes: row->arg is the metric. */
static bool take_parts(const struct option_given *g) {
	struct print_options *o = g->options;
	o->layout = LAYOUT_VIEW;
	o->view = VIEW_PARTS;
	o->metric = (enum lens_metric)g->row->arg;
	o->by = o->metric == LENS_GRADED ? BY_CLASS : BY_SITE;
	return true;
}

static bool take_holders(const struct option_given *g) {
	struct print_options *o = g->options;
	o->layout = LAYOUT_VIEW;
	o->view = g->value ? VIEW_CALLERS : VIEW_TREE;
	o->of = g->value;
	o->metric = LENS_HELD;
	return true;
}

static bool take_csv(const struct option_given *g) {
	struct option_given csv = *g;
	csv.value = "csv=-";
	return export_take(&csv);
}

// ---- the table

#define AT(field)         .at = offsetof(struct print_options, field)
#define SWITCH(field)     VALUE_SWITCH, .take = option_take_switch, AT(field)
#define SECTION_OF(field) VALUE_SWITCH, .take = take_classic, AT(classic.field)
#define LENGTH_OF(field)  VALUE_NEEDED, .value_name = "N", .take = take_classic, AT(classic.field)

#define EXPORT_TO   VALUE_NEEDED, .value_name = "OUT", .take = export_take_classic, AT(exports)
#define SHOWS(what) .take = take_view, .arg = (what)

static const struct option_row rows[] = {
#include "cli/print/options.def"
};

const struct option_table print_option_table = {
		.command = "heaptrack_print",
		.head = "Usage: heaptrack_print [options] FILE\n"
				"\n"
				"Shows where the memory of a recorded program went. Without options, a report of "
				"about 70 lines:\ntotals, what held the peak, what was never freed, what was "
				"temporary, what allocates most.\nFILE may be - (standard input).\n",
		OPTION_ROWS(rows),
		.shows_page = true,
};

/** The recording, and further ones if there is something to compare. */
static bool find_files(int n, char **words, struct print_options *o, struct err *err) {
	if (o->file) {
		*--words = (char *)o->file; // -f took its place
		n++;
	}
	o->files = (const char *const *)words;
	o->n_files = (uint32_t)n;
	o->file = o->n_files ? o->files[0] : NULL;
	if (!o->file) {
		const struct compare_options *c = &o->compare;
		return c->n_bases
				? err_usage(err,
						  "no recording to compare with %s; usage: heaptrack_print -d BASE FILE",
						  c->bases[0])
				: err_usage(err, "no recording given; usage: heaptrack_print [options] FILE");
	}
	if (o->n_files > 1 && !compare_is_asked(&o->compare)) {
		return err_usage(err,
				"unexpected argument \"%s\": several recordings are only for --fail-if and -d, as "
				"repeated runs",
				o->files[1]);
	}
	return true;
}

static bool gather_outputs(struct print_options *o, struct err *err) {
	return ALL(i, o->exports.n, outputs_add(&o->outputs, o->exports.jobs[i].path, err)) &&
			outputs_add(&o->outputs, o->html, err) &&
			outputs_add(&o->outputs, o->compare.junit, err);
}

/** Two recordings have totals, sites and calls to compare; the other views are of one only. */
static bool check_comparison(const struct print_options *o, struct err *err) {
	if (o->compare.junit && o->compare.n_gates == 0) {
		return err_usage(err, "--junit writes the results of gates; add --fail-if GATE");
	}
	bool is_view = o->layout == LAYOUT_VIEW;
	bool has_both = o->compare.n_bases && (o->view == VIEW_TREE || o->view == VIEW_PARTS);
	if (o->html && (o->n_files > 1 || o->compare.n_bases > 1)) {
		return err_usage(err, "--html shows one recording, with -d against one BASE");
	}
	return !is_view || has_both
			? true
			: err_usage(err,
					  "this view cannot compare recordings; with -d use the default report, "
					  "--tree, --by, --holders, --classes, --html or --export");
}

bool print_options_parse(struct print_options *o, int argc, char **argv, struct err *err) {
	*o = (struct print_options){
			.limit = SITES_IN_JSON,
			.group = -1,
			.exports.write = {PROFILE_ALLOC_OBJECTS, {.threshold_percent = 1, .detailed_every = 2}},
			.classic = {.allocators = true,
					.peaks = true,
					.temporary = true,
					.shorten_templates = true,
					.merge_backtraces = true,
					.peak_limit = 10,
					.sub_peak_limit = 5},
	};
	int operands;
	if (!options_parse(&print_option_table, o, argc, argv, &operands, err)) {
		return false;
	}
	int n_words = argc - operands;
	if (o->viewer) {
		return (n_words == 0 && !o->file) ||
				err_usage(err,
						"--viewer takes no recording: its page opens any that is dropped on it");
	}
	char **words = argv + operands;
	const char *file = o->file ? o->file : n_words ? words[0] : NULL;
	if (o->compare.base_lens && o->compare.n_bases == 0 && file) {
		o->compare.bases[o->compare.n_bases++] = file; // another part of the same recording
	}
	bool ok = true;
	if (compare_is_asked(&o->compare)) {
		ok = check_comparison(o, err);
	} else if (o->lens && o->layout == LAYOUT_TEXT) {
		// A lens alone asks for what it shows
		o->layout = LAYOUT_VIEW;
		o->view = o->is_json ? VIEW_TOTALS : VIEW_TREE;
	}
	ok = ok && gather_outputs(o, err) && find_files(n_words, words, o, err);
	o->session.is_shown = !o->is_json && o->outputs.n == 0; // exports get names as they are
	return ok;
}
