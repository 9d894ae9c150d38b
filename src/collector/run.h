// SPDX-License-Identifier: MIT
#pragma once

/**
 * Record a program: start it, read its events, maintain the file, and return the result at the end.
 * This is the public interface of the collector; everything else in this folder is private.
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
	bool is_quiet; // what is only good to know is not said
	bool free_stacks, exact_time;
	uint64_t events_bytes; // 0: single events are not kept
	bool lacks_names;      // nobody wants those that are not known when the program has ended

	void *user;
	/** The file is there, the program starts in a moment. */
	void (*started)(void *user, const char *path);
	/** Something the user should know, as a sentence. */
	void (*say)(void *user, const char *text);
	/** The program has ended, names are being looked up: `n_left` of `n_all` are left. */
	void (*progress)(void *user, size_t n_left, size_t n_all);
};

struct run_result {
	int exit_status;   // what heaptrack exits with: the program's, or 128 + its signal
	bool was_recorded; // false: no file (the program could not start, or never loaded the recorder)
	bool was_too_narrow; // because its address space is limited too much
	enum rec_why why;    // else, if that is known
	char path[4608];
	bool file_is_whole;
	bool is_lost;      // the file was removed meanwhile, and could not be written anew
	bool is_explained; // why it was not recorded has been said
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

void run_result_finish(struct run_result *result);
