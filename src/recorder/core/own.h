// SPDX-License-Identifier: MIT
#pragma once
/** The recorder's own mappings, in lists for others while there is room. Any thread or handler. */

#include "wire/segment.h"

enum own_list {
	OWN_TOLD, // the segment's: the collector does not count it as the program's
	OWN_LENT, // the resident's: unmapped when heaptrack detaches
	OWN_LISTS
};

/** From now on, note memory there, too, in `n` ranges: a new image has nothing yet. */
void own_begin(enum own_list list, struct wire_range *ranges, unsigned n);

/** Note it in one list, if begun, or in all. */
void own_note(enum own_list list, const void *at, size_t bytes);
void own_mapped(const void *at, size_t bytes);

/** A range as mapped, or only its end. */
void own_unmapped(const void *at, size_t bytes);
