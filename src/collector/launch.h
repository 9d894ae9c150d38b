// SPDX-License-Identifier: MIT
#pragma once
/**
 * Inspects a program before it is started: can it be executed, and can the recorder be loaded?
 *
 * Nothing is executed for this.
 */

#include "base/base.h"

enum launch_verdict {
	LAUNCH_RECORDED,   // the recorder will be loaded
	LAUNCH_INJECTED,   // it has to be injected: run_injected_program
	LAUNCH_UNRECORDED, // it can run, but without the recorder: `why` says so
	LAUNCH_REFUSED,    // it cannot run: `why`; exit_status is 126 or 127, as in shells
};

struct launch {
	enum launch_verdict verdict;
	int exit_status;
	bool has_loader;   // LAUNCH_INJECTED: glibc's loader starts it, so preloading is possible, too
	bool gains_rights; // LAUNCH_REFUSED: set-uid, set-gid or capabilities; it can run unrecorded
	bool needs_shell;  // neither ELF nor #!: /bin/sh runs it, as execvp does
	const char *path;  // what to exec
	const char *image; // the ELF file that is loaded first: the program or its interpreter
	const char *why;   // a sentence about the program, with its name
};

/** Find `program` as execvp would (PATH when it has no slash) and judge it. False: no memory. */
bool launch_inspect(struct launch *out, const char *program, struct arena *arena, struct err *err);

/**
 * The index in `argv` of the program that argv[0] runs as a child, if argv[0] is a command that
 * runs another one (timeout, time, sudo): that program is recorded instead. 0: argv[0] is recorded.
 */
int launch_wrapped(char *const *argv);
