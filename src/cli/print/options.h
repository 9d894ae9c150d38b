// SPDX-License-Identifier: MIT
#pragma once
/** The parsed command line of heaptrack_print. Its texts are borrowed from argv. */

#include "cli/options/table.h"
#include "export/export.h"
#include "report/compare.h"

// ---- files that heaptrack_print writes: --export, and the classic -F, -M and -H

enum { EXPORTS_MAX = 32 };

struct export_job {
	const struct exporter *exporter;
	const char *path;   // "-": stdout
	bool is_flamegraph; // -F: folded by cost_type, whatever the lens
};

struct export_options {
	struct export_job jobs[EXPORTS_MAX];
	uint32_t n;
	bool has_new; // --export: then no report is printed, unless another option asks for one
	struct write_options write; // `shown`: for flame graphs
};

/** --export NAME=OUT; reports an unknown name. Fields: struct export_options. */
option_taker export_take;
option_taker export_take_classic; // -F, -M, -H
option_taker export_take_cost_type, export_take_threshold;

bool export_file(const struct export_job *job, struct export_request *request, struct err *err);

/** All that the options ask for, of the recording in the request. */
bool export_all(const struct export_options *o, struct export_request *request, struct err *err);

enum { OUTPUTS_MAX = EXPORTS_MAX + 2 };

/** All files that heaptrack_print writes: none of them twice, and none of its inputs. */
struct outputs {
	const char *paths[OUTPUTS_MAX]; // borrowed; "-" is stdout
	uint32_t n;
};

/** NULL is no output. At most OUTPUTS_MAX. False: `err` says which file is named twice. */
bool outputs_add(struct outputs *o, const char *path, struct err *err);

/** False: `err` names the output that is one of these sessions' files. */
bool outputs_spare(const struct outputs *o, const struct session *sessions, uint32_t n,
		struct err *err);

// ---- recordings compared and judged: -d BASE, --fail-if, --markdown, --junit
//
// Several recordings, and several bases, are repeated runs.

enum { BASES_MAX = 64, GATES_MAX = 64, EXIT_GATE = 3 };

struct compare_options {
	const char *bases[BASES_MAX];
	struct gate gates[GATES_MAX];
	uint32_t n_bases, n_gates;
	bool is_markdown;
	const char *junit;     // where to; NULL: nowhere
	const char *base_lens; // for the bases; NULL: the same as for the others
};

option_taker compare_take_base, compare_take_gate; // fields: struct compare_options

/** Was any option of these given? */
bool compare_is_asked(const struct compare_options *o);

// ---- the parsed command line of heaptrack_print

enum print_layout {
	LAYOUT_TEXT,    // the default report
	LAYOUT_CLASSIC, // --full, and the classic section switches
	LAYOUT_VIEW,    // one of the views
};

struct print_options {
	const char *file;
	const char *const *files; // the same and further ones: repeated runs to compare
	uint32_t n_files;
	enum print_layout layout;
	bool is_json;            // for programs
	enum lens_metric metric; // overrides the lens's; LENS_PEAK: does not
	uint32_t limit;          // sites per list; 0: all
	bool has_limit;          // given; otherwise each layout has its default
	const char *lens;        // NULL: everything
	enum view view;
	const char *of;       // VIEW_STACKS: a site; VIEW_CALLERS: a function
	enum breakdown_by by; // VIEW_PARTS
	int group;            // --by function, package, module or file: enum lens_group; -1: not asked
	uint32_t depth;
	struct classic_options classic;
	struct session_options session;
	bool shows_suppressions; // the table of those that matched something
	const char *html;        // --html: where to; NULL: no page
	const char *viewer;      // --viewer: where to; nothing else is done
	uint64_t html_limit;     // bytes; 0: none
	bool is_redacted, with_source;
	struct export_options exports;
	struct compare_options compare;
	struct outputs outputs; // --html, the exports and --junit
};

/** The metric of a view under a lens by `metric`. */
static inline enum lens_metric print_metric(const struct print_options *o,
		enum lens_metric metric) {
	metric = o->view == VIEW_MEMORY ? LENS_PEAK : metric; // it has no metric
	metric = o->metric != LENS_PEAK ? o->metric : metric;
	bool has_grades = o->view == VIEW_PARTS && o->by == BY_GRADE && metric == LENS_PEAK;
	return has_grades ? LENS_GRADED : metric;
}

/** False: `err` says what is wrong. */
bool print_options_parse(struct print_options *o, int argc, char **argv, struct err *err);

/**
 * Compare or judge recordings: append what to print to `out`, write the other files. *is_broken: a
 * gate failed. False: `err` says what could not be done.
 */
bool compare_run(const struct print_options *options, struct buffer *out, bool *is_broken,
		struct err *err);
