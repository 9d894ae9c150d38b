// SPDX-License-Identifier: MIT
#pragma once

#include "symbols/symbols.h"
#include "trace/recording.h"

/**
 * Put names to the places of a recording that have none: function, file, line and inlined frames,
 * from the binaries as `options` say where they are (NULL: where the recording says). Locations,
 * frames, strings and the modules' facts change; ids of strings stay. False: no memory.
 */
bool resolve_names(struct recording *r, const struct symbols_options *options, struct err *err);
