// SPDX-License-Identifier: MIT
#pragma once
/** A recording under a lens as a neutral profile, for the formats that take one. */

#include "export/export.h"

/**
 * What the request asks for. With a base, a comparison: its frames are functions alone, without
 * lines and addresses, because those of another build say nothing. All in the arena.
 */
bool profile_of_request(struct profile *out, const struct export_request *request,
		struct arena *arena, struct err *err);

/**
 * The value that a lens ranks by; for the peak of a profile that has none, the weightiest that it
 * has. Another metric may be one that the profile does not know.
 */
enum profile_value profile_value_shown(const struct lens *lens, const struct profile *p);
