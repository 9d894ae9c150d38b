// SPDX-License-Identifier: MIT
#pragma once
/** One file that shows a recording in a browser: --html, or any recording: --viewer. */

#include "cli/print/options.h"
#include "session/session.h"

/**
 * Write it to options->html, to be compared with the first of options->compare.bases if there is
 * one. False: `err` says why; a file begun is not left behind.
 */
bool print_html(const struct session *s, const struct print_options *options, struct err *err);

/** Write the page that opens any recording to `path`. */
bool print_viewer(const char *path, struct err *err);
