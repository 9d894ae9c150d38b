// SPDX-License-Identifier: MIT
#pragma once
/**
 * A recording as text and as JSON. Every function appends to `out` and fails only for lack of
 * memory (then `err` says so). Nothing here reads files or knows a terminal.
 */

#include "engine/names.h"
#include "engine/suppress.h"

enum { REPORT_WIDTH = 100 }; // columns, where no terminal says otherwise

struct report_options {
	const char *file; // as the user named it, for the title and the lines to go on with
	uint32_t width;   // columns; 0: REPORT_WIDTH
	uint32_t height;  // lines of the terminal that it is shown on; 0: none
	uint32_t limit;   // rows or sites per list; 0: all, for JSON

	/** For long output: called regularly to take the bytes out of `out` (and clear it); false
	 * ends the report with what `err` says. NULL: everything stays in `out`. */
	bool (*drain)(void *user, struct buffer *out, struct err *err);
	void *user;
};

/** Hand on what was written, once that is much. False: that failed, or no memory. */
bool report_drain(const struct report_options *options, struct buffer *out, struct err *err);

/**
 * The default report: about 60 lines and 13 on resident memory, the summary first, the six classic
 * lines last. On a terminal that is lower, what comes first and fits: no line of it scrolls away.
 */
bool report_text(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, struct err *err);

/** The short form that is printed at the end of a recording: at most ten lines. */
bool report_summary(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, struct err *err);

struct classic_options {
	bool allocators, peaks, leaks, temporary; // sections
	bool shorten_templates;
	bool merge_backtraces;
	uint32_t peak_limit, sub_peak_limit;
};

/** The long layout of KDE's heaptrack_print, HEAPTRACK's sections in its order. */
bool report_classic(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, const struct classic_options *classic,
		struct err *err);

/** The six lines that scripts grep, in KDE's wording and number format; and a seventh where leaks
 * were suppressed. */
void report_six_lines(struct buffer *out, const struct recording *r);

/** KDE's table of the suppressions that covered something. */
void report_suppressions(struct buffer *out, const struct suppressions *s);

/** Everything for programs; docs/json.md names the fields. */
bool report_json(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, struct err *err);
