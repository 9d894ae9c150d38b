// SPDX-License-Identifier: MIT
#pragma once
/**
 * Files that hold a neutral profile: totals per stack, no single events.
 *
 * What a format does not contain is listed in recording.missing; docs/exports.md has the table.
 */

#include "session/import/importer.h"

typedef bool decode_fn(struct profile *out, struct slice in, struct arena *arena, struct err *err);

bool import_profile(struct import *import, decode_fn *decode, struct err *err);

/** The profile as a recording, in its arena: the profile must lie there. False: no memory. */
bool recording_of_profile(struct recording *out, const struct profile *p, struct err *err);
