// SPDX-License-Identifier: MIT
#include "cli/print_options.h"

#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

// A new option is a row in long_options, a field in the header, a line in parse_one and one of help.

enum { SITES_IN_JSON = 100 };

// Options without a letter of their own
enum {
	OPT_FULL = 256,
	OPT_JSON,
	OPT_LIMIT,
	OPT_LENS,
	OPT_STACKS,
	OPT_TREE,
	OPT_BOTTOM_UP,
	OPT_CALLERS,
	OPT_BY,
	OPT_TIMELINE,
	OPT_DEPTH,
	OPT_HTML,
	OPT_HTML_LIMIT,
	OPT_REDACT,
	OPT_WITH_SOURCE,
	OPT_CSV,
	OPT_EXPORT,
	OPT_COST_TYPE,
	OPT_MASSIF_THRESHOLD,
	OPT_MASSIF_DETAILED,
	OPT_BASE_LENS,
	OPT_FAIL_IF,
	OPT_MARKDOWN,
	OPT_JUNIT,
	OPT_SUPPRESSIONS,
	OPT_NO_EMBEDDED,
	OPT_NO_BUILT_IN,
	OPT_PRINT_SUPPRESSIONS,
	OPT_FOLD,
};

static const struct option long_options[] = {
		{"base-lens", required_argument, NULL, OPT_BASE_LENS},
		{"bottom-up", no_argument, NULL, OPT_BOTTOM_UP},
		{"by", required_argument, NULL, OPT_BY},
		{"callers", required_argument, NULL, OPT_CALLERS},
		{"csv", no_argument, NULL, OPT_CSV},
		{"depth", required_argument, NULL, OPT_DEPTH},
		{"diff", required_argument, NULL, 'd'},
		{"export", required_argument, NULL, OPT_EXPORT},
		{"fail-if", required_argument, NULL, OPT_FAIL_IF},
		{"file", required_argument, NULL, 'f'},
		{"flamegraph-cost-type", required_argument, NULL, OPT_COST_TYPE},
		{"junit", required_argument, NULL, OPT_JUNIT},
		{"markdown", no_argument, NULL, OPT_MARKDOWN},
		{"massif-detailed-freq", required_argument, NULL, OPT_MASSIF_DETAILED},
		{"massif-threshold", required_argument, NULL, OPT_MASSIF_THRESHOLD},
		{"print-flamegraph", required_argument, NULL, 'F'},
		{"print-histogram", required_argument, NULL, 'H'},
		{"print-massif", required_argument, NULL, 'M'},
		{"fold", required_argument, NULL, OPT_FOLD},
		{"full", no_argument, NULL, OPT_FULL},
		{"json", no_argument, NULL, OPT_JSON},
		{"lens", required_argument, NULL, OPT_LENS},
		{"limit", required_argument, NULL, OPT_LIMIT},
		{"html", required_argument, NULL, OPT_HTML},
		{"html-limit", required_argument, NULL, OPT_HTML_LIMIT},
		{"redact", no_argument, NULL, OPT_REDACT},
		{"with-source", no_argument, NULL, OPT_WITH_SOURCE},
		{"stacks", required_argument, NULL, OPT_STACKS},
		{"timeline", no_argument, NULL, OPT_TIMELINE},
		{"tree", no_argument, NULL, OPT_TREE},
		{"shorten-templates", optional_argument, NULL, 't'},
		{"merge-backtraces", optional_argument, NULL, 'm'},
		{"print-peaks", optional_argument, NULL, 'p'},
		{"print-allocators", optional_argument, NULL, 'a'},
		{"print-temporary", optional_argument, NULL, 'T'},
		{"print-leaks", optional_argument, NULL, 'l'},
		{"peak-limit", required_argument, NULL, 'n'},
		{"sub-peak-limit", required_argument, NULL, 's'},
		{"suppressions", required_argument, NULL, OPT_SUPPRESSIONS},
		{"disable-embedded-suppressions", optional_argument, NULL, OPT_NO_EMBEDDED},
		{"disable-builtin-suppressions", optional_argument, NULL, OPT_NO_BUILT_IN},
		{"print-suppressions", optional_argument, NULL, OPT_PRINT_SUPPRESSIONS},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{0},
};

const char print_help[] =
		"Usage: heaptrack_print [options] FILE\n"
		"\n"
		"Says where the memory of a recorded program went. FILE may be - (standard input).\n"
		"\n"
		"  (no option)             about 60 lines: totals, who held the peak, what was never freed,\n"
		"                          what was temporary, who allocates most\n"
		"  --json                  the same and more, for programs\n"
		"  --csv                   a line per stack (--export csv=OUT writes it to a file)\n"
		"  --limit N               sites per list in --json (100) and with -d (12); 0: all\n"
		"  --full                  the long classic layout, with backtraces\n"
		"\n"
		"  --html OUT              all views in one file that opens in a browser, without a network;\n"
		"                          with -d also what changed\n"
		"  --html-limit SIZE       of at most this size (30M): what is small is merged, and said so\n"
		"  --redact                without folders, arguments, host and linkage names\n"
		"  --with-source           with the lines around the heaviest sites\n"
		"\n"
		"Views, of everything or of a part (--json shows each for programs):\n"
		"  --lens LENS             the part, as in the page's address: t=1.5-2.2&q=parse, t=peak,\n"
		"                          m=kept&t=10%-end, focus=main&threads=worker; metrics (m=): peak\n"
		"                          never-freed kept allocations bytes temporary\n"
		"  --tree                  what the program called\n"
		"  --bottom-up             who allocated, and who called that\n"
		"  --callers FUNCTION      who called a function, and what it called\n"
		"  --stacks SITE           the stacks that are named after a function\n"
		"  --by WHAT               a list: function package module file site thread size lifetime\n"
		"  --timeline              the heap over time\n"
		"  --depth N               levels of callers in --json (3)\n"
		"  --fold PATTERN          functions, files or modules that name no site (several times;\n"
		"                          .heaptrackrc: yours, library or fold PATTERN, a line each)\n"
		"\n";

const char print_help_classic[] =
		"The classic layout, section by section (each takes 0 or 1):\n"
		"  -a, --print-allocators  most calls to allocation functions (1)\n"
		"  -p, --print-peaks       peak memory consumers (1)\n"
		"  -l, --print-leaks       what was never freed (0)\n"
		"  -T, --print-temporary   most temporary allocations (1)\n"
		"  -m, --merge-backtraces  one entry per innermost function (1)\n"
		"  -t, --shorten-templates template arguments as <> (1)\n"
		"  -n, --peak-limit N      entries per section (10)\n"
		"  -s, --sub-peak-limit N  backtraces per entry (5)\n"
		"\n"
		"Blocks that shall not count as never freed (lines leak:PATTERN, as LeakSanitizer has them):\n"
		"  --suppressions FILE     further rules; those of the program and a few for system libraries\n"
		"                          apply as well, but for:\n"
		"  --disable-embedded-suppressions, --disable-builtin-suppressions\n"
		"  --print-suppressions    say what each rule covered\n"
		"\n"
		"  -f, --file FILE         the recording (or as the last word)\n"
		"  -h, --help    -v, --version\n";

static bool parse_number(const char *option, const char *text, uint32_t *out, struct err *err) {
	char *end;
	errno = 0;
	unsigned long long v = strtoull(text, &end, 10);
	if (errno || end == text || *end || v > UINT32_MAX || *text == '-') {
		return err_set(err, ERR_USAGE, "%s takes a number, not \"%s\"", option, text);
	}
	*out = (uint32_t)v;
	return true;
}

/** A switch of the original's kind: -l, -l1, -l 0, --print-leaks=1. Advances over a lone 0 or 1. */
static bool parse_switch(char **argv, bool *out, struct err *err) {
	const char *text = optarg;
	const char *next = argv[optind];
	if (!text && next && (strcmp(next, "0") == 0 || strcmp(next, "1") == 0)) {
		text = next;
		optind++;
	}
	if (text && strcmp(text, "0") != 0 && strcmp(text, "1") != 0) {
		return err_set(err, ERR_USAGE, "a switch takes 0 or 1, not \"%s\"", text);
	}
	*out = !text || *text == '1';
	return true;
}

static bool parse_classic(int c, char **argv, struct print_options *o, struct err *err) {
	struct classic_options *k = &o->classic;
	bool *sections[] = {['a'] = &k->allocators,
			['p'] = &k->peaks,
			['l'] = &k->leaks,
			['T'] = &k->temporary,
			['m'] = &k->merge_backtraces,
			['t'] = &k->shorten_templates};
	o->layout = LAYOUT_CLASSIC;
	if (c == 'n') {
		return parse_number("--peak-limit", optarg, &k->peak_limit, err);
	}
	if (c == 's') {
		return parse_number("--sub-peak-limit", optarg, &k->sub_peak_limit, err);
	}
	return parse_switch(argv, sections[c], err);
}

static bool add_fold(struct print_options *o, struct err *err) {
	struct session_options *s = &o->session;
	if (s->n_folds == SESSION_FOLDS_MAX) {
		return err_set(err, ERR_USAGE, "more than %d times --fold: .heaptrackrc takes any number",
				SESSION_FOLDS_MAX);
	}
	s->folds[s->n_folds++] = optarg;
	return true;
}

static bool choose_view(struct print_options *o, enum view view, const char *of) {
	o->layout = LAYOUT_VIEW;
	o->view = view;
	o->of = of;
	return true;
}

/** --by: a list of functions gathered in some way, or of parts. */
static bool parse_by(struct print_options *o, struct err *err) {
	for (int i = 0; i < N_LENS_GROUPS; i++) {
		if (strcmp(optarg, lens_group_names[i]) == 0) {
			o->group = i;
			return choose_view(o, VIEW_FUNCTIONS, NULL);
		}
	}
	for (int i = 0; i < N_BREAKDOWNS; i++) {
		if (strcmp(optarg, breakdown_names[i]) == 0) {
			o->by = (enum breakdown_by)i;
			return choose_view(o, VIEW_PARTS, NULL);
		}
	}
	return err_set(err, ERR_USAGE,
			"--by takes function, package, module, file, site, thread, size or lifetime, not "
			"\"%s\"",
			optarg);
}

/** One option. False: `err` says what is wrong with it. */
static bool parse_one(int c, char **argv, struct print_options *o, struct err *err) {
	switch (c) {
	case 'f': o->file = optarg; break;
	case 'F':
	case 'M':
	case 'H': return export_options_classic(&o->exports, (char)c, optarg, err);
	case 'd': return compare_options_base(&o->compare, optarg, err);
	case 'h': o->asked = PRINT_HELP; break;
	case 'v': o->asked = PRINT_VERSION; break;
	case OPT_FULL: o->layout = LAYOUT_CLASSIC; break;
	case OPT_SUPPRESSIONS: o->session.suppressions = optarg; break;
	case OPT_NO_EMBEDDED: return parse_switch(argv, &o->session.no_embedded, err);
	case OPT_NO_BUILT_IN: return parse_switch(argv, &o->session.no_built_in, err);
	case OPT_PRINT_SUPPRESSIONS: return parse_switch(argv, &o->shows_suppressions, err);
	case OPT_JSON: o->is_json = true; break;
	case OPT_LIMIT: o->has_limit = true; return parse_number("--limit", optarg, &o->limit, err);
	case OPT_FOLD: return add_fold(o, err);
	case OPT_HTML: o->html = optarg; break;
	case OPT_HTML_LIMIT: return heaptrack_options_size(optarg, &o->html_limit, err);
	case OPT_REDACT: o->is_redacted = true; break;
	case OPT_WITH_SOURCE: o->with_source = true; break;
	case OPT_LENS: o->lens = optarg; break;
	case OPT_EXPORT: return export_options_add(&o->exports, optarg, err);
	case OPT_CSV: return export_options_add(&o->exports, "csv=-", err);
	case OPT_COST_TYPE: return export_options_cost_type(&o->exports, optarg, err);
	case OPT_MASSIF_THRESHOLD: return export_options_threshold(&o->exports, optarg, err);
	case OPT_MASSIF_DETAILED:
		return parse_number("--massif-detailed-freq", optarg, &o->exports.massif_detailed_every,
				err);
	case OPT_BASE_LENS: o->compare.base_lens = optarg; break;
	case OPT_FAIL_IF: return compare_options_gate(&o->compare, optarg, err);
	case OPT_MARKDOWN: o->compare.is_markdown = true; break;
	case OPT_JUNIT: o->compare.junit = optarg; break;
	case OPT_TREE: return choose_view(o, VIEW_TREE, NULL);
	case OPT_BOTTOM_UP: return choose_view(o, VIEW_BOTTOM_UP, NULL);
	case OPT_CALLERS: return choose_view(o, VIEW_CALLERS, optarg);
	case OPT_STACKS: return choose_view(o, VIEW_STACKS, optarg);
	case OPT_TIMELINE: return choose_view(o, VIEW_TIMELINE, NULL);
	case OPT_BY: return parse_by(o, err);
	case OPT_DEPTH: return parse_number("--depth", optarg, &o->depth, err);
	case ':': return err_set(err, ERR_USAGE, "%s needs a value", argv[optind - 1]);
	case '?': return err_set(err, ERR_USAGE, "there is no option %s", argv[optind - 1]);
	default: return parse_classic(c, argv, o, err);
	}
	return true;
}

/** The recording, and with something to compare further ones. */
static bool parse_files(int argc, char **argv, struct print_options *o, struct err *err) {
	if (o->file) {
		argv[--optind] = (char *)o->file; // -f took that place
	}
	o->files = (const char *const *)argv + optind;
	o->n_files = (uint32_t)(argc - optind);
	o->file = o->n_files ? o->files[0] : NULL;
	if (!o->file) {
		const struct compare_options *c = &o->compare;
		return c->n_bases
				? err_set(err, ERR_USAGE,
						  "which recording shall be compared with %s? Usage: "
						  "heaptrack_print -d BASE FILE",
						  c->bases[0])
				: err_set(err, ERR_USAGE, "which recording? Usage: heaptrack_print [options] FILE");
	}
	if (o->n_files > 1 && !compare_is_asked(&o->compare)) {
		return err_set(err, ERR_USAGE,
				"one recording at a time: what is \"%s\"? (Several are repeated runs, for "
				"--fail-if and -d)",
				o->files[1]);
	}
	return true;
}

static bool gather_outputs(struct print_options *o, struct err *err) {
	for (uint32_t i = 0; i < o->exports.n; i++) {
		if (!outputs_add(&o->outputs, o->exports.jobs[i].path, err)) {
			return false;
		}
	}
	return outputs_add(&o->outputs, o->html, err) &&
			outputs_add(&o->outputs, o->compare.junit, err);
}

/** Two recordings have totals, sites and calls to compare; the other views are of one. */
static bool check_comparison(const struct print_options *o, struct err *err) {
	if (o->compare.junit && o->compare.n_gates == 0) {
		return err_set(err, ERR_USAGE,
				"--junit writes what became of gates; ask for one with --fail-if");
	}
	bool is_view = o->layout == LAYOUT_VIEW;
	bool is_tree = is_view && o->view == VIEW_TREE && o->compare.n_bases;
	if (o->html && (o->n_files > 1 || o->compare.n_bases > 1)) {
		return err_set(err, ERR_USAGE, "--html shows one recording, with -d against one BASE");
	}
	return !is_view || is_tree
			? true
			: err_set(err, ERR_USAGE,
					  "this view is of one recording, and takes a call of its own; -d shows totals and "
					  "sites, --tree calls, and goes into --html and every --export");
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
	opterr = 0;
	optind = 0; // getopt begins anew, also with how it orders words: `heaptrack -a FILE --json`
	int c;
	while (o->asked == PRINT_REPORT &&
			(c = getopt_long(argc, argv, ":F:H:M:d:f:t::m::p::a::T::l::n:s:hv", long_options,
					 NULL)) != -1) {
		if (!parse_one(c, argv, o, err)) {
			return false;
		}
	}
	const char *file = o->file ? o->file : argv[optind];
	if (o->compare.base_lens && o->compare.n_bases == 0 && file) {
		(void)compare_options_base(&o->compare, file, err); // another part of the same
	}
	if (compare_is_asked(&o->compare)) {
		bool ok = check_comparison(o, err) && gather_outputs(o, err) &&
				parse_files(argc, argv, o, err);
		o->session.is_shown = !o->is_json && o->outputs.n == 0;
		return ok;
	}
	if (o->lens && o->layout == LAYOUT_TEXT) {
		// A lens alone asks for what it shows
		(void)choose_view(o, o->is_json ? VIEW_TOTALS : VIEW_TREE, NULL);
	}
	if (o->asked != PRINT_REPORT) {
		return true;
	}
	bool ok = gather_outputs(o, err) && parse_files(argc, argv, o, err);
	o->session.is_shown = !o->is_json && o->outputs.n == 0; // files of others get names as they are
	return ok;
}
