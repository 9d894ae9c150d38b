// SPDX-License-Identifier: MIT
#pragma once

/**
 * Serves the page of a recording until nobody looks at it any more. Used by gui.c and analyze.c.
 */

#include "cli/gui/options.h"

bool show(const struct gui_options *o, struct err *err);
