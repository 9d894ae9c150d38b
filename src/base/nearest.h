// SPDX-License-Identifier: MIT
#pragma once
/** The name that was probably meant by a mistyped word. */

#include "base/slice.h"

struct nearest {
	struct slice word;
	const char *name; // NULL: none is near
	unsigned least;
};

struct nearest nearest_init(struct slice word);

/** Is it this one? Of two that are as near, the first is kept. */
void nearest_try(struct nearest *n, const char *name);
