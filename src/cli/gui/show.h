// SPDX-License-Identifier: MIT
#pragma once
/** Serves the page of a recording, as the user asked heaptrack_gui for it. */

#include "base/base.h"

struct gui_options {
	const char *file; // NULL: list what there is
	const char *base; // what it is compared with; NULL: nothing
	const char *socket, *source_root;
	uint16_t port; // 0: any
	bool has_no_browser, has_no_source, stays;
};

/** Serve it until nobody looks at it any more. */
bool show(const struct gui_options *o, struct err *err);
