// SPDX-License-Identifier: MIT
#pragma once
/**
 * Hands out cells, the small segments of the processes of a tree (wire/segment.h), at the door.
 *
 * A cell is given to a process that descends from the recorded program, as the kernel tells, and is
 * of the same user; once, and again when it has executed another program. It is never used for
 * another process: a copy that was not recorded may still have it mapped.
 *
 * cells_serve is the watching thread's, all else the recording's.
 */

#include "collector/segment/segment.h"
#include "sys/listen.h"

enum {
	CELLS_MAX = 1024,               // alive at a time
	CELL_SLOTS = 1024,              // threads of a process
	CELL_NODES = 2 << 20,           // stacks of a process
	CELL_MODULES = 4096,            // modules of a process
	CELL_SLOT_BYTES = 4 << 20,      // with the state of a deep stack
	CELLS_TOUCHED_MOST = 256000000, // bytes in use by all
};

/** A process that has one. But for `member` it stays as it is until cells_give_back. */
struct cell {
	struct segment *segment; // `own`, but for the program's
	struct segment own;
	pid_t pid;
	int fd;                 // a pidfd; -1: the program's, whose end ends the recording
	uint32_t parent;        // process number; 0: unknown
	uint32_t fork;          // of the parent; 0: it has executed a program
	uint64_t time_ns;       // CLOCK_MONOTONIC
	struct process_exe exe; // what it ran when it asked last
	struct member *member;  // the recording's: NULL until it takes the arrival
};

/** A process got a cell, or has executed a program since. */
struct arrival {
	struct cell *cell;
	uint32_t image; // that this is, as the process counts them
	char *exe;      // what it executes; of malloc, the taker's; NULL: not known
};

struct cells;

/** `params`, of the program's segment, become those of a cell. NULL: `err` says why. */
struct cells *cells_create(struct segment_params *params, struct err *err);

/** All segments with those params, but for the program's, end here. */
void cells_destroy(struct cells *c);

/** Before any is served: the program. `is_secret`: its token is in no environment. */
struct cell *cells_begin(struct cells *c, struct segment *first, pid_t program, bool is_secret);

/** Answer a process at the door. False: it gets none; true: it has one, or is to ask again. */
bool cells_serve(struct cells *c, int connection, const struct ucred *who);

/** Has this process a cell, and not executed a program since it asked for it? */
bool cells_has(struct cells *c, pid_t pid);

/** The next arrival. False: there is none. */
bool cells_take(struct cells *c, struct arrival *out);

/** What an image of that process is, before its arrival is taken. 0: not known, or taken. */
uint32_t cells_exe(struct cells *c, const struct cell *cell, uint32_t image, struct texts *texts);

/** That process has ended: its segment is closed, finished and freed with the cell. */
void cells_give_back(struct cells *c, struct cell *cell);

/**
 * Nobody reads them any more, and none is given out. Any thread, where there is no memory: then
 * nobody gives one back meanwhile.
 */
void cells_close(struct cells *c);

/** So many descendants got none: CELLS_MAX, CELLS_TOUCHED_MOST, or no file for it. */
uint64_t cells_refused(const struct cells *c);
