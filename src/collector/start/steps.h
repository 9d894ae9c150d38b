// SPDX-License-Identifier: MIT
#pragma once
/** The steps that the ways to record a program share. */

#include "collector/run/parts.h"

// ---- launched.c: a child of heaptrack, from fork to its end

/**
 * Take over the signals, and fork the process that will execute the launch's program with this
 * environment.
 */
bool child_fork(struct run *run, const struct launch *launch, char **environment, struct err *err);

/** Instead: end it, and be as before. */
void child_cancel(struct run *run);

/** What run_check_program and run_check_injected prepare, and end. A NULL run is allowed. */
extern const struct run_options child_check_options;
extern const struct launch child_check_launch;
void child_end_check(struct run *run);

/**
 * Let it execute the program, with `variable` (may be NULL) as the first entry of its environment.
 * False: it could not, `*exit_status` is what shells give then.
 */
bool child_exec(struct run *run, const char *variable, int *exit_status, struct err *err);

/** Record it. `is_injected`: the recorder was, so note what it hooked in the end. */
void child_record(struct run *run, bool is_injected, struct run_result *result);

// ---- beside.c: a program that ran before, and is no child of heaptrack

/** As run_create, for a process; argv and environment in `options` are not used. */
struct run *running_create(const struct run_options *options, pid_t pid, struct run_result *result,
		struct err *err);

/** Set up all parts of the recording; `make_segment` is the first. */
bool running_prepare(struct run *run, bool (*make_segment)(struct run *run, struct err *err),
		struct err *err);

/** How the end of the program is noticed. False: it has ended. */
bool running_watch(const struct run *run, struct watch_params *out, struct err *err);
