// SPDX-License-Identifier: MIT
#pragma once

/**
 * One view of a recording under a lens, as text and as JSON. docs/lens.md says what the views show,
 * docs/json.md how they look for programs.
 */

#include "engine/breakdown.h"
#include "engine/lens.h"
#include "report/report.h"

enum view {
	VIEW_TOTALS, // nothing but the lens's totals
	VIEW_STACKS,
	VIEW_TREE,
	VIEW_BOTTOM_UP,
	VIEW_CALLERS,
	VIEW_FUNCTIONS, // or packages, modules, files, as the lens gathers
	VIEW_PARTS,     // by site, type, thread, size, lifetime
	VIEW_TIMELINE,
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
