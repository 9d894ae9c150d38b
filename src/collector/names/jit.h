// SPDX-License-Identifier: MIT
#pragma once
/**
 * Symbolizes generated code, with the map that a JIT compiler writes for perf.
 *
 * That is /tmp/perf-PID.map, as the program sees it, or else its jitdump. The file is read as it
 * grows, because code moves: an address gets the name of the code that was there at its first
 * stack, and becomes another location when other code takes its place (tries_retire). Nothing is
 * opened unless generated code is on a stack. Code that is not in the file has no name; nothing
 * here fails.
 *
 * One thread, that of the tries.
 */

#include "collector/names/namer.h"
#include "collector/segment/tries.h"
#include "symbols/perf_map.h"

#include <sys/types.h>

/** The file: /tmp/perf-PID.map, or a jitdump, jit-PID.dump, which the program has mapped. */
struct jit_source {
	int fd;       // -1: there is none, or none yet
	bool is_dump; // of symbols/jit_dump.h; else of symbols/perf_map.h
};

/** A location of generated code. */
struct jit_place {
	uint64_t pc;       // within the instruction that is meant
	uint32_t location; // of the tries
	uint32_t name;     // text; 0: waits for it
};

struct jit {
	pid_t program, program_inside; // as we call it, and as it calls itself
	struct jit_source source;
	uint64_t n_read; // bytes of it
	uint64_t next_open_ns;
	unsigned n_looks; // for a file
	struct perf_map map;
	VEC(struct jit_place) places; // ascending by pc up to n_sorted
	size_t n_sorted;
	size_t n_waiting; // places without a name
	uint32_t n_seen;  // locations looked at
	char *buffer;
};

/** `program_inside`: 0 if it is the same. */
void jit_init(struct jit *j, pid_t program, pid_t program_inside);
void jit_finish(struct jit *j);

/**
 * See what locations and what code are new. `is_last`: read all that is left, however much. Call it
 * after the events that are there were taken: they are of the code that was there before.
 */
void jit_step(struct jit *j, struct tries *t, struct namer *names, uint64_t now_ns, bool is_last);
