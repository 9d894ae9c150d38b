// SPDX-License-Identifier: MIT
#pragma once
/** What all views share: the engine's results, rows of figures, names. */

#include "engine/call_tree.h"
#include "report/text/page.h"

struct viewer {
	struct buffer *out;
	const struct recording *r;
	const struct names *names;
	const struct report_options *options;
	const struct view_request *request;
	const struct lens *lens;
	size_t width;
	struct err *err;
	bool is_broken; // not found, or not handed on: `err` says why
	struct arena arena;
	struct lens_result result;
	struct call_tree tree; // for views that need one
	struct tree_costs costs;
};

/** Ask the engine. False: as lens_apply. Call viewer_finish in any case. */
bool viewer_init(struct viewer *v, struct buffer *out, const struct recording *r,
		const struct names *n, const struct report_options *options,
		const struct view_request *request, struct err *err);
static inline void viewer_finish(struct viewer *v) {
	arena_finish(&v->arena);
}

/** Does the file say how many there are of what the lens counts? */
static inline bool viewer_has_blocks(const struct viewer *v) {
	return !(v->r->missing & lens_metrics[v->lens->metric].blocks.number);
}

/** Break the viewer: "no function parse under this lens; candidates: ...". */
void viewer_lacks(struct viewer *v, const char *what, const struct buffer *candidates);

// ---- text

/** A row of figures: bytes, share of the total's weight, blocks. The caller continues the line. */
void viewer_put_costs(struct viewer *v, const struct lens_costs *c);
void viewer_put_head(struct viewer *v, const char *what);

/** "… 12 more": rows left out. */
void viewer_put_more(struct viewer *v, size_t indent, uint32_t n, const struct lens_costs *c);

/** A tree node's name and place, as far as the line has room: "spike()  app.cpp:20". */
void viewer_put_label(struct viewer *v, uint32_t node);
void viewer_put_frame(struct viewer *v, const struct name *frame, uint32_t n_folded);

#define DECLARE_VIEW(id, name, ...) void view_put_##name(struct viewer *v);
VIEWS(DECLARE_VIEW)
#undef DECLARE_VIEW

// ---- both

/** A site's stacks, heaviest first; *total: their costs. NULL: none, and the viewer is broken. */
const struct rank *view_find_stacks(struct viewer *v, uint32_t *n, struct lens_costs *total);

/** How a tree from the inside out is opened: from all that allocates, or from one function. */
enum view_way { VIEW_CALLERS_OF_ENDS, VIEW_CALLERS_OF_ONE, VIEW_CALLEES };
struct up_nodes view_open_node(struct viewer *v, const struct up_node *node, enum view_way way);

/** The first level of VIEW_CALLERS. Empty: no such function, and the viewer is broken. */
struct up_nodes view_find_function(struct viewer *v);
