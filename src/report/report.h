// SPDX-License-Identifier: MIT
#pragma once
/** A recording as text and JSON, appended to `out`. Reads no files and knows no terminal. */

#include "engine/breakdown.h"
#include "engine/findings.h"
#include "engine/memory.h"
#include "engine/suppress.h"

enum { REPORT_WIDTH = 100 }; // columns, unless a terminal says otherwise

struct report_options {
	const char *file; // as the user named it, for the title and the "more" line
	uint32_t width;   // columns; 0: REPORT_WIDTH
	uint32_t height;  // lines of the terminal it is shown on; 0: none
	uint32_t limit;   // rows or sites per list; 0: all, for JSON
	bool is_summary;  // of report_text: at most ten lines, as at the end of a recording

	/** Called to empty a growing `out`. False: the report ends with `err`. NULL: it keeps all. */
	bool (*drain)(void *user, struct buffer *out, struct err *err);
	void *user;
};

/** Close a finished item and, once that is much, hand on what was written. False: that failed. */
bool report_end_item(struct json *j, const struct report_options *options, struct err *err);

/**
 * The default report: about 60 lines and 13 on resident memory, the summary first, the six classic
 * lines last. On a lower terminal, what comes first and fits, so that none of it scrolls away.
 */
void report_text(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options);

struct classic_options {
	bool allocators, peaks, leaks, temporary; // sections
	bool shorten_templates;
	bool merge_backtraces;
	uint32_t peak_limit, sub_peak_limit;
};

/** The long layout of KDE's heaptrack_print, HEAPTRACK's sections in its order. */
void report_classic(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, const struct classic_options *classic);

/** The six lines that scripts grep, in KDE's wording; a seventh if leaks were suppressed. */
void report_six_lines(struct buffer *out, const struct recording *r);

/** KDE's table of the suppressions that matched something. */
void report_suppressions(struct buffer *out, const struct suppressions *s);

/** Everything, for programs; docs/json.md names the fields. */
bool report_json(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, struct err *err);

// ---- one view of a recording under a lens, as text and as JSON docs/lens.md says what the views
// show, docs/json.md how they look in JSON.

/**
 * VIEW(ID, NAME, does it need the call tree): all that a view needs besides its functions,
 * view_put_NAME() for text and put_NAME() in view/json.c.
 */
#define VIEWS(VIEW)                                                              \
	VIEW(STACKS, stacks, false)                                                  \
	VIEW(TREE, tree, true)                                                       \
	VIEW(BOTTOM_UP, bottom_up, true)                                             \
	VIEW(CALLERS, callers, true)                                                 \
	VIEW(FUNCTIONS, functions, true) /* or packages, modules, files: the lens */ \
	VIEW(PARTS, parts, false)        /* by site, type, thread, size, lifetime */ \
	VIEW(TIMELINE, timeline, false)                                              \
	VIEW(PROCESSES, processes, false) /* of a tree, whatever the lens */         \
	VIEW(MEMORY, memory, false) /* the looks within the lens's time; else nothing of it counts */

enum view {
	VIEW_TOTALS, // only the lens's totals
#define VIEW_ID(id, ...) VIEW_##id,
	VIEWS(VIEW_ID)
#undef VIEW_ID
			N_VIEWS,
};

struct view_request {
	enum view view;
	const struct lens *lens;
	struct slice of;      // VIEW_STACKS: a site's name; VIEW_CALLERS: a function's
	enum breakdown_by by; // VIEW_PARTS
	uint32_t depth;       // levels of callers that JSON opens; 0: the default
};

/** ERR_NOT_FOUND: nothing has that name; the message offers names that exist. */
bool report_view(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, const struct view_request *request, struct err *err);
bool report_view_json(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, const struct view_request *request, struct err *err);
