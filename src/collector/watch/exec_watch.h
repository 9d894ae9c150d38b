// SPDX-License-Identifier: MIT
#pragma once
/**
 * Which program the process runs, determined from outside.
 *
 * After an exec, the recorder announces
 * the new program if it is loaded into it; if it is not (an emptied environment, a static program),
 * the file that the process runs differs from the last one that was announced.
 *
 * Not noticed are a program that lives for less than the interval between two checks (the last
 * recorder has noted the call: exec_ns) and, if addresses are not randomized, an exec of the same
 * file with the same arguments and environment.
 */

#include "sys/process.h"

struct exec_watch {
	/** True if that image has announced a module of this name: it ran that file. */
	bool (*has_module)(void *user, uint32_t image, const char *name);
	void *user;

	// Of the program that the process runs
	struct process_exe exe;
	char path[4096];
	uint64_t since_ns; // when it was seen first, in the recording's time
	bool is_absent;    // set by the owner: the recorder is not in its memory, for sure

	// private
	char previous[4096];  // the program before it
	uint32_t n_programs;  // that were seen
	uint32_t n_announced; // images that were announced when that was seen last
	uint32_t n_last;      // images that were announced when it was seen last
	uint64_t looked_ns;   // when it was looked at last
	bool is_judged, is_told;
};

/** Before the first look: the file that the process runs, or (not `is_running`) will run first. */
void exec_watch_init(struct exec_watch *w, const char *path, pid_t pid, bool is_running);

enum exec_news {
	EXEC_NOTHING_NEW,
	EXEC_UNRECORDED, // `path`, since `since_ns`, is a program that did not announce itself
	EXEC_RECORDED,   // what was called unrecorded has announced itself after all
};

/**
 * Check at most once per ms, and less often the longer the program runs, down to once in 20 ms,
 * unless another one has announced itself. `n_images`: the number of images that have announced
 * themselves, read just before. A program is given 10 s to load before it is called unrecorded.
 */
enum exec_news exec_watch_look(struct exec_watch *w, pid_t pid, uint32_t n_images, uint64_t now_ns);

/** The process has ended: true if the program that it was last is unrecorded, and not yet told. */
bool exec_watch_end(const struct exec_watch *w, uint32_t n_images);
