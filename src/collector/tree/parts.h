// SPDX-License-Identifier: MIT
#pragma once
/** What is known of the processes of a tree, as the files of tree/ share it. */

#include "collector/run/parts.h"

/** What is known of a process for good. */
struct tree_process {
	struct rec_process row;
	uint32_t fork;         // of its parent, as long as it is its copy
	bool has_executed;     // so what it was a copy of is gone
	bool is_unrecorded;    // what it executed last has not got the recorder
	struct member *member; // NULL: it has ended, or was never there
	VEC(uint32_t) units;   // functions of Python's, by its numbers: those of all; 0: not known
};

struct tree {
	VEC(struct tree_process) processes;     // row 0 is none
	VEC(struct rec_command) commands;       // row 0 is none
	VEC(uint32_t) process_of;               // by thread
	VEC(uint32_t) unused;                   // regions
	VEC(uint32_t) runtimes;                 // modules of all that have one
	struct map forked_bytes, forked_blocks; // 1 + what was live, by process << 32 | fork
	VEC(uint32_t) spawned;                  // entries of segment_header.spawned, of all processes
	struct map seen;                        // 1, by such a pid of a process that is recorded
	uint64_t forked, executed; // and not recorded, as processes that have ended had counted them
	uint64_t lost_events;      // of processes that have ended
	uint64_t late_frees;       // of blocks that had ended with their process
	uint64_t pss_ns;           // when to read Pss; 0: not yet
	uint64_t copies_ns;        // when to look at pages of copies again
	bool lacks_sample;         // the last one was not whole
	uint32_t n_regions;
};

static inline struct tree_process *process_at(struct tree *t, uint32_t process) {
	return &t->processes.items[process];
}

/** Which of the first `n` members have ended: those with `revents`; the first is not asked. */
void tree_poll_ends(const struct run *run, struct pollfd fds[CELLS_MAX], size_t n);

/** Find out what a copy has inherited, once its parent's fork has come up in the order. */
void tree_inherit(struct tree *t, struct tree_process *p);

enum { TREE_COST = 100 }; // samples, Pss and looks at copies take a 100th of a CPU each

/** Until the next look at pages, of what is so old: they are rarer and rarer, as they cost time. */
static inline uint64_t tree_gap_ns(uint64_t age_ns) {
	const uint64_t least_ns = 1000000000, most_ns = 10 * least_ns;
	return age_ns < least_ns ? least_ns : age_ns > most_ns ? most_ns : age_ns;
}

/** See which of the pages that copies shared with their parents are no longer shared. */
void tree_look_at_copies(struct run *run);

/** A process has a module, which is number `there` of all; `is_new`: as the first of them. */
void tree_meet_runtime(struct member *m, uint32_t there, const struct wire_module *module,
		bool is_new);

/** The same before the first stack, in a process that was attached to while it ran. */
void tree_expect_runtime(struct member *m, uint32_t image);

/** Prove layouts, and read what it has met, also if it waits for that at its end. */
void tree_look_at_runtimes(struct member *m);

/** Its program, its process or the recording ends: read it for the last time. */
void tree_end_runtimes(struct member *m, bool names_it);

/** For tries_join, with the member as `user`: the number among those of all of a unit, or 0. */
uint32_t tree_share_unit(void *user, uint32_t id);
