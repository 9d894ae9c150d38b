// SPDX-License-Identifier: MIT
#pragma once

// What start/attached.c and start/injected.c share; nobody else includes this.

#include "collector/run/parts.h"

/**
 * The path of libheaptrack_inject.so, beside the other recorder. NULL: `err` says what is missing.
 */
const char *attach_find_recorder(struct arena *arena, struct err *err);

/** The guardian has inspected the program: create the segment, in memory of the program. */
bool attach_make_segment(struct run *run, struct err *err);

/**
 * Store which allocators are hooked, and where, and report it if requested; `*report` may be NULL.
 * False: unknown.
 */
bool attach_note_hooks(struct run *run, bool says_so, struct injector_report *report);
