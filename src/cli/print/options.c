// SPDX-License-Identifier: MIT
/*
 * The options of heaptrack_print.
 *
 * A new option is a row of the table and a field in the header.
 */
#include "cli/print/options.h"

#include "export/export.h"

enum { SITES_IN_JSON = 100 };

// ---- taking values

/** --html, --full, ...: a view, or a section of the classic layout, chooses the layout as well. */
static bool take_view(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	(void)err;
	struct print_options *o = options;
	o->layout = LAYOUT_VIEW;
	o->view = (enum view)row->arg;
	o->of = value;
	return true;
}

static bool take_classic_switch(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	((struct print_options *)options)->layout = LAYOUT_CLASSIC;
	return option_take_switch(options, row, value, err);
}

static bool take_classic_number(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	((struct print_options *)options)->layout = LAYOUT_CLASSIC;
	return option_take_number(options, row, value, err);
}

static bool take_limit(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	((struct print_options *)options)->has_limit = true;
	return option_take_number(options, row, value, err);
}

static bool take_fold(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	(void)row;
	struct session_options *s = &((struct print_options *)options)->session;
	if (s->n_folds == SESSION_FOLDS_MAX) {
		return err_set(err, ERR_USAGE,
				"--fold: more than %d patterns; put them into a .heaptrackrc file",
				SESSION_FOLDS_MAX);
	}
	s->folds[s->n_folds++] = value;
	return true;
}

/** A list of functions gathered in some way, or of parts. */
static bool take_by(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	struct print_options *o = options;
	o->layout = LAYOUT_VIEW;
	o->of = NULL;
	for (int i = 0; i < N_LENS_GROUPS; i++) {
		if (strcmp(value, lens_group_names[i]) == 0) {
			o->group = i;
			o->view = VIEW_FUNCTIONS;
			return true;
		}
	}
	for (int i = 0; i < N_BREAKDOWNS; i++) {
		if (strcmp(value, breakdown_names[i]) == 0) {
			o->by = (enum breakdown_by)i;
			o->view = VIEW_PARTS;
			return true;
		}
	}
	return err_set(err, ERR_USAGE, "--by: unknown list \"%s\"; use one of: %s", value, row->words);
}

static bool take_csv(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	(void)value;
	return export_take(options, row, "csv=-", err);
}

// ---- the table

#define AT(field)         .at = offsetof(struct print_options, field)
#define FLAG(field)       .take = option_take_flag, AT(field)
#define TEXT(name, field) VALUE_NEEDED, .value_name = (name), .take = option_take_text, AT(field)
#define SWITCH(field)     VALUE_SWITCH, .take = option_take_switch, AT(field)
#define SECTION_OF(field) VALUE_SWITCH, .take = take_classic_switch, AT(classic.field)
#define LENGTH_OF(field) \
	VALUE_NEEDED, .value_name = "N", .take = take_classic_number, AT(classic.field)
#define EXPORT_TO   VALUE_NEEDED, .value_name = "OUT", .take = export_take_classic, AT(exports)
#define SHOWS(what) .take = take_view, .arg = (what)

static const struct option_row general[] = {
		{"file", 'f', TEXT("FILE", file), .help = "the recording, if it is not the last argument"},
		{"json", 0, FLAG(is_json), .help = "print JSON, with more detail"},
		{"csv", 0, .take = take_csv, AT(exports), .help = "print one line per call stack, as CSV"},
		{"limit", 0, VALUE_NEEDED, .value_name = "N", .take = take_limit, AT(limit),
				.help = "sites per list in --json (default: 100) and with -d (12); 0 for all"},
		{"full", 0, .take = option_take_choice, AT(layout), .arg = LAYOUT_CLASSIC,
				.help = "print the long classic layout, with backtraces"},
		{"help", 'h', .take = option_take_choice, AT(asked), .arg = PRINT_HELP, .ends = true,
				.help = "print this help"},
		{"version", 'v', .take = option_take_choice, AT(asked), .arg = PRINT_VERSION, .ends = true,
				.help = "print the version"},
};

static const struct option_row page[] = {
		{"html", 0, TEXT("OUT", html),
				.help = "write all views as one HTML file that opens in any browser, offline; "
						"with -d, including what changed"},
		{"viewer", 0, TEXT("OUT", viewer),
				.help = "write one HTML file that opens any recording dropped on it, offline"},
		{"html-limit", 0, VALUE_NEEDED, .value_name = "SIZE", .take = option_take_size,
				AT(html_limit),
				.help = "limit the file to SIZE (e.g. 30M) by merging small stacks"},
		{"redact", 0, FLAG(is_redacted),
				.help = "leave out folders, arguments, the host name and linkage names"},
		{"with-source", 0, FLAG(with_source),
				.help = "include the source lines around the most expensive sites"},
};

static const struct option_row views[] = {
		{"lens", 0, TEXT("LENS", lens),
				.help = "select a part, as in the page's address: t=1.5-2.2&q=parse, t=peak, "
						"m=kept&t=10%-end, focus=main&threads=worker. Metrics "
						"(m=):" METRIC_NAMES_TEXT},
		{"tree", 0, SHOWS(VIEW_TREE), .help = "callees, from main down"},
		{"bottom-up", 0, SHOWS(VIEW_BOTTOM_UP), .help = "allocating functions and their callers"},
		{"callers", 0, VALUE_NEEDED, .value_name = "FUNCTION", SHOWS(VIEW_CALLERS),
				.help = "callers and callees of a function"},
		{"stacks", 0, VALUE_NEEDED, .value_name = "SITE", SHOWS(VIEW_STACKS),
				.help = "all call stacks attributed to a function"},
		{"by", 0, VALUE_NEEDED, .value_name = "WHAT", .take = take_by,
				.words = "function package module file site type thread tid size lifetime",
				.help = "a list by function, package, module, file, site, type, thread, tid, "
						"size or lifetime"},
		{"timeline", 0, SHOWS(VIEW_TIMELINE), .help = "the heap over time"},
		{"memory", 0, SHOWS(VIEW_MEMORY),
				.help = "the parts of resident memory whenever they were looked at"},
		{"depth", 0, VALUE_NEEDED, .value_name = "N", .take = option_take_number, AT(depth),
				.help = "levels of callers in --json (default: 3)"},
		{"fold", 0, VALUE_NEEDED, .value_name = "PATTERN", .take = take_fold,
				.help = "functions, files or modules that are never named as a site; repeatable"},
};

static const struct option_row exports[] = {
		{"export", 0, VALUE_NEEDED, .value_name = "NAME=OUT", .take = export_take, AT(exports),
				.words = EXPORT_WORDS,
				.help = "write another tool's format:" EXPORT_NAMES_TEXT
						"; repeatable; OUT may be - (standard output)"},
		{"print-flamegraph", 'F', EXPORT_TO, .help = "write collapsed stacks"},
		{"flamegraph-cost-type", 0, VALUE_NEEDED, .value_name = "TYPE",
				.take = export_take_cost_type, AT(exports),
				.words = "allocations temporary leaked peak",
				.help = "their cost: allocations (default), temporary, leaked or peak"},
		{"print-massif", 'M', EXPORT_TO, .help = "write a file for ms_print"},
		{"massif-threshold", 0, VALUE_NEEDED, .value_name = "PERCENT",
				.take = export_take_threshold, AT(exports),
				.help = "merge its branches below PERCENT (default: 1)"},
		{"massif-detailed-freq", 0, VALUE_NEEDED, .value_name = "N", .take = option_take_number,
				AT(exports.massif_detailed_every),
				.help = "write a tree for every Nth snapshot (default: 2; 0: at the peak only)"},
		{"print-histogram", 'H', EXPORT_TO, .help = "write allocation sizes and their counts"},
};

static const struct option_row comparing[] = {
		{"diff", 'd', VALUE_NEEDED, .value_name = "BASE", .take = compare_take_base, AT(compare),
				.help = "show what changed since BASE, which may be of another build"},
		{"base-lens", 0, TEXT("LENS", compare.base_lens),
				.help = "the part of BASE, if not the same as --lens; without -d, of FILE itself: "
						"--base-lens t=mark:a-mark:b --lens t=mark:b-mark:c"},
		{"fail-if", 0, VALUE_NEEDED, .value_name = "GATE", .take = compare_take_gate, AT(compare),
				.help = "exit with status 3 if GATE holds; repeatable: 'peak>500M' 'never-freed>0' "
						"'temporary>30%', and with -d 'allocations>+5%' 'peak>+10M'. "
						"Numbers:" GATE_NAMES_TEXT
						" peak-rss lost rss heap-free untouched unknown"},
		{"markdown", 0, FLAG(compare.is_markdown), .help = "format for a pull request"},
		{"junit", 0, TEXT("OUT", compare.junit), .help = "write the gates as JUnit XML"},
};

static const struct option_row classic[] = {
		{"print-allocators", 'a', SECTION_OF(allocators),
				.help = "most calls to allocation functions (1)"},
		{"print-peaks", 'p', SECTION_OF(peaks), .help = "peak memory consumers (1)"},
		{"print-leaks", 'l', SECTION_OF(leaks), .help = "memory that was never freed (0)"},
		{"print-temporary", 'T', SECTION_OF(temporary), .help = "most temporary allocations (1)"},
		{"merge-backtraces", 'm', SECTION_OF(merge_backtraces),
				.help = "one entry per innermost function instead of per backtrace (1)"},
		{"shorten-templates", 't', SECTION_OF(shorten_templates),
				.help = "print template arguments as <> (1)"},
		{"peak-limit", 'n', LENGTH_OF(peak_limit), .help = "entries per section (default: 10)"},
		{"sub-peak-limit", 's', LENGTH_OF(sub_peak_limit),
				.help = "backtraces per entry (default: 5)"},
};

static const struct option_row suppressing[] = {
		{"suppressions", 0, TEXT("FILE", session.suppressions),
				.help = "read further rules from FILE"},
		{"disable-embedded-suppressions", 0, SWITCH(session.no_embedded),
				.help = "ignore the rules built into the program"},
		{"disable-builtin-suppressions", 0, SWITCH(session.no_built_in),
				.help = "ignore heaptrack's own rules for system libraries"},
		{"print-suppressions", 0, SWITCH(shows_suppressions),
				.help = "print what each rule suppressed"},
};

static const struct option_section sections[] = {
		OPTION_SECTION("General:", general),
		OPTION_SECTION("Views, of everything or of a part (all available as --json):", views),
		OPTION_SECTION("The web page:", page),
		OPTION_SECTION("Other tools' formats (--lens selects a part, -d compares):", exports),
		OPTION_SECTION("Comparing and judging (several FILEs or several -d are repeated runs, "
					   "compared by their medians):",
				comparing),
		OPTION_SECTION("The classic layout, section by section (each takes 0 or 1):", classic),
		OPTION_SECTION("Suppressing leaks (lines leak:PATTERN, as for LeakSanitizer):",
				suppressing),
};

const struct option_table print_option_table = {
		.command = "heaptrack_print",
		.head = "Usage: heaptrack_print [options] FILE\n"
				"\n"
				"Shows where the memory of a recorded program went. Without options, a report of "
				"about 70 lines:\ntotals, what held the peak, what was never freed, what was "
				"temporary, what allocates most.\nFILE may be - (standard input).\n",
		.sections = sections,
		.n_sections = sizeof sections / sizeof *sections,
};

/** The recording, and with something to compare further ones. */
static bool find_files(int n, char **words, struct print_options *o, struct err *err) {
	if (o->file) {
		*--words = (char *)o->file; // -f took that place
		n++;
	}
	o->files = (const char *const *)words;
	o->n_files = (uint32_t)n;
	o->file = o->n_files ? o->files[0] : NULL;
	if (!o->file) {
		const struct compare_options *c = &o->compare;
		return c->n_bases
				? err_set(err, ERR_USAGE,
						  "no recording to compare with %s; usage: heaptrack_print -d BASE FILE",
						  c->bases[0])
				: err_set(err, ERR_USAGE,
						  "no recording given; usage: heaptrack_print [options] FILE");
	}
	if (o->n_files > 1 && !compare_is_asked(&o->compare)) {
		return err_set(err, ERR_USAGE,
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

/** Two recordings have totals, sites and calls to compare; the other views are of one. */
static bool check_comparison(const struct print_options *o, struct err *err) {
	if (o->compare.junit && o->compare.n_gates == 0) {
		return err_set(err, ERR_USAGE, "--junit writes the results of gates; add --fail-if GATE");
	}
	bool is_view = o->layout == LAYOUT_VIEW;
	bool is_tree = is_view && o->view == VIEW_TREE && o->compare.n_bases;
	if (o->html && (o->n_files > 1 || o->compare.n_bases > 1)) {
		return err_set(err, ERR_USAGE, "--html shows one recording, with -d against one BASE");
	}
	return !is_view || is_tree
			? true
			: err_set(err, ERR_USAGE,
					  "this view cannot compare recordings; with -d use the default report, "
					  "--tree, --html or --export");
}

bool print_options_parse(struct print_options *o, int argc, char **argv, struct err *err) {
	*o = (struct print_options){
			.limit = SITES_IN_JSON,
			.group = -1,
			.exports = export_options_default(),
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
	if (o->asked != PRINT_REPORT || o->viewer) {
		return o->asked != PRINT_REPORT || (n_words == 0 && !o->file) ||
				err_set(err, ERR_USAGE,
						"--viewer takes no recording: its page opens any that is dropped on it");
	}
	char **words = argv + operands;
	const char *file = o->file ? o->file : n_words ? words[0] : NULL;
	if (o->compare.base_lens && o->compare.n_bases == 0 && file) {
		o->compare.bases[o->compare.n_bases++] = file; // another part of the same
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
	o->session.is_shown = !o->is_json && o->outputs.n == 0; // files of others get names as they are
	return ok;
}
