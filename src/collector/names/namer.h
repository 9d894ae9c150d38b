// SPDX-License-Identifier: MIT
#pragma once
/**
 * Symbolizes the locations of stacks, and reads suppressions, while the program runs.
 *
 * A low-priority thread does this module by module, in batches that grow with the cost of a module;
 * the caller's thread distributes the work and puts the results into the tables. A file
 * that is copied during a recording therefore contains symbols, and little is left to do at the
 * end.
 *
 * All functions: one thread, that of the caller.
 */

#include "collector/segment/segment.h"
#include "runtimes/nim.h"
#include "runtimes/v8.h"
#include "symbols/perf_map.h"
#include "symbols/symbols.h"
#include "sys/smaps.h"

// ---- the files behind the program's code, held open
//
// Each is opened as soon as the target announces it, because later it may be unloaded, replaced or
// deleted, or the process gone with its view of the file system. One thread; a descriptor may be
// lent to another.

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

/** A module appeared. `announced` stays valid. */
void modules_add(struct modules *m, uint32_t id, const struct wire_module *announced);

/** Read memory of the program, whose modules `user` is. False: it is not there. */
bool modules_read(void *user, uint64_t address, void *out, size_t bytes);

/** What the symbols need; opens the file again by its path if its descriptor was given up. */
struct symbols_module modules_lend(struct modules *m, uint32_t id);

// ---- symbolizes the locations of stacks, and reads suppressions, while the program runs

struct namer;

struct namer *namer_create(struct modules *modules, struct texts *texts, struct err *err);
void namer_destroy(struct namer *n);

/** Frames that locations point into. The array moves when it grows. */
const struct symbols_rows *namer_frames(const struct namer *n);

/** A new location in a file, whose module was announced. */
void namer_add(struct namer *n, const struct rec_location *location, uint32_t id, uint64_t now_ns);

/**
 * Put the results into `t`'s locations, and start more work. Never waits. `is_last`: nothing more
 * will be added, so do not limit the work any longer.
 */
void namer_step(struct namer *n, struct tries *t, uint64_t now_ns, bool is_last);

/**
 * Name a location of generated code or of a runtime, whose texts are ids, from namer_text: called
 * once for each of its frames, the innermost first, and for no other location meanwhile.
 */
void namer_put(struct namer *n, struct rec_location *location, struct rec_frame frame);
uint32_t namer_text(struct namer *n, struct slice text);

/** Locations that still wait for their names. */
size_t namer_pending(const struct namer *n);

/** Sleep until there is something to take, at most `timeout_ns`. */
void namer_wait(struct namer *n, uint64_t timeout_ns);

// ---- generated code, symbolized with the map that a JIT compiler writes for perf
//
// That is /tmp/perf-PID.map, as the program sees it, or else its jitdump. The file is read as it
// grows, because code moves: an address gets the name of the code that was there at its first
// stack, and becomes another location when other code takes its place (tries_retire). Nothing is
// opened unless generated code is on a stack. Code that is not in the file has no name; nothing
// here fails.
//
// One thread, that of the tries.

/** A location of generated code. */
struct jit_place {
	uint64_t pc;       // within the instruction that is meant
	uint32_t location; // of the tries
	uint32_t name;     // text; 0: waits for it
};

struct jit {
	pid_t program, program_inside; // as we call it, and as it calls itself
	int fd;                        // of the file; -1: there is none, or none yet
	bool is_dump;    // a jitdump, jit-PID.dump, which the program has mapped; else a map
	uint64_t n_read; // bytes of it
	uint64_t next_open_ns;
	unsigned n_looks; // for a file
	struct perf_map map;
	VEC(struct jit_place) places; // ascending by pc up to n_sorted
	size_t n_sorted;
	size_t n_waiting; // places without a name
	char *buffer;
};

/** `program_inside`: 0 if it is the same. */
void jit_init(struct jit *j, pid_t program, pid_t program_inside);
void jit_finish(struct jit *j);

/** A new location of generated code. */
void jit_add(struct jit *j, const struct rec_location *l, uint32_t id);

/**
 * See what code is new. `is_last`: read all that is left, however much. Call it after the events
 * that are there were taken: they are of the code that was there before.
 */
void jit_step(struct jit *j, struct tries *t, struct namer *names, uint64_t now_ns, bool is_last);

// ---- functions of runtimes (wire/runtime.h)
//
// Tells the recorder where a runtime keeps its frames, once that is proved in the program, and
// names the functions that the recorder finds there. One thread, that of the tries.

/** What a unit is called. Objects of V8's move and die later, so what was read of them is kept. */
struct unit_name {
	struct python_code python;
	struct v8_unit v8;
	uint64_t object;  // of V8's: where it was last
	uint32_t n_tries; // to read it there
	bool is_read;
};

struct units {
	struct segment *segment;
	struct modules *modules;
	struct jit *jit;
	struct wire_layout candidate; // of the runtime that was met last; without ranges if not known
	VEC(struct unit_name) names;  // by number - 1
	VEC(uint32_t) unread;         // numbers that may be read another time
	VEC(uint32_t) waiting;        // locations
	bool is_of_tree;              // `names` are those of all processes, from units_share()
	struct index by_code;         // of a tree, numbers of units
	uint32_t n_seen;              // locations looked at
	struct nim_types nim;
	const char *why;  // why it is not in force. NULL: it is, or there is none
	uint64_t next_ns; // to prove it
	bool is_last;     // set: nothing is read another time
	struct arena arena;

	// V8, of which there is one in a program
	struct v8_layout v8_layout; // major 0: none was seen
	struct v8_heap v8;
	struct err v8_why;  // it is not known, or not as it seemed
	uint32_t v8_row;    // of the table of layouts
	uint32_t v8_thread; // whose isolate's copies of builtins are known
	uint32_t n_looks;   // for copies of its code
	uint32_t n_met,
			n_proofs; // units of V8's that were read, or could not be; that prove the layout
};

void units_init(struct units *u, struct segment *segment, struct modules *modules, struct jit *jit);
void units_finish(struct units *u);

/** A module was announced, whose file is open, or, -1, not. */
void units_meet(struct units *u, int fd, const char *path, const struct wire_module *module);

/** The same of what a program has mapped that runs already, before the recorder is in it. */
void units_expect(struct units *u, const struct smaps *maps);

/** Python's layout, if that module is its interpreter. */
bool units_find_python(int fd, const char *path, const struct wire_module *module,
		struct wire_layout *out);

/**
 * Of a tree: the number in `names` of the function that is unit `id` of a process's segment. 0: it
 * is not whole yet, or of no function. Functions of the same name, file and lines are one.
 */
uint32_t units_share(struct units *u, const struct segment *s, uint32_t id);

/** Prove what can be proved, and name new locations or give them to `names` or the JIT's. */
void units_step(struct units *u, struct tries *t, struct namer *names, uint64_t now_ns);
