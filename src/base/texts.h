// SPDX-License-Identifier: MIT
#pragma once
/**
 * Texts that are stored once and identified by a number.
 *
 * Id 0 is the empty text. Texts never move, and `items` only grows (and may move as an array). A
 * zeroed struct is empty. One thread.
 */

#include "base/arena.h"
#include "base/index.h"
#include "base/vec.h"

struct texts {
	VEC(struct slice);
	struct arena arena; // of the copies
	struct index ids;
	bool borrows; // set by the owner: texts outlive the struct, and no copies are made
	bool failed;  // a text was lost: out of memory
};

/** The id of a text, new or known. 0 for an empty text, and when out of memory. */
uint32_t texts_id(struct texts *s, struct slice text);
uint32_t texts_id_of(struct texts *s, const char *text); // NULL: 0

void texts_finish(struct texts *s);
