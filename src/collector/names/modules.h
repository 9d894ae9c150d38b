// SPDX-License-Identifier: MIT
#pragma once
/**
 * The files behind the program's code, held open.
 *
 * Each is opened as soon as the target announces it, because
 * later it may be unloaded, replaced or deleted, or the process gone with its view of the file
 * system. One thread; a descriptor may be lent to another.
 */

#include "base/texts.h"
#include "symbols/symbols.h"
#include "trace/recording.h"
#include "wire/segment.h"

#include <sys/types.h>

struct module_file {
	int fd;       // -1: none
	bool is_lent; // another thread uses the descriptor
	const char *path;
	const struct wire_module *announced; // NULL: not yet
};

struct modules {
	VEC(struct rec_module) records; // by module id, 0 unused; facts are filled in by namer.c
	VEC(struct module_file) files;
	struct texts *texts;
	pid_t pid;
	int root_fd;     // O_PATH: what the process sees as its root, also when it is gone; -1: unknown
	const char *exe; // of the first image, should the process be gone before it was asked
	uint32_t n_open, max_open; // descriptors
};

/**
 * `exe` (borrowed, or NULL) is what the program was started from; `max_open` descriptors are kept.
 */
void modules_init(struct modules *m, struct texts *texts, pid_t pid, const char *exe,
		uint32_t max_open);
void modules_finish(struct modules *m);

/** A module appeared. `announced` stays valid. False: out of memory. */
bool modules_add(struct modules *m, uint32_t id, const struct wire_module *announced);

/** What the symbols need; opens the file again by its path if its descriptor was given up. */
struct symbols_module modules_lend(struct modules *m, uint32_t id);
