// SPDX-License-Identifier: MIT
#pragma once

// One recording in progress, for the run files alone. Set up and torn down in the order of
// the members.

#include "collector/file/keeper.h"
#include "collector/guardian/guardian.h"
#include "collector/guardian/old_heap.h"
#include "collector/names/jit.h"
#include "collector/names/namer.h"
#include "collector/order/order.h"
#include "collector/run.h"
#include "collector/watch/children.h"
#include "collector/watch/ending.h"
#include "collector/watch/exec_watch.h"
#include "collector/watch/own_heaps.h"
#include "collector/watch/sample.h"
#include "collector/watch/watch.h"
#include "engine/aggregate.h"
#include "sys/spawn.h"

struct live_thread {
	uint32_t id, tid; // id: of the aggregate
	uint32_t slot;
	uint64_t look_ns; // when to look at its name again
	uint32_t n_looks;
};

struct run {
	const struct run_options *options;
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
	struct aggregate *aggregate;
	struct namer *names;
	struct jit jit;
	struct keeper *keeper;

	uint64_t rss_before_exec; // what the kernel's account of max_rss begins with
	struct exec_watch exec_watch;
	enum reason_presence exec_presence;
	enum rec_why exec_why; // why the recorder is not in the program that it watches
	struct samples samples;
	struct children children;
	struct ending ending;
	struct {
		struct live_thread *items;
		size_t n, capacity;
	} threads;
	struct {
		struct rec_image *items;
		size_t n, capacity;
	} images;
	uint32_t n_images_taken; // of those that the recorder counts
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
	bool has_failed; // events can no longer be digested
	bool stopped_early;
	bool ends_when_closed; // the program may end the recording

	// Attached to a program that ran before: the program's side of it is let go of by this, between
	// the end of the recording and the last look at the rings
	void (*leave)(struct run *run);
	struct guardian guardian;
	struct {
		struct rec_allocator *items;
		size_t n, capacity;
	} allocators; // that the guardian has hooked, or seen
	struct own_heaps own_heaps;
	struct old_heap old_heap;
	pid_t program_inside; // the program's pid as it calls itself
};

/** The state as of now, with memory of its own; NULL: out of memory. */
struct recording *run_state(struct run *run, bool is_last, struct err *err);

extern const struct order_sink run_sink;

/** Names of threads, of some of those whose turn it is. */
void run_look_at_threads(struct run *run);
/** What the program itself calls its threads, of all, at the end. */
void run_take_labels(struct run *run);

/** What has the program become? */
void run_look_at_program(struct run *run);
/** No image has announced itself: if that stays so, `exec_why` is why. */
void run_look_at_first_image(struct run *run);
/** It became a program without the recorder: what lived before is gone. */
void run_note_unrecorded(struct run *run);

/** The parts of start/launched.c that launching and attaching share; in this order. */
bool run_make_segment(struct run *run, const struct segment_params *params, struct err *err);
bool run_open_output(struct run *run, struct err *err);
bool run_create_parts(struct run *run, const char *image, struct err *err);
void run_open_door(struct run *run);
/** The program begins, or goes on: watch it. `params` has what is special about it. */
bool run_start_watch(struct run *run, struct watch_params params, struct err *err);
void run_init(struct run *run, const struct run_options *options);
void run_tear_down(struct run *run);
/** The arguments of a program that runs, as an argv. NULL: out of memory. */
char **run_arguments_of(pid_t pid, struct arena *arena);

/** The recording has run: write the last state. Then the file is kept or not. */
void run_close(struct run *run, struct run_result *result);

/** Take what is in the rings now; cheap if there is nothing. */
void run_drain(struct run *run);

/** The program has become what /proc/PID/exe says now. */
void run_note_image(struct run *run);

/** Tell the recorder, for good, if the program is in a sandbox that we are not in. */
void run_note_sandbox(struct run *run);

/**
 * The process runs (not `is_running`: will run first) the program that meta.exe says: see what it
 * becomes.
 */
void run_watch_exec(struct run *run, bool is_running);

/**
 * Have the blocks from before an attach been found? Then the aggregate has them, and the user is
 * told.
 */
void run_take_old_blocks(struct run *run, bool waits);

/** From the program's start to its end, all events drained. */
void run_loop(struct run *run);

/** Put in the names that lack and finish the file. False: it could not be finished. */
bool run_end(struct run *run, struct run_result *result, struct err *err);
