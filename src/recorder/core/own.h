// SPDX-License-Identifier: MIT
#pragma once
/**
 * Tells the collector which anonymous memory is the recorder's, so that it is not taken for the
 * program's. Any thread, any signal handler.
 */

#include "wire/segment.h"

/** From here on, note it there: a new image has nothing yet. */
void own_begin(struct wire_range ranges[WIRE_N_OWN]);

void own_mapped(const void *at, size_t bytes);
/** As it was mapped. */
void own_unmapped(const void *at);
