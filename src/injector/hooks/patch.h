// SPDX-License-Identifier: MIT
#pragma once
/** Putting hooks into a process. */

#include "injector/target/target.h"

/** Decide which functions become which hooks, in which islands. */
bool plan_make(struct injector *in, struct err *err);

/** Plan and map, all or nothing; then call `function` of the recorder (0: none) there. */
bool patch_prepare(struct injector *in, uint64_t function, int64_t *result, struct err *err);

/** Shall its memory be copied? Asked before all are stopped; if not, the report says why. */
bool patch_may_copy_memory(struct injector *in);

/** Write the planned patches, once no thread is in their way. */
bool patch_all(struct injector *in, struct err *err);
