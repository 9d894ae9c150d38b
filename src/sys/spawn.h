// SPDX-License-Identifier: MIT
#pragma once
/**
 * Starts a program in two steps, so that its pid is known in between. spawn_fork creates the
 * process, which waits; spawn_exec makes it execute the program, with its pid in the environment if
 * wanted. Call spawn_fork before this process has a second thread. The program gets the limits that
 * this process was started with (own_limits_restore).
 */

#include "sys/signals.h"

#include <sys/resource.h>

struct spawn {
	pid_t pid; // 0: none
	int talk;  // socket to the child
};

/** What the child will execute. Borrowed until spawn_exec or spawn_cancel. */
struct spawn_program {
	const char *path;
	char *const *argv;
	char **envp;  // envp[0]: room for spawn_exec's variable, unless that is NULL
	pid_t tracer; // a process that may trace it, where the system requires that; 0: none
	const struct signals_start *start;
};

bool spawn_fork(struct spawn *s, const struct spawn_program *program, struct err *err);

/**
 * Let it execute, with `variable` ("NAME=value", at most 255 bytes; or NULL) as envp[0]. False:
 * exec failed with *errnum; the process is gone and reaped.
 */
bool spawn_exec(struct spawn *s, const char *variable, int *errnum);

/** End the waiting process. */
void spawn_cancel(struct spawn *s);

// ---- resource limits of this process (ulimit -s, -n)
//
// Raised if too low for heaptrack; programs that it starts get the original ones.

/** Raise to `least`, or as far as permitted. Returns the current limit; 0: unknown. */
rlim_t own_limit_raise(unsigned which, rlim_t least);

/** Call first in main. New threads then get our own stack size. */
void own_limits_raise(void);

/** Restore the limits from before own_limits_raise. Allowed between fork and exec. */
void own_limits_restore(void);
