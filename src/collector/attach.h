// SPDX-License-Identifier: MIT
#pragma once
/**
 * Records a program that runs already and is not a child of this process.
 *
 * An attach (docs/attach.md) lasts until the program ends, heaptrack receives a signal, or the time
 * is up. Afterwards the program continues as before.
 */

#include "collector/run.h"

struct attach_options {
	pid_t pid;
	uint64_t duration_ns;  // 0: until somebody ends it
	uint64_t max_pause_ns; // for a copy of its memory, to find existing blocks; 0: no copy
	bool only_looks;       // ends with a look at its memory, as soon as existing blocks are known
};

/**
 * argv and environment in `run` are not used. False: it was not recorded, `err` says why and what
 * to do; the program is unchanged. Like run_program, it must be called before there are other
 * threads.
 */
bool attach_program(const struct run_options *run, const struct attach_options *attach,
		struct run_result *result, struct err *err);

struct attach_check {
	bool is_certain; // else the filters of its sandbox are yet to be asked, when it is stopped
	uint32_t n_functions, n_modules; // that would be hooked
	bool copies;                     // its memory, to find existing blocks
	uint64_t copy_ns;                // for which all of it is stopped for that, at most; estimated
	struct buffer hooked;            // as injector_describe; to be finished
};

/**
 * Would attach_program be refused? Takes its steps up to the first that stops or changes anything.
 * pid 0: may this user attach to his own programs on this machine?
 */
bool attach_check(const struct attach_options *attach, struct attach_check *out, struct err *err);

/**
 * Undo an attach that was interrupted because heaptrack was killed; `*was_attached`: there was one.
 */
bool attach_repair(pid_t pid, bool *was_attached, struct err *err);

// ---- a program whose recorder library started this collector (recorder/preload/collector.h)

/** It waits before its first allocation for a message on `fd`. */
struct beside_options {
	pid_t pid;
	int fd; // the segment's address is written there as a line; closed
	/** The file is complete; the program, if it waits at its exit, does so until this returns. */
	void (*written)(void *user, const struct run_result *result);
	void *user;
};

/**
 * Record until the program ends or closes the recording. argv and environment in `run` are not
 * used. False: nothing was recorded, `err` says why; the program goes on. Like run_program, it must
 * be called before there are other threads.
 */
bool beside_program(const struct run_options *run, const struct beside_options *beside,
		struct run_result *result, struct err *err);
