// SPDX-License-Identifier: MIT
#pragma once
/**
 * One recording in progress, as the files of run/, start/ and tree/ share it.
 *
 *   start/                 the four ways in which a recording begins
 *   loop.c                 rings -> order -> sink.c -> aggregate, until the program has ended;
 *                          then the last state and the finished file
 *   housekeeping.c         between rounds: what is looked at outside, and checkpoints (state.c)
 */

#include "collector/file/output.h"
#include "collector/guardian/guardian.h"
#include "collector/looks/looks.h"
#include "collector/order/order.h"
#include "collector/watch/watch.h"
#include "engine/feed.h"
#include "engine/findings.h"
#include "sys/spawn.h"

// How long the program's end waits to be looked at, at least; and with --leaks
enum { RUN_END_WAIT_MS = 50, RUN_LEAKS_WAIT_MS = 30000 };
enum { RUN_PAUSE_NS = 20000 }; // between two rounds that wait for events

/** May a thread of its own apply events? HEAPTRACK_STAGES in the environment, for tests: 1 or 2. */
enum stages { STAGES_UNKNOWN, STAGES_ONE, STAGES_TWO_ALWAYS, STAGES_TWO };

struct tree;  // of processes: tree.c
struct cell;  // tree/cells.h
struct cells; // the same

/** What an image, as its process counts them, executes: a string. */
struct program {
	uint32_t image, exe;
};

/** A process that is recorded: the program, or, with --children, another one. */
struct member {
	struct run *run;
	struct segment *segment;
	pid_t pid;
	bool has_ended;
	uint32_t image; // that has begun last, as the recorder counts them

	// ---- of a tree: tree.c
	struct cell *cell;
	struct tries tries;
	uint32_t process;   // row
	uint32_t image_row; // of that image
	VEC(struct program) programs;
	struct map regions;                   // of its addresses: union region of tree.c
	uint32_t n_units;                     // looked at
	struct units *units;                  // of its last program, if that has a runtime, or may
	uint32_t units_image;                 // which that was
	uint64_t last, last_packed;           // the region asked for last; last_packed 0: there is none
	uint32_t n_spawned;                   // taken
	bool is_told;                         // to the guardian
	bool is_seen;                         // has_ended, and the order has taken what was there then
	uint64_t look_ns;                     // of a copy: when to look at its pages again; 0: not yet
	uint64_t shared_bytes, private_bytes; // at the first look
	uint32_t parent_image;                // likewise
};

/** A thread whose name is still looked at. */
struct live_thread {
	const struct member *member;
	uint32_t id, tid; // id: of the aggregate
	uint32_t slot;
	uint32_t exe;     // of a tree's main threads: the file of their program; else 0
	uint64_t look_ns; // when to look at its name again
	uint32_t n_looks;
};

/** The search for blocks from before an attach. */
struct old_heap {
	pid_t snapshot; // 0: nothing is looked for
	pthread_t worker;
	_Atomic bool is_done;  // release: pairs with the acquire of run_take_old_blocks
	struct heap_walk walk; // no blocks: it failed
	uint64_t walk_ns;
};

struct run {
	const struct run_options *options;
	char *const *argv; // of the program, or of the process that it runs in already
	struct signals_start start_signals;
	struct arena arena; // what lives as long as the session
	struct segment segment;
	const char *recorder; // that is preloaded; NULL: none is
	struct spawn spawn;
	pid_t program; // stays, when the process is gone
	struct output output;
	uint32_t n_notes_told; // of the output's
	int signals_fd, door_fd;
	struct witness witness;
	struct control *control; // or NULL
	struct watch *watch;
	struct texts texts;
	struct modules modules;
	struct tries tries;
	struct order *order;
	struct feed feed;   // its aggregate may be in use by its thread: run_aggregate
	enum stages stages; // whether it may
	bool is_staged;     // events are applied by it now
	unsigned pressure;  // how long rounds have brought many events
	struct mappings *mappings;
	bool records_mappings; // and looks at memory. Not of a tree, which has only the first
	struct looks looks;
	uint64_t looks_refused; // by the kernel
	struct smaps before;    // what was mapped at an attach
	struct unseen unseen;
	struct namer *names;
	struct jit jit;
	struct units units;
	struct keeper *keeper;
	struct member first;          // the program
	struct cells *cells;          // NULL: only the program is recorded
	struct tree *tree;            // the same
	VEC(struct member *) members; // of the tree

	uint64_t rss_before_exec; // what the kernel's account of max_rss begins with
	struct exec_watch exec_watch;
	enum rec_why exec_why; // why the recorder is not in the program that it watches
	struct samples samples;
	struct children children;
	struct ending ending;
	VEC(struct live_thread) threads;
	VEC(struct rec_image) images;
	struct rec_meta meta;
	struct watch_end end;
	uint64_t now_ns; // of the recording's time
	uint64_t next_checkpoint_ns;
	uint64_t next_clock_ns;
	uint64_t last_events; // as of the last checkpoint
	uint64_t detail_ends_ns;
	uint64_t late_allocated_bytes, late_freed_bytes; // by events that came out of order
	uint64_t last_event_ns; // the time label of the last event that was taken
	bool keeps_events;
	bool stopped_early;
	bool ends_when_closed;  // the program may end the recording
	bool only_looks;        // it ends when the blocks from before an attach are known
	bool is_graded;         // --leaks: was looked at, or why not was said
	struct scanner scanner; // of what points to live blocks
	uint64_t scan_until_ns; // when it is given up
	uint64_t asked_look_ns; // of the look that it is of, or that was asked for
	uint64_t look_pause_ns; // for which the program was stopped for it
	bool is_scan_asked;     // somebody waits for it
	uint64_t n_leaks;       // looks of --leaks-every so far
	char why_ungraded[256]; // "": nobody asked, or the last one was answered

	// If attached: undoes the program's side of it, between the end of the recording and the last
	// look at the rings
	void (*leave)(struct run *run);
	// If attached to a tree: attaches to what has come to it, between rounds
	void (*join)(struct run *run);
	uint64_t ends_ns;   // and then it ends, by CLOCK_MONOTONIC. 0: not by itself
	struct map tried;   // what was attached to, or refused: what it ran then, by pid
	uint32_t n_joined;  // processes but the first, and programs that they have executed since
	uint32_t n_refused; // the same
	uint64_t longest_pause_ns; // of one of them
	struct guardian guardian;
	VEC(struct rec_allocator) allocators; // that the guardian has hooked, or seen
	struct own_heaps own_heaps;
	struct rec_allocator collectors[2]; // the rows of garbage collectors, which no guardian reports
	unsigned n_collectors;
	struct old_heap old_heap;
	struct map old_stacks; // 1 + that of old blocks, by their place
	pid_t program_inside;  // the program's pid as it calls itself
};

// ---- setup.c

/**
 * A recording of which nothing is set up yet; `result` is cleared. From here until its destruction,
 * a lack of memory ends the recording, and the process when the program ends.
 */
struct run *run_create(const struct run_options *options, struct run_result *result);

/** Release all of it. The file, if it is open, is removed unless it is to be kept. */
void run_destroy(struct run *run, bool keep_file);

/** In this order. `memory_fd` is as in segment_params, or -1: memory is made. */
bool run_make_segment(struct run *run, uint32_t options, int memory_fd, struct err *err);
bool run_open_output(struct run *run, struct err *err);

/** Say where it will be, once it is known that there is something to write. */
void run_tell_start(const struct run *run);
bool run_create_parts(struct run *run, const char *image, struct err *err);
void run_open_door(struct run *run);

/** The program begins, or goes on: watch it. `params` has what is special about it. */
bool run_start_watch(struct run *run, struct watch_params params, struct err *err);

/** Tell the user what the output has noted. */
void run_tell_notes(struct run *run);

// ---- loop.c

/** From the program's start to its end, all events drained. */
void run_loop(struct run *run);

// ---- look.c

/** Look at the memory now. False: that is not recorded, or impossible. */
bool run_look(struct run *run, enum rec_look_at at);

/**
 * May the program be copied? At most, all of its memory is written to while there is a copy; and a
 * fifth more. False: `err` says what its control group has left.
 */
bool run_has_room(const struct run *run, const struct smaps *areas, struct err *err);

/** Blocks from before an attach are known, or will not be, and there is no scanner. */
static inline bool run_may_scan(const struct run *run) {
	return run->old_heap.snapshot == 0 && run->scanner.pid == 0;
}

/** Look because the program waits for it, else somebody who is answered when all is known. */
void run_answer_look(struct run *run);

/** The program waits to be looked at, at its end: what it has done is taken before. */
void run_look_at_end(struct run *run);

/** When a scanner has ended: take what it has found. `waits`: wait for it. */
void run_take_grades(struct run *run, bool waits);

/** What points to live blocks is not known, and why. */
void run_say_ungraded(struct run *run, const char *why);

// ---- housekeeping.c

/**
 * What is to be done between two rounds. `is_idle`: the last one brought nothing. Returns which
 * look is due; REC_ATS: none.
 */
enum rec_look_at run_housekeep(struct run *run, bool is_idle);

/** Take the modules that have been announced since. */
void run_take_modules(struct run *run);

/** See own_heaps.tell. `user`: the run. */
void run_note_own_heap(void *user, const char *module, const char *functions, uint32_t n,
		const char *why);

// ---- old_blocks.c

/** The aggregate expects them since before the first event. `snapshot` 0: nothing will come. */
void run_expect_old_blocks(struct run *run, pid_t snapshot);

/**
 * When those blocks are found: give them to the aggregate, release the copy, tell the user.
 * `waits`: wait for it.
 */
void run_take_old_blocks(struct run *run, bool waits);

/**
 * A stack that says of blocks from before the attach what is known: that, and if `bytes` is not 0
 * their size, or between which powers of two it is.
 */
uint32_t run_old_stack(struct run *run, uint64_t bytes, bool is_range);

// ---- loop.c, when it has run

/** The recording has run: look up the missing names, write the last state, finish the file. */
void run_close(struct run *run, struct run_result *result);

// ---- state.c

/** Events that are missing in the recording. */
uint64_t run_lost_events(const struct run *run);

/** The state as of now, with memory of its own. */
struct recording *run_state(struct run *run, bool is_last);

/** The answer to `status` on the control socket (docs/control.md), from what is known already. */
void run_put_status(void *run, struct buffer *out);

/** The newest look, of which there must be one; why there is none. */
void run_put_look(void *run, struct buffer *out);
void run_put_no_look(void *run, struct buffer *out);

// ---- sink.c, outgoing.c

/** A round of events; how many. */
size_t run_round(struct run *run);

/** Take what is in the rings of `run` now; cheap if there is nothing. */
void run_drain(void *run);

/**
 * Take all that comes within that time, in any number of rounds, so many of them without events.
 * True: there is nothing left.
 */
bool run_drain_all(struct run *run, uint64_t within_ns, unsigned n_idle);

/** The aggregate, with all events that were taken: the caller's until the next round. */
struct aggregate *run_aggregate(struct run *run);

extern const struct order_sink run_sink;

/** Something the user should know, as a sentence. */
void run_say(struct run *run, const char *fmt, ...) ATTR_PRINTF(2, 3);

/** Write single events to the file, if they are kept. */
void run_keep_events(struct run *run, const struct trace_event *events, size_t n);

/** The program runs another one from here on: what was live is gone. */
void run_begin_program(struct member *m);

// ---- tree/tree.c: --children. All but the first of a run that has a tree

/** The program waits to be started. */
void run_tree_create(struct run *run);
void run_tree_destroy(struct run *run);

void run_tree_events(struct run *run, const struct trace_event *events, size_t n);
/** A fork, or an end. */
void run_tree_mapping(struct run *run, const struct trace_event *event);

/** Take processes that have joined, and modules. `user`: the first member. */
void run_tree_find(void *user);

/** An image begins, of which that is the row; what was live before is gone. */
void run_tree_image(struct member *m, uint32_t image, struct rec_image *row);
void run_tree_exec(struct member *m);

/** That thread is one of its own. */
void run_tree_thread(const struct member *m, uint32_t thread);

/** Between rounds: see which processes have ended. */
void run_tree_see_ends(struct run *run);

/** The newest sample is of the program: make it one of all, or drop it. */
void run_tree_sample(struct run *run);

/** The program has ended, and the order is finished. */
void run_tree_end(struct run *run);

/** Its tables, and what it changes in others: after the aggregate's. */
void run_tree_put(struct run *run, struct recording *r);

// ---- images.c

/** The program has become what /proc/PID/exe says now. */
void run_note_image(struct run *run);

/** The recording ends: the same, if that was never seen, or not for long enough to be certain. */
void run_note_last_program(struct run *run);

/**
 * The process runs (not `is_running`: will run first) the program that meta.exe names: note it, and
 * prepare to see what it becomes.
 */
void run_watch_exec(struct run *run, bool is_running);

/** See what the process has become. */
void run_look_at_program(struct run *run);

/** Tell the recorder, for good, if the program is in a sandbox that heaptrack is not in. */
void run_note_sandbox(struct run *run);

void run_look_at_thread(struct run *run, struct live_thread *thread);

/** Look at some of the threads whose turn it is. */
void run_look_at_threads(struct run *run);

/** The name that the program gave a thread since it was last looked at. */
void run_take_label(struct run *run, const struct live_thread *thread);

// ---- injection.c

/** As run_make_segment, in memory of the program, which the guardian has inspected. */
bool run_make_injected_segment(struct run *run, struct err *err);

/**
 * Store which allocators the injected recorder hooked, and where. `says_so`: tell the user, too.
 * `report` may be NULL. False: unknown.
 */
bool run_note_hooks(struct run *run, bool says_so, struct injector_report *report);

/**
 * The program is about to execute another one. If that cannot load the recorder, or has its own
 * allocator, the recorder is injected before it runs, as by run_injected_program. The program sends
 * a request through the segment's word `exec`, and waits; it is not traced before that.
 */
bool run_exec_is_announced(const struct run *run);
void run_follow_exec(struct run *run);
