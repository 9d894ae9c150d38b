// SPDX-License-Identifier: MIT
#pragma once

/**
 * Unwind tables for code that comes without: musl's, hand-written starts of programs. Made from the code
 * itself, for the recorder, so that stacks go on through it.
 */

#include "base/buffer.h"
#include "injector/find.h"
#include "injector/space.h"

/**
 * Adds records like those of a section .eh_frame for the modules that have allocation functions, or the
 * program's beginning, outside of what tables cover. Ends with a record of length 0; nothing is added where
 * there is no such code.
 */
void frames_make(struct buffer *out, const struct modules_code *modules,
		const struct found_functions *functions);
