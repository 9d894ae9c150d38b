// SPDX-License-Identifier: MIT
#pragma once
/** What a program is executed with, and where its recorder is. */

#include "collector/run.h"

/**
 * `environ` for the program: entry 0 is for the segment's variable, LD_PRELOAD begins with the
 * recorder, and ASAN_OPTIONS permits that, for the program and its descendants.
 */
char **launch_environment(const char *recorder, char *const *environment, struct arena *arena);

/** `argv` itself, or with /bin/sh before it if the launch needs a shell. */
char **launch_arguments(const struct launch *launch, char *const *argv, struct arena *arena);

#define RECORDER_PRELOADED "libheaptrack_preload.so"
#define RECORDER_INJECTED  "libheaptrack_inject.so"

/** Find it beside this executable's real path, or in ../lib/heaptrack. NULL: `err` says where. */
const char *launch_find(const char *name, struct arena *arena, struct err *err);

/**
 * For a process that just execed. True: the recorder is not preloaded, or not into all of the
 * program, but can be injected at `*start`.
 */
bool launch_exec_is_ours(pid_t pid, enum injector_start *start);

// ---- how an executable will be loaded, by its ELF file

struct launch_elf {
	bool is_elf;
	bool is_torn; // not even its header is complete
	bool is_64_bit;
	unsigned machine;      // EM_*
	bool is_ours;          // of the machine and width that we record
	bool has_loader;       // has an interpreter (PT_INTERP): dynamically linked
	bool is_loader;        // is an interpreter itself, run as a program
	char loader[256];      // that interpreter
	bool has_allocator;    // defines functions that allocate (and free, if dynamic)
	bool is_go;            // static, of Go alone: nothing in it calls malloc
	const char *sanitizer; // one that cannot be combined with the recorder; NULL: none
};

/** Look at an open file; nothing in it is trusted. */
void launch_elf_read(struct launch_elf *out, int fd);

const char *launch_machine_name(unsigned machine);
