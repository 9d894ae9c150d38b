// SPDX-License-Identifier: MIT
#pragma once
/**
 * One view of a recording under a lens, as text and as JSON. docs/lens.md says what the views show,
 * docs/json.md how they look for programs.
 */

#include "engine/breakdown.h"
#include "report/report.h"

/**
 * VIEW(ID, NAME, does it need the call tree): a row is all that a view needs besides its functions,
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
	VIEW(MEMORY, memory, false) /* the looks within the lens's time; else nothing of it counts */

enum view {
	VIEW_TOTALS, // nothing but the lens's totals
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
	uint32_t depth;       // levels of callers that JSON opens; 0: a usual number
};

/** ERR_NOT_FOUND: there is nothing of that name; the message has names that there are. */
bool report_view(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, const struct view_request *request, struct err *err);
bool report_view_json(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, const struct view_request *request, struct err *err);
