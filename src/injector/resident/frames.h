// SPDX-License-Identifier: MIT
#pragma once
/**
 * Unwind tables for code that has none, such as musl's and the hand-written start of a program.
 *
 * They are made from the code itself, so that the recorder can follow stacks through it.
 */

#include "injector/find/functions.h"
#include "injector/space.h"

/**
 * Add records like those of a section .eh_frame, for modules whose allocation functions, or whose
 * beginning of the program, are not covered by tables. They end with a record of length 0. Where
 * there is no such code, nothing is added.
 */
void frames_make(struct buffer *out, const struct modules_code *modules,
		const struct found_functions *functions);
