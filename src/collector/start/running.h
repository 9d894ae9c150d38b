// SPDX-License-Identifier: MIT
#pragma once

/** A recorded program that ran before, and is not a child of heaptrack. */
#include "collector/run/parts.h"

/** As run_create, for a process; argv and environment in `options` are not used. */
struct run *running_create(const struct run_options *options, pid_t pid, struct run_result *result,
		struct err *err);

/** Set up all parts of the recording; `make_segment` is the first. */
bool running_prepare(struct run *run, bool (*make_segment)(struct run *run, struct err *err),
		struct err *err);

/** How the end of the program is noticed. False: it has ended. */
bool running_watch(const struct run *run, struct watch_params *out, struct err *err);
