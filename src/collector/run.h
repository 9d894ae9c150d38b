// SPDX-License-Identifier: MIT
#pragma once
/**
 * Records a program that heaptrack starts: reads its events, keeps the file, returns the result.
 *
 * attach.h records programs that are running already, with the same options and result.
 */

#include "collector/launch.h"
#include "trace/recording.h"

#include <sys/types.h>

struct run_options {
	char *const *argv; // the program and its arguments, NULL-terminated
	char *const *environment;
	const char *output;  // -o, or NULL
	const char *version; // of this heaptrack, for the file
	bool overwrite;
	bool is_quiet; // suppresses messages that are only informative
	bool free_stacks, exact_time;
	bool no_memory;        // calls that map are not recorded
	uint64_t events_bytes; // 0: single events are not kept
	bool lacks_names;      // do not look up names that are still missing at the program's end

	void *user;
	/** The file has been created, the program is about to start. NULL is allowed. */
	void (*started)(void *user, const char *path);
	/** Something the user should know, as a sentence. */
	void (*say)(void *user, const char *text);
	/** The program has ended, names are being looked up. NULL if `lacks_names`. */
	void (*progress)(void *user, size_t n_left, size_t n_all);
};

struct run_result {
	int exit_status;   // what heaptrack exits with: the program's, or 128 + its signal
	bool was_recorded; // false: no file (the program could not start, or never loaded the recorder)
	bool was_too_narrow; // not recorded because its address space is limited too much
	enum rec_why why;    // not recorded for this reason, if it is known
	char path[4608];
	bool file_is_whole;
	bool is_lost;      // the file was removed meanwhile, and could not be written anew
	bool is_explained; // the user was told why it was not recorded
	bool is_untouched; // nothing has been started or changed: the program can be run without us
	struct recording recording; // the last state, for a summary. run_result_finish frees it
	struct arena texts;         // its strings
};

/**
 * Run the launch (LAUNCH_RECORDED) to its end. False: the program did not run, `err` says why,
 * result->exit_status is what heaptrack exits with. Call it before the process has other
 * threads; signal dispositions are changed for good.
 */
bool run_program(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err);

/**
 * The same for LAUNCH_INJECTED: a program into which the recorder cannot be preloaded, or in which
 * it would miss allocators: statically linked, with another C library, or with its own allocator.
 * Once it is loaded, and before any of its code has run, ptrace stops it, the recorder is injected
 * as into a running program (docs/attach.md), and the program is resumed.
 */
bool run_injected_program(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err);

/**
 * Could programs be recorded on this machine, in either way? The same steps are taken, up to the
 * one that would execute a program.
 */
bool run_check_program(struct err *err);
bool run_check_injected(struct err *err);

void run_result_finish(struct run_result *result);
