// SPDX-License-Identifier: MIT
#pragma once
/**
 * Symbolizes the locations of stacks, and reads suppressions, while the program runs. A
 * low-priority thread does so module by module, in batches that grow with a module's cost; the
 * caller's thread distributes work and puts results into the tables. So a file copied during a
 * recording has symbols, and little is left to do at the end. One thread, the caller's.
 */

#include "collector/segment/segment.h"
#include "runtimes/nim.h"
#include "runtimes/v8.h"
#include "symbols/perf_map.h"
#include "symbols/symbols.h"
#include "sys/smaps.h"

// ---- the files behind the program's code, held open
//
// Each is opened once the target announces it: later it may be unloaded, replaced or deleted, or
// the process gone with its view of the file system. One thread; descriptors may be lent to others.

struct module_file {
	int fd;       // -1: none
	bool is_lent; // another thread uses the descriptor
	const char *path;
	const struct wire_module *announced; // NULL: not yet
};

struct modules {
	VEC(struct rec_module) records; // by module id, 0 unused; namer.c fills in facts
	VEC(struct module_file) files;
	struct texts *texts;
	pid_t pid;
	int root_fd;               // O_PATH: the process's root, usable after its end; -1: unknown
	const char *exe;           // of the first image, should the process end before it is asked
	uint32_t n_open, max_open; // descriptors
};

/**
 * `exe` (borrowed, or NULL): what the program was started from. Keeps `max_open` descriptors open.
 */
void modules_init(struct modules *m, struct texts *texts, pid_t pid, const char *exe,
		uint32_t max_open);
void modules_finish(struct modules *m);

/** A module appeared. `announced` stays valid. */
void modules_add(struct modules *m, uint32_t id, const struct wire_module *announced);

/** Read memory of the program of `user`, a struct modules. False: it is not there. */
bool modules_read(void *user, uint64_t address, void *out, size_t bytes);

/** For the symbols; reopens the file by its path if its descriptor was given up. */
struct symbols_module modules_lend(struct modules *m, uint32_t id);

// ---- symbolizing stacks, and reading suppressions, while the program runs

struct namer;

struct namer *namer_create(struct modules *modules, struct texts *texts, struct err *err);

/** In a tree: modules that come from now on may be in packages if this program may. */
void namer_meet_program(struct namer *n, const char *exe);
void namer_destroy(struct namer *n);

/** Frames that locations point into. The array moves when it grows. */
const struct symbols_rows *namer_frames(const struct namer *n);

/** A new location in a file whose module was announced. */
void namer_add(struct namer *n, const struct rec_location *location, uint32_t id, uint64_t now_ns);

/**
 * Put results into `t`'s locations, start more work, never wait. `is_last`: do not limit the work.
 */
void namer_step(struct namer *n, struct tries *t, uint64_t now_ns, bool is_last);

/**
 * Name a location of generated code or of a runtime; texts are ids from namer_text. Called once per
 * frame, innermost first, and for no other location meanwhile.
 */
void namer_put(struct namer *n, struct rec_location *location, struct rec_frame frame);
uint32_t namer_text(struct namer *n, struct slice text);

/** Locations still without their names. */
size_t namer_pending(const struct namer *n);

/** Sleep until there is something to take, at most `timeout_ns`. */
void namer_wait(struct namer *n, uint64_t timeout_ns);

// ---- generated code, symbolized with the map that a JIT compiler writes for perf
//
// That is /tmp/perf-PID.map, as the program sees it, or else its jitdump. It is read as it grows,
// because code moves: an address gets the name of the code there at its first stack, and becomes
// another location when other code takes its place (tries_retire). Nothing is opened unless
// generated code is on a stack. Code missing in the file has no name; nothing here fails. One
// thread, that of the tries.

/** A location of generated code. */
struct jit_place {
	uint64_t pc;       // within the instruction that is meant
	uint32_t location; // of the tries
	uint32_t name;     // text; 0: not yet known
};

struct jit {
	pid_t program, program_inside; // as we and as it calls itself
	int fd;                        // of the file; -1: none, or none yet
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

/** `program_inside`: 0 if the same. */
void jit_init(struct jit *j, pid_t program, pid_t program_inside);
void jit_finish(struct jit *j);

void jit_add(struct jit *j, const struct rec_location *l, uint32_t id);

/** See what code is new, after all earlier events were taken. `is_last`: read all that is left. */
void jit_step(struct jit *j, struct tries *t, struct namer *names, uint64_t now_ns, bool is_last);

// ---- functions of runtimes (wire/runtime.h)
//
// Tells the recorder where a runtime keeps its frames, once proved in the program, and names the
// functions found there. One thread, that of the tries.

/** A unit's name. V8's objects move and die, so what was read of them is kept. */
struct unit_name {
	struct python_code python;
	struct v8_unit v8;
	uint64_t object;  // V8's: where it was last
	uint32_t n_tries; // attempts to read it there
	bool is_read;
	struct units *of; // of a tree, V8's: the process's that has met it,
	uint32_t id;      // as this number
};

struct units {
	struct segment *segment;
	struct modules *modules;
	struct jit *jit;              // NULL: of a process of a tree, whose Python's are shared
	struct wire_layout candidate; // of the last runtime met; without ranges if unknown
	VEC(struct unit_name) names;  // by number - 1
	VEC(uint32_t) unread;         // numbers that may be read again later
	VEC(uint32_t) waiting;        // locations
	bool is_of_tree;              // `names` are those of all processes, from units_share()
	struct index by_code;         // of a tree, numbers of units
	uint32_t n_seen;              // locations looked at
	struct nim_types nim;
	const char *why;  // why it is not in force. NULL: it is, or there is none
	uint64_t next_ns; // to prove it
	bool is_last;     // nothing is read again later
	struct arena arena;

	// V8, of which a program has one
	struct v8_layout v8_layout; // major 0: none was seen
	struct v8_heap v8;
	struct err v8_why;  // unknown, or not as it seemed
	uint32_t v8_row;    // of the table of layouts
	uint32_t v8_thread; // whose isolate's copies of builtins are known
	uint32_t n_looks;   // for copies of its code
	uint32_t n_met,
			n_proofs; // units of V8's that were read, or could not be; that prove the layout
};

void units_init(struct units *u, struct segment *segment, struct modules *modules, struct jit *jit);
void units_finish(struct units *u);

/** A module was announced; its file is open as `fd`, or -1. */
void units_meet(struct units *u, int fd, const char *path, const struct wire_module *module);

/** The same for mappings of a running program, before the recorder is in it. */
void units_expect(struct units *u, const struct smaps *maps, uint32_t image);

/** Would units_meet find anything in such a module? */
bool units_may_meet(int fd, const char *path, const struct wire_module *module);

/**
 * Of a tree: the number in `names` of the function of a segment's unit `id`. 0: it is not whole
 * yet, or of no function. Functions of Python's of the same name, file and lines are one. `of`:
 * what reads V8's of that process, or NULL.
 */
uint32_t units_share(struct units *u, struct units *of, const struct segment *s, uint32_t id);

/**
 * Prove what can be proved, and read a process's functions, numbered in `t` as in `all`.
 */
void units_read(struct units *u, const struct units *all, struct tries *t, uint64_t now_ns);

/** Prove what can be proved; name new locations, or give them to `names` or the JIT's. */
void units_step(struct units *u, struct tries *t, struct namer *names, uint64_t now_ns);
