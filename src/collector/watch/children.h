// SPDX-License-Identifier: MIT
#pragma once
/**
 * Processes that the program started and that are not recorded.
 *
 * Those that contain the recorder
 * announce themselves in the segment's table (docs/wire.md). The others are searched for among the
 * descendants of the program and, for daemons, among all processes with its variable in their
 * environment. Their size and the programs they execute are read from outside while they live.
 *
 * A process without the recorder that lives for less than the search interval (10 to 250 ms) is
 * missed.
 */

#include "collector/watch/reason.h"
#include "sys/process.h"
#include "wire/segment.h"

enum { CHILD_EXE = sizeof((struct wire_child *)0)->exe, CHILDREN_MAX = 4096 };

struct child {
	uint32_t pid;         // in our namespace; 0: not found, it is gone or was never seen
	uint32_t pid_inside;  // as it calls itself, in the namespace
	uint32_t pid_space;   // with this inode; 0: unknown
	uint64_t start_ticks; // with the pid it tells processes apart
	bool is_announced, was_announced_as_fork;
	uint32_t n_announced;
	bool is_fork; // a copy of its parent; else a program of its own
	bool is_gone;
	enum rec_why why; // REC_WHY_NONE: it has the recorder, and is a child
	struct process_exe file;
	char name[16];
	char exe[CHILD_EXE];
	uint64_t peak_rss_bytes;
};

struct children {
	pid_t program;
	struct reason_context reason;
	VEC(struct child);
	uint64_t last_ns, next_ns, next_search_ns;
	uint64_t n_seen;   // announced, as of the last check
	uint32_t n_living; // as of the last check
	uint64_t program_start_ticks;
	uint32_t pid_space; // our own
};

void children_init(struct children *c, pid_t program, struct reason_context reason);

/**
 * Check the segment's table and the live processes, every 10 ms at first and every 250 ms later, or
 * less often if there are many; immediately when one announces itself. `is_recorded`: the program
 * itself is recorded, so the processes that it forks announce themselves.
 */
void children_take(struct children *c, struct segment_header *header, bool is_recorded,
		uint64_t now_ns);

/** The same at the end, at once; daemons are searched for once more. */
void children_take_last(struct children *c, struct segment_header *header, uint64_t now_ns);

/** A process that has the recorder wanted to announce itself and could not reach the segment. */
void children_note(struct children *c, pid_t pid);

struct children_counts {
	uint64_t forked, executed;
};
struct children_counts children_counts(const struct children *c,
		const struct segment_header *header);
