// SPDX-License-Identifier: MIT
#pragma once

/**
 * Checks before a program is started: does it exist, can it be executed, and can the recorder be
 * loaded into it? Nothing is executed for this. The recorder library is located and the environment
 * built here, too.
 */

#include "base/arena.h"
#include "base/err.h"

enum launch_verdict {
	LAUNCH_RECORDED,   // the recorder will be loaded
	LAUNCH_INJECTED,   // it is put into the program by injected.h
	LAUNCH_UNRECORDED, // it can run, but without the recorder: `why` says so
	LAUNCH_REFUSED,    // it cannot run: `why`, and exit_status 126 or 127 as shells have it
};

struct launch {
	enum launch_verdict verdict;
	int exit_status;
	bool has_loader;   // LAUNCH_INJECTED: glibc's loader starts it, it could be preloaded as well
	bool gains_rights; // LAUNCH_REFUSED: set-uid, set-gid or with capabilities; it can run unrecorded
	bool needs_shell;  // neither ELF nor #!: /bin/sh runs it, as execvp does
	const char *path;  // what to exec
	const char *image; // the ELF file that will be loaded first: it, or its interpreter
	const char *why;   // a sentence about the program, with its name
};

/** Find `program` as execvp would (PATH when it has no slash) and judge it. False: no memory. */
bool launch_inspect(struct launch *out, const char *program, struct arena *arena, struct err *err);

/**
 * The index in `argv` of the program that argv[0] runs as a child, if argv[0] is a command that
 * runs another one (timeout, time, sudo): that program is recorded instead. 0: argv[0] is recorded.
 */
int launch_wrapped(char *const *argv);

/**
 * The path of libheaptrack_preload.so that belongs to this executable: beside its real path, or
 * in ../lib/heaptrack of there. NULL: `err` says where was looked.
 */
const char *launch_find_recorder(struct arena *arena, struct err *err);

/**
 * `environ` as the program shall see it: entry 0 is left for the segment's variable, LD_PRELOAD has
 * the recorder first and then what the user had; ASAN_OPTIONS allows that, for it and all that it
 * starts. NULL: no memory.
 */
char **launch_environment(const char *recorder, char *const *environment, struct arena *arena);

/** What to exec with it: `argv`, or /bin/sh before it for a launch that needs a shell. */
char **launch_arguments(const struct launch *launch, char *const *argv, struct arena *arena);
