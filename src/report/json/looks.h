// SPDX-License-Identifier: MIT
#pragma once
/** The looks of a recording for programs, in --json and in the view of their own. */

#include "engine/memory.h"

struct looks_writer {
	struct json *j;
	const struct recording *r;
	void (*put_stack)(void *user, uint32_t node); // member "stack" of an object
	void *user;
};

/** An item of a list. */
void looks_put_one(const struct looks_writer *w, uint32_t look);
