// SPDX-License-Identifier: MIT
#pragma once
/**
 * Starts a program in two steps, with a moment between in which its pid is known.
 *
 * spawn_fork creates the process, which waits; spawn_exec makes it execute the program, with its
 * pid in its environment if that is wanted. spawn_fork is called before this process has a second
 * thread. The program has the limits that this process was started with (own_limits_restore).
 */

#include "sys/signals.h"

#include <sys/resource.h>

struct spawn {
	pid_t pid; // 0: none
	int talk;  // socket to the child and back
};

/** What the child will exec. Borrowed until spawn_exec or spawn_cancel. */
struct spawn_program {
	const char *path;
	char *const *argv;
	char **envp;  // envp[0] is a place for the variable that spawn_exec names, unless that is NULL
	pid_t tracer; // a process that may trace it, where the system asks for that; 0: none
	const struct signals_start *start;
};

bool spawn_fork(struct spawn *s, const struct spawn_program *program, struct err *err);

/**
 * Let it exec, with `variable` ("NAME=value", at most 255 bytes; NULL: none) as envp[0]. False: it
 * could not; `*errnum` says why in the system's words; the process is gone and reaped.
 */
bool spawn_exec(struct spawn *s, const char *variable, int *errnum);

/** End the waiting process without executing anything. */
void spawn_cancel(struct spawn *s);

// ---- resource limits of this process (ulimit -s, -n)
//
// They are raised if they are too low for heaptrack; programs that it starts get the original ones.

/** To `least`, or as high as permitted. Returns the limit in force; 0: unknown. */
rlim_t own_limit_raise(unsigned which, rlim_t least);

/** First of all in main. Threads made from then on have a stack of a size of our own. */
void own_limits_raise(void);

/** As they were when own_limits_raise was called. Also between fork and exec. */
void own_limits_restore(void);
