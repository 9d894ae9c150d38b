// SPDX-License-Identifier: MIT
#pragma once
/**
 * The looks of a recording (trace/recording.h): the process at one moment, with an owner for each
 * resident page. One thread. Of looks at the RSS peak, at the end and at a detach the newest is
 * kept, of requested ones the last LOOKS_REQUESTED.
 */

#include "collector/names/namer.h"
#include "engine/graph.h"
#include "sys/cgroup.h"

/** Blocks; of their contents in the program's memory only the name of their type. */
struct typed {
	uint64_t ptr, bytes;
	uint32_t stack, name;  // as of aggregate_live; a text, 0: type unknown
	uint32_t blocks, kind; // enum rec_class_kind
};
struct types {
	VEC(struct typed);
};

/** What points to blocks; `look` is unset, rows count from 0. Zeroed: nothing is known. */
struct graded {
	VEC(struct rec_grade) grades; // by stack, grade and class
	VEC(struct rec_class) classes;
	VEC(struct rec_holder) holders;
};

/**
 * What a look reads: mappings, which pages are resident, and whose some are. Zeroed: empty. The
 * process neither stops nor runs code for it. Reading takes some 20 ms for 1 GB in 1,000 mappings.
 */
struct view {
	struct smaps areas;
	struct pagemap pages;
	VEC(struct parts_range) ours;    // of heaptrack, by ascending address
	VEC(struct parts_range) modules; // with their bss, by ascending address
	struct cgroup_memory group;      // used_bytes 0: no group with a limit
	uint64_t rss_before_bytes, rss_after_bytes;
	uint64_t cost_ns; // CPU time of reading
	bool is_refused;  // not readable
	struct types types;
};

/**
 * `memory`: /proc/PID/mem. `own`: the recorder's own mappings, as it says. `group`: its control
 * group, after a query of its limit; or NULL. False: gone or unreadable. Finish `v` in any case.
 */
bool view_read(struct view *v, pid_t pid, int memory, const struct cgroup *group,
		const struct wire_range own[WIRE_N_OWN]);

/** Bias and end of the module whose header starts the area. False: none does. */
bool view_module(int memory, const struct smaps_area *a, uint64_t *bias, uint64_t *end);

/**
 * Types of some 2,000 live blocks, all large ones among them: 2 us each, and 8 ns per live block.
 * `types`: zeroed but for what to read.
 */
void types_read(struct view *v, const struct aggregate *blocks, struct python_types *types);

/** Sum up read blocks that are still live, by stack and type; untyped ones of typed stacks, too. */
void types_sum_up(struct types *t, const struct aggregate *blocks);

/** Read RSS again, after everything else was read. */
void view_take_rss(struct view *v, pid_t pid);

void view_finish(struct view *v);

enum { LOOKS_REQUESTED = 16 };

struct look {
	struct rec_look row;
	struct rec_group group;     // used_bytes 0: there is none
	VEC(struct rec_part) parts; // looks_put sets their `look`
	VEC(struct rec_untouched) untouched;
	struct parts_fullness fullness;
	struct types types;
	struct graded graded;
};

/** Zeroed: none yet. */
struct looks {
	VEC(struct look) items; // by time
	uint64_t cost_ns;       // CPU time of all, of the last one
	uint64_t last_cost_ns;
	uint64_t peak_bytes, peak_ns;     // the largest RSS that was looked at
	uint64_t last_rss_bytes, last_ns; // by the kernel's count, at the last look
	uint32_t n_thinned;               // how often every other past look was dropped
	bool has_unseen;                  // looks_known.seen has explained memory
};

/** What else is known of the process. Only read. */
struct looks_known {
	struct parts_input in; // but for what a view tells
	uint64_t limit_bytes;  // of the control group
	struct texts *texts;   // for the names of files
	struct modules *modules;
	const struct tries *tries;
	bool has_old; // blocks from before an attach
};

/** Both, joined and borrowed. */
struct parts_input view_as_input(const struct view *v, const struct looks_known *known);

/**
 * What the program gave the kernel (epoll), to get it back with an event: `files` are found while
 * it runs, `words` read while it is stopped.
 */
struct kept {
	VEC(int) files;
	VEC(uint64_t) words;
};
void kept_find(struct kept *k, pid_t pid);
void kept_read(struct kept *k, pid_t pid);

/** What to scan: a stopped process, or its copy. Only read. */
struct scan {
	pid_t program, pid;         // the same, or the copy's
	int memory;                 // /proc/PID/mem of it
	const struct view *running; // for a copy: the program just before; else NULL
	const struct wire_range *own;
	const struct looks_known *known;
	int threads; // a file of struct graph_thread
	const struct kept *kept;
};

/** A process that grades live blocks. Zeroed: none. */
struct scanner {
	pid_t pid;
	int ended, answer;
};

/**
 * Start with what is known now, which may change afterwards. Takes about a second per GB and, in
 * its own process, memory for blocks and pointers. False: `err` says why nothing will be known.
 */
bool scanner_start(struct scanner *s, const struct scan *scan, struct err *err);

/** Wait for it, at most that long. */
bool scanner_has_ended(const struct scanner *s, uint64_t within_ns);

/** Take what it found. False: `err` says why nothing is known, unless it had to be ended. */
bool scanner_finish(struct scanner *s, struct graded *out, struct texts *texts, struct err *err);

/** A function's frame on a thread's stack. */
struct stack_frame {
	struct symbols_caller caller; // its `called` in the program; first is where the frame ends
	uint64_t start, pc;           // of the call, or of what comes next
	uint32_t area;                // in which that is
	uint32_t outermost;           // 1 + that of the same function and thread
	bool is_asked;
	struct symbols_frame named; // of the outermost: the function, and the line if known
};

/** Names of roots and classes. A module is only asked if its files are there. */
struct root_names {
	const struct smaps *areas;
	const struct parts_thread *threads; // of the roots
	struct modules *modules;
	struct symbols *symbols;
	struct texts classes;
	int memory;    // of the process
	pid_t pid;     // of the threads
	uint32_t area; // whose module is `module`, lent; AREA_NONE: none yet
	uint32_t module;
	struct symbols_module lent;
	VEC(struct stack_frame) frames; // ascending by address, once searched for
	struct map saved;               // addresses of registers' words, to 1 + frame + 1; 1: of none
	struct arena arena;
};

/** Find a thread's frames, not all of a very deep stack. Call it for lower stacks first. */
void root_names_find_frames(struct root_names *n, size_t thread, const struct graph_thread *t);

/** As graph_input.read, .variable, .frame and .class_of; `user`: struct root_names. */
bool root_names_read(void *user, uint64_t at, void *out, size_t bytes);
uint64_t root_names_variable(void *user, uint32_t area, uint64_t at);
uint32_t root_names_frame(void *user, uint64_t at);
uint32_t root_names_class(void *user, uint64_t word);

/** Name roots among the holders, and classes: offsets of zero-terminated strings in `texts`. */
void root_names_put(struct root_names *n, struct graph *graph, struct buffer *texts);

/**
 * Is a look worth its time, because RSS grew far enough above what was looked at (REC_AT_RSS_PEAK),
 * moved, or the last look is old (REC_AT_TIMER)? Exceeded peaks stay as looks of REC_AT_TIMER, to
 * follow the parts of RSS over time.
 */
bool looks_want(const struct looks *l, uint64_t rss_bytes, uint64_t now_ns, enum rec_look_at *at);

/** Join what was read with what is known, and take its types. False: nothing was read. */
bool looks_add(struct looks *l, struct view *v, const struct looks_known *known, pid_t pid,
		enum rec_look_at at, uint64_t now_ns);

/** Add what points to the live blocks of the look at that time, if it is still kept. */
void looks_take_graded(struct looks *l, uint64_t time_ns, struct graded *graded);

/** Write them into `r`, in its own memory. */
void looks_put(const struct looks *l, struct recording *r);

void looks_finish(struct looks *l);
