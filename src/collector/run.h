// SPDX-License-Identifier: MIT
#pragma once
/**
 * Records a program, whether heaptrack starts it or it runs already: reads its events, keeps the
 * file, returns the result.
 */

#include "injector/injector.h"

// ---- a program before it is started: can it be executed, and can the recorder be loaded?
//
// Nothing is executed for this.

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
	struct arena *arena; // of these
};

/** Find `program` as execvp would (PATH when it has no slash) and judge it. */
void launch_inspect(struct launch *out, const char *program, struct arena *arena);

/**
 * The index in `argv` of the program that argv[0] runs as a child, if argv[0] is a command that
 * runs another one (timeout, time, sudo): that program is recorded instead. 0: argv[0] is recorded.
 */
int launch_wrapped(char *const *argv);

// ---- a program that heaptrack starts

struct run_options {
	char *const *argv; // the program and its arguments, NULL-terminated
	char *const *environment;
	const char *output;  // -o, or NULL
	const char *version; // of this heaptrack, for the file
	bool overwrite;
	bool is_quiet; // suppresses messages that are only informative
	bool free_stacks, exact_time;
	bool children;           // and all processes that descend from the program. Implies no_memory
	bool no_memory;          // calls that map are not recorded
	bool leaks;              // look for what points to each live block: at the end, and when asked
	bool leaks_before_exit;  // at the end: before exit handlers are called
	uint64_t leaks_every_ns; // and so often. 0: not
	uint64_t events_bytes;   // 0: single events are not kept
	bool lacks_names;        // do not look up names that are still missing at the program's end

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

// ---- a program that runs already and is not a child of this process
//
// An attach (docs/attach.md) lasts until the program ends, heaptrack receives a signal, or the time
// is up. Afterwards the program continues as before.

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

/**
 * Would attach_program be refused? Takes its steps up to the first that stops or changes anything.
 * pid 0: may this user attach to his own programs on this machine?
 */
bool attach_check(const struct attach_options *attach, struct injector_check *out, struct err *err);

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
