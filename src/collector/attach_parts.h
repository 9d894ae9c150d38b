// SPDX-License-Identifier: MIT
#pragma once

// What attach.c and launch_injected.c share; nobody else includes this.

#include "collector/run_parts.h"

/** The path of libheaptrack_inject.so, beside the other recorder. NULL: `err` says what is missing. */
const char *attach_find_recorder(struct arena *arena, struct err *err);

/** The guardian has looked at the program: make the segment, of memory that is the program's. */
bool attach_make_segment(struct run *run, struct err *err);

/**
 * Take down which allocators are hooked, and where, and say so if that is asked; `*report` may be NULL.
 * False: nobody knows.
 */
bool attach_note_hooks(struct run *run, bool says_so, struct injector_report *report);
