// SPDX-License-Identifier: MIT
#pragma once
/** Steps shared by the ways to record a program. */

#include "collector/run/parts.h"

// ---- launched.c: a child of heaptrack, from fork to its end

/** Take over the signals, and fork the process that will exec the program with `environment`. */
bool child_fork(struct run *run, const struct launch *launch, char **environment, struct err *err);

/** Let it exec, `variable` (or NULL) first in environ. False: `*exit_status` is as shells'. */
bool child_exec(struct run *run, const char *variable, int *exit_status, struct err *err);

/** Make a process that waits to exec. While result->is_untouched, it can run without us. */
typedef bool child_prepare(struct run *run, const struct launch *launch, struct run_result *result,
		struct err *err);

struct child_way {
	child_prepare *prepare;
	/** Executes the program, which is watched. False: as of child_exec. */
	bool (*start)(struct run *run, const struct launch *launch, int *exit_status, struct err *err);
	bool is_injected; // the recorder is injected: what it hooked in the end is noted
};

/** All of run_program and run_injected_program. */
bool child_run(const struct child_way *way, const struct run_options *options,
		const struct launch *launch, struct run_result *result, struct err *err);

/** Prepare an arbitrary program, and end it. */
bool child_check(child_prepare *prepare, struct err *err);

// ---- beside.c: a program that ran before, not a child of heaptrack

/** Like run_create, for a process; argv and environment in `options` are not used. */
struct run *running_create(const struct run_options *options, pid_t pid, struct run_result *result);

/** Set up all parts of the recording but its segment, which exists. */
bool running_prepare(struct run *run, struct err *err);

/** Fill in how the program's end is noticed. False: it has ended. */
bool running_watch(const struct run *run, struct watch_params *out, struct err *err);
