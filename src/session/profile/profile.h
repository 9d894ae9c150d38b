// SPDX-License-Identifier: MIT
#pragma once

/**
 * Files that hold a neutral profile: totals per stack, no single events. What a format does not
 * contain is listed in recording.missing; docs/exports.md has the table.
 */

#include "formats/formats.h"
#include "session/import.h"

bool import_pprof(struct import *import, struct err *err);
bool import_heap_dump(struct import *import, struct err *err);
bool import_massif(struct import *import, struct err *err);
bool import_dhat(struct import *import, struct err *err);
bool import_v8(struct import *import, struct err *err);
bool import_folded(struct import *import, struct err *err);

/** The profile as a recording, in its arena: the profile must lie there. False: no memory. */
bool recording_of_profile(struct recording *out, const struct profile *p, struct err *err);

/** Part of it: locations, frames, nodes, modules. node_of[n]: the recording's of a profile's. */
bool recording_code_of_profile(struct recording *out, const struct profile *p, uint32_t *node_of,
		struct arena *scratch);
