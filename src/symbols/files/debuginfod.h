// SPDX-License-Identifier: MIT
#pragma once

/** The only place that may ask a debuginfod server, when the user wants it. */

#include "symbols/files/mapped.h"

/** Fetch the debug file of a build-id through libdebuginfod, which heeds DEBUGINFOD_URLS. */
bool debuginfod_open(struct mapped_file *out, struct slice build_id, struct err *err);
