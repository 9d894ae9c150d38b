// SPDX-License-Identifier: MIT
#pragma once

/**
 * Unwind tables of generated code, as __register_frame and __deregister_frame get them.
 *
 * Each is a sequence of records that ends with one of length 0. Code without tables is unwound by
 * frame pointers. Any thread, any signal handler.
 */

#include "recorder/core/unwind/eh.h"

void registered_add(const void *eh_frame);
void registered_remove(const void *eh_frame);

/** The next tables that may cover `pc`. `*place` is 0 at first. False: no more. */
bool registered_next(uint64_t pc, uint32_t *place, struct eh_tables *tables);
