// SPDX-License-Identifier: MIT
#pragma once

/**
 * The files that a call of heaptrack_print writes. None of them may be an input file, so that a
 * recording is never overwritten, and no two may be the same.
 */

#include "cli/print/exports.h"

enum { OUTPUTS_MAX = EXPORTS_MAX + 2 };

struct outputs {
	const char *paths[OUTPUTS_MAX]; // borrowed; "-" is stdout
	uint32_t n;
};

/** NULL is no output. At most OUTPUTS_MAX. False: `err` says which file is asked for twice. */
bool outputs_add(struct outputs *o, const char *path, struct err *err);

/** False: `err` names the output that is the file of one of these sessions. */
bool outputs_spare(const struct outputs *o, const struct session *sessions, uint32_t n,
		struct err *err);
