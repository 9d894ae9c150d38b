// SPDX-License-Identifier: MIT
#pragma once

/** Marks, the moments that the program named. */

#include "report/view/viewer.h"

/**
 * A row for each mark of a stretch of time: what was made between it and the next (or the end), and
 * what of that lived then. Nothing if there is none. False: no memory.
 */
bool view_put_marks(struct viewer *v, uint64_t start_ns, uint64_t end_ns, struct err *err);
