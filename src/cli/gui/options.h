// SPDX-License-Identifier: MIT
#pragma once

/** What the user asked heaptrack_gui for. */

#include "base/err.h"

#include <stdint.h>

struct gui_options {
	const char *file; // NULL: list what there is
	const char *base; // what it is compared with; NULL: nothing
	const char *socket, *source_root;
	uint16_t port; // 0: any
	bool has_no_browser, has_no_source, stays;
	bool wants_help, wants_version;
};

/** False: `err` says what is wrong, with the word that is. */
bool gui_options_parse(struct gui_options *o, int argc, char **argv, struct err *err);

/** Serve the page of a recording until nobody looks at it any more (show.c). */
bool show(const struct gui_options *o, struct err *err);
