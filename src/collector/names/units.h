// SPDX-License-Identifier: MIT
#pragma once
/**
 * Functions of runtimes: tells the recorder where a runtime keeps its frames, once that is proved
 * in the program, and names the functions that the recorder finds there (wire/runtime.h).
 *
 * One thread, that of the tries.
 */

#include "collector/names/namer.h"
#include "runtimes/python.h"

/** A runtime that was seen and is not proved yet. */
struct unit_candidate {
	struct wire_layout layout;
	bool is_known; // there is a layout
	uint64_t next_ns, gap_ns;
};

/** A function that was decoded. */
struct unit_code {
	struct python_code code;
	uint32_t function, file; // texts; 0: it could not be
	bool is_read;
};

struct units {
	struct segment *segment;
	struct modules *modules;
	VEC(struct unit_candidate) candidates;
	VEC(struct unit_code) codes; // by number
	VEC(uint32_t) waiting;       // locations
	uint32_t n_seen;             // locations looked at
	uint32_t n_layouts;          // in force
	uint16_t unknown_version;    // of an interpreter without a layout; 0: none was seen
	const char *why;             // why the last proof failed; NULL: none did
	struct arena arena;
};

void units_init(struct units *u, struct segment *segment, struct modules *modules);
void units_finish(struct units *u);

/** A module was announced, and added to the modules. */
void units_meet(struct units *u, uint32_t id, const struct wire_module *module);

/** Prove what can be proved, and name new locations. */
void units_step(struct units *u, struct tries *t, struct namer *names, uint64_t now_ns);
