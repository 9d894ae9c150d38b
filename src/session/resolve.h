// SPDX-License-Identifier: MIT
#pragma once

/** Symbolizing a recording after the fact. */

#include "symbols/symbols.h"
#include "trace/recording.h"

/**
 * Symbolize the locations of a recording that have no names: function, file, line and inlined
 * frames, from the binaries in the places that `options` name (NULL: those in the recording).
 * Locations, frames, strings and the modules' facts change; ids of strings stay. False: no memory.
 */
bool resolve_names(struct recording *r, const struct symbols_options *options, struct err *err);
