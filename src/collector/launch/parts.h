// SPDX-License-Identifier: MIT
#pragma once
/** What a program is executed with, and where its recorder is. */

#include "collector/run.h"

/**
 * `environ` as the program is to see it: entry 0 is left free for the segment's variable;
 * LD_PRELOAD has the recorder first, then what the user had; ASAN_OPTIONS permits that, for the
 * program and all that it starts.
 */
char **launch_environment(const char *recorder, char *const *environment, struct arena *arena);

/** `argv` itself, or /bin/sh before it for a launch that needs a shell. */
char **launch_arguments(const struct launch *launch, char *const *argv, struct arena *arena);

#define RECORDER_PRELOADED "libheaptrack_preload.so"
#define RECORDER_INJECTED  "libheaptrack_inject.so"

/**
 * The recorder of that name: beside the real path of this executable, or in ../lib/heaptrack from
 * there. NULL: `err` says where it was looked for.
 */
const char *launch_find(const char *name, struct arena *arena, struct err *err);

/**
 * Of a process that has just executed a program. True: the recorder cannot be preloaded into it, or
 * not into all of it, but it can be injected, at the moment `*start`.
 */
bool launch_exec_is_ours(pid_t pid, enum injector_start *start);

// ---- how an executable will be loaded, according to its ELF file

struct launch_elf {
	bool is_elf;
	bool is_torn; // cut short: not even its header is complete
	bool is_64_bit;
	unsigned machine;      // EM_*
	bool is_ours;          // of the machine and width that we record
	bool has_loader;       // names an interpreter (PT_INTERP): dynamically linked
	bool is_loader;        // is one itself, run as a program
	char loader[256];      // that interpreter
	bool has_allocator;    // defines functions that allocate (and free, if dynamic)
	bool is_go;            // static, of Go alone: nothing in it calls malloc
	const char *sanitizer; // one that cannot be combined with the recorder; NULL: none of these
};

/** Look at an open file. Nothing is trusted; a file that is not ELF is is_elf == false. */
void launch_elf_read(struct launch_elf *out, int fd);

const char *launch_machine_name(unsigned machine);
