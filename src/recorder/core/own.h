// SPDX-License-Identifier: MIT
#pragma once
/**
 * Which memory the recorder has mapped, in lists that others read. What finds no room is not noted.
 * Any thread, any signal handler.
 */

#include "wire/segment.h"

enum own_list {
	OWN_TOLD, // the segment's: the collector does not take it for the program's
	OWN_LENT, // the resident's: unmapped when heaptrack detaches
	OWN_LISTS
};

/** From here on, note it there too, in `n` ranges: a new image has nothing yet. */
void own_begin(enum own_list list, struct wire_range *ranges, unsigned n);

/** Note it in one list, if that has begun; or in all. */
void own_note(enum own_list list, const void *at, size_t bytes);
void own_mapped(const void *at, size_t bytes);

/** As it was mapped, or only its end. */
void own_unmapped(const void *at, size_t bytes);
