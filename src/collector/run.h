// SPDX-License-Identifier: MIT
#pragma once
/** Records a program, started by heaptrack or already running: events, the file, the result. */

#include "injector/injector.h"

// ---- a program before its start: can it be executed, can the recorder be loaded? Executes nothing

enum launch_verdict {
	LAUNCH_RECORDED,   // the recorder will be loaded
	LAUNCH_INJECTED,   // it must be injected: run_injected_program
	LAUNCH_UNRECORDED, // it can run, but without the recorder: `why`
	LAUNCH_REFUSED,    // it cannot run: `why`; exit_status is 126 or 127, as in shells
};

struct launch {
	enum launch_verdict verdict;
	int exit_status;
	bool has_loader;     // LAUNCH_INJECTED: glibc's loader starts it, so it can also be preloaded
	bool gains_rights;   // LAUNCH_REFUSED: set-uid, set-gid or capabilities; it can run unrecorded
	bool needs_shell;    // neither ELF nor #!: /bin/sh runs it, as by execvp
	const char *path;    // what to exec
	const char *image;   // the ELF file loaded first: the program or its interpreter
	const char *why;     // a sentence about the program, with its name
	struct arena *arena; // of these
};

/** Find `program` as execvp would (in PATH, without a slash) and judge it. */
void launch_inspect(struct launch *out, const char *program, struct arena *arena);

/** The index in `argv` of a program that argv[0] (timeout, sudo) runs, to be recorded; else 0. */
int launch_wrapped(char *const *argv);

// ---- a program that heaptrack starts

struct run_options {
	char *const *argv; // the program and its arguments, NULL-terminated
	char *const *environment;
	const char *output;  // -o, or NULL
	const char *version; // of this heaptrack, for the file
	bool overwrite;
	bool is_quiet; // no merely informative messages
	bool free_stacks, exact_time;
	bool children;           // record all descendants of the program, too. Implies no_memory
	bool no_memory;          // calls that map are not recorded
	bool leaks;              // look for what points to each live block: at the end, and on request
	bool leaks_before_exit;  // at the end: before exit handlers are called
	uint64_t leaks_every_ns; // and this often; 0: not
	uint64_t events_bytes;   // 0: single events are not kept
	bool lacks_names;        // do not look up names that are missing at the program's end

	void *user;
	/** The file was created, the program is about to start. NULL is allowed. */
	void (*started)(void *user, const char *path);
	/** Something the user should know, as a sentence. */
	void (*say)(void *user, const char *text);
	/** The program ended, names are being looked up. NULL if `lacks_names`. */
	void (*progress)(void *user, size_t n_left, size_t n_all);
};

struct run_result {
	int exit_status;     // what heaptrack exits with: the program's, or 128 + its signal
	bool was_recorded;   // false: no file (the program did not start, or never loaded the recorder)
	bool was_too_narrow; // not recorded because of a limit on its address space
	enum rec_why why;    // why it was not recorded, if known
	char path[4608];
	bool file_is_whole;
	bool is_lost;               // the file was removed meanwhile, and could not be rewritten
	bool is_explained;          // the user was told why it was not recorded
	bool is_untouched;          // nothing was started or changed: the program can run without us
	struct recording recording; // the last state, for a summary. run_result_finish frees it
	struct arena texts;         // its strings
};

/**
 * Run the launch (LAUNCH_RECORDED) to its end. False: the program did not run, `err` says why,
 * heaptrack exits with result->exit_status. Call it before there are other threads; signal
 * dispositions are changed for good.
 */
bool run_program(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err);

/**
 * The same for LAUNCH_INJECTED: a program that cannot preload the recorder, or in which that would
 * miss allocators: static, with another C library, or with its own allocator. Once it is loaded,
 * before any of its code ran, ptrace stops it, the recorder is injected as into a running program
 * (docs/attach.md), and it goes on.
 */
bool run_injected_program(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err);

/** Can this machine record programs, in either way? Takes the same steps, up to the exec. */
bool run_check_program(struct err *err);
bool run_check_injected(struct err *err);

void run_result_finish(struct run_result *result);

// ---- a running program that is not a child of this process
//
// An attach (docs/attach.md) lasts until the program ends, heaptrack gets a signal, or the time is
// up. The program goes on as before.

struct attach_options {
	pid_t pid;
	uint64_t duration_ns;  // 0: until somebody ends it
	uint64_t max_pause_ns; // for a copy of its memory, to find existing blocks; 0: no copy
	bool only_looks;       // ends with a look at its memory, once existing blocks are known
};

/**
 * argv and environment in `run` are not used. False: not recorded, `err` says why and what to do;
 * the program is unchanged. Like run_program, call it before there are other threads.
 */
bool attach_program(const struct run_options *run, const struct attach_options *attach,
		struct run_result *result, struct err *err);

/**
 * Would attach_program be refused? Takes its steps up to the first that stops or changes anything.
 * pid 0: may this user attach to his own programs on this machine?
 */
bool attach_check(const struct attach_options *attach, struct injector_check *out, struct err *err);

/** Undo the attach of a killed heaptrack; `*was_attached`: there was one. */
bool attach_repair(pid_t pid, bool *was_attached, struct err *err);

// ---- a program whose recorder started this collector (recorder/preload/collector.h)

/** The program waits before its first allocation for a message on `fd`. */
struct beside_options {
	pid_t pid;
	int fd; // receives the segment's address as a line; closed
	/** The file is complete; a program that waits at its exit does so until this returns. */
	void (*written)(void *user, const struct run_result *result);
	void *user;
};

/**
 * Record until the program ends or closes the recording. argv and environment in `run` are not
 * used. False: nothing was recorded, `err` says why; the program goes on. Like run_program, call it
 * before there are other threads.
 */
bool beside_program(const struct run_options *run, const struct beside_options *beside,
		struct run_result *result, struct err *err);
