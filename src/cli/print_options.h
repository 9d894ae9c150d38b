// SPDX-License-Identifier: MIT
#pragma once

/** What is asked of heaptrack_print: its command line, understood. Texts are those of argv. */

#include "base/err.h"
#include "report/report.h"

enum print_asked { PRINT_REPORT, PRINT_HELP, PRINT_VERSION };

enum print_layout {
	LAYOUT_TEXT,    // the page
	LAYOUT_CLASSIC, // --full, and the classic section switches
};

struct print_options {
	enum print_asked asked;
	const char *file;
	enum print_layout layout;
	bool is_json;   // the same for programs
	uint32_t limit; // sites per list in JSON; 0: all
	struct classic_options classic;
	const char *html;    // --html: where to; NULL: no page
	uint64_t html_limit; // bytes; 0: none
	bool is_redacted, with_source;
};

extern const char print_help[];

/** False: `err` says what is wrong. */
bool print_options_parse(struct print_options *o, int argc, char **argv, struct err *err);
