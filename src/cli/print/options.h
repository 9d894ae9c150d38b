// SPDX-License-Identifier: MIT
#pragma once
/** The parsed command line of heaptrack_print. Texts are those of argv. */

#include "cli/print/compare.h"
#include "report/view.h"

enum print_asked { PRINT_REPORT, PRINT_HELP, PRINT_VERSION };

enum print_layout {
	LAYOUT_TEXT,    // the page
	LAYOUT_CLASSIC, // --full, and the classic section switches
	LAYOUT_VIEW,    // one of the views
};

struct print_options {
	enum print_asked asked;
	const char *file;
	const char *const *files; // the same and further ones: repeated runs, to be compared
	uint32_t n_files;
	enum print_layout layout;
	bool is_json;     // the same for programs
	uint32_t limit;   // sites per list; 0: all
	bool has_limit;   // asked for; else each layout has its usual one
	const char *lens; // NULL: everything
	enum view view;
	const char *of;       // VIEW_STACKS: a site; VIEW_CALLERS: a function
	enum breakdown_by by; // VIEW_PARTS
	int group;            // --by function, package, module or file: enum lens_group; -1: not asked
	uint32_t depth;
	struct classic_options classic;
	struct session_options session;
	bool shows_suppressions; // the table of those that covered something
	const char *html;        // --html: where to; NULL: no page
	const char *viewer;      // --viewer: where to; nothing else is done
	uint64_t html_limit;     // bytes; 0: none
	bool is_redacted, with_source;
	struct export_options exports;
	struct compare_options compare;
	struct outputs outputs; // of --html, the exports and --junit
};

/** False: `err` says what is wrong. */
bool print_options_parse(struct print_options *o, int argc, char **argv, struct err *err);
