// SPDX-License-Identifier: MIT
#pragma once
/**
 * Watches the recorded process, in a thread that sleeps until something happens.
 *
 *  - Every 1.25 s it wakes and raises the heartbeat, which tells the target that the collector is
 *    alive, even while the thread that takes the events is busy with a large checkpoint.
 *  - A signal that a process sends to heaptrack is forwarded to the program, once. Signals from
 *    the terminal, or to the whole process group, reach the program directly: it is in that group.
 *    What sends a signal to several of heaptrack's processes sends one.
 *  - When the program stops (Ctrl+Z), heaptrack stops after it, so that the shell sees a stopped
 *    job; when heaptrack is continued, it continues the program.
 *  - It notes the program's end and reaps other children (orphans, where heaptrack is PID 1).
 *  - A program that cannot open /proc/PID/fd gets the segment's descriptor through a socket.
 *  - Requests at the control socket are answered.
 *
 * A program that heaptrack has attached to is not its child: its end is noticed through a pidfd,
 * and recording ends with a signal to heaptrack or when the requested time is up.
 *
 * The caller has opened the signals (sys/signals.h) before it started any thread.
 */

#include "collector/control/serve.h"
#include "collector/launch/parts.h"
#include "collector/segment/segment.h"
#include "collector/tree/cells.h"
#include "injector/space.h"
#include "sys/cgroup.h"
#include "sys/signals.h"

struct watch_params {
	pid_t program;
	int signals_fd;              // signals_open
	struct witness *witness;     // tells which signals went to the whole process group
	pid_t guardian;              // forwards the signals that it gets to heaptrack; 0: none
	int door_fd;                 // listen_on_abstract; -1: none
	int segment_fd;              // what is sent to those who connect there
	_Atomic uint32_t *bell;      // set to 1 and woken at the program's end
	_Atomic uint32_t *heartbeat; // raised every 1.25 s, whatever other threads do
	bool is_attached;            // to a program that ran before
	int program_fd;              // then: its pidfd
	struct control *control;     // or NULL
	struct cells *cells;         // of a tree of processes, or NULL
	uint64_t ends_ns;            // then: CLOCK_MONOTONIC at which the recording ends; 0: never
};

/** Limits of the program as of its end (setrlimit); 0: none. */
struct watch_limits {
	uint64_t cpu_s, file_bytes;
	uint64_t memory_bytes; // of its address space or its data, whichever is less
};

struct watch_end {
	bool is_detached; // the recording ends, the program goes on
	bool is_signaled;
	int status;                 // exit status, or the signal; REC_STATUS_UNKNOWN
	char name[16];              // of the main thread, at the end; empty: not known
	uint64_t time_ns;           // CLOCK_MONOTONIC
	struct process_usage usage; // CPU time is with that of its waited-for children
	uint64_t max_rss_bytes; // over its whole life, execs included, as the kernel counts; 0: unknown
	struct watch_limits limits;
};

struct watch;

struct watch *watch_start(const struct watch_params *params, struct err *err);

/** Any thread. True once the program has ended; then `out` (may be NULL) is filled. */
bool watch_has_ended(const struct watch *w, struct watch_end *out);

/** Any thread. Wait for that; all goes on but the answers at the control socket. */
void watch_await(struct watch *w, struct watch_end *out);

/** Any thread. True once heaptrack was asked to exit after the program had ended: hurry. */
bool watch_is_hurried(const struct watch *w);

/**
 * The recording's thread only. A process other than the program that asked for the segment, each
 * reported once; 0: none. When many ask at once, some are dropped.
 */
pid_t watch_take_visitor(struct watch *w);

/** End the thread. NULL is allowed. */
void watch_stop(struct watch *w);

// ---- why a process does not contain the recorder, determined from outside while it lives

struct reason_context {
	const char *recorder; // path of the library that is preloaded; NULL: none is
	const char *segment;  // the variable that names the segment, "NAME=..."; NULL: none is set

	// private: the file that was read last, since children tend to run the same one
	struct process_exe file;
	struct launch_elf elf;
};

/** Whether the recorder is in the memory of a process; *why: REC_WHY_NONE unless it is absent. */
enum reason_presence {
	REASON_UNKNOWN, // it is being loaded, or gone
	REASON_PRESENT,
	REASON_ABSENT,
};
enum reason_presence reason_presence(struct reason_context *c, pid_t pid, enum rec_why *why);

/** True if the program, or a process that it started, started this one: it has its variable. */
bool reason_was_started_by(struct reason_context *c, pid_t pid);

// ---- what its threads map, as the kernel tells it

struct unseen_thread {
	struct perf_event_mmap_page *ring; // NULL: refused, or it gets a processor too often for that
	uint64_t turns, n_maps, time_ns;   // as of when it was looked at; n_maps: since then
	size_t newest;                     // the item that it has just mapped, from 1 on. 0: none
	pid_t tid;
	char name[16];
};

/** Zeroed: nobody is watched. */
struct unseen {
	VEC(struct parts_seen); // of 1 MiB and more
	VEC(struct unseen_thread) threads;
	pid_t program;
	uint32_t next;      // to be replaced
	uint64_t call_ends; // the tracepoint that tells of code. 0: not asked for, or refused
	uint64_t start_ns;  // of the recording, CLOCK_MONOTONIC
};

/** From now on, of all threads that it has. */
void unseen_open(struct unseen *u, pid_t program, uint64_t start_ns);

/** To be called often: there is room for some 80 mappings of a thread. */
void unseen_take(struct unseen *u);

/** A thread is looked at. `is_old`: it has lived for so long that it is worth its own event. */
void unseen_watch(struct unseen *u, pid_t tid, bool is_old);
void unseen_end(struct unseen *u, pid_t tid);

/** Be told from now on which code maps, if tracefs may be read (as root). */
void unseen_ask_for_code(struct unseen *u);

/** Add the module of that code to the names, where it still lies among these areas. */
void unseen_name(struct unseen *u, const struct smaps *areas);
void unseen_finish(struct unseen *u);

// ---- why the program ended, in addition to its status
//
// The kernel killed it because memory ran out, or it reached a limit (ulimit). The kernel reports
// neither to a parent, but control groups count the processes killed in them, and limits can be
// read until the process is reaped (watch/watch.h).

struct ending {
	struct cgroup group;
	uint64_t limit_bytes; // of the group's memory; 0: none
	bool counts_kills;
	uint64_t kills, rose_ns; // as of the last look, and when a look saw more than the one before
	uint64_t next_use_ns;    // when to see again how much of the limit is used
	uint64_t most_bytes;     // that were used when ending_is_near said so last
	bool is_close;           // more than half is used
};

/** Look at the control group that the program is in; from time to time while it runs. */
void ending_look(struct ending *e, pid_t program, uint64_t now_ns);

/**
 * Nearly all of the limit is used, more than ever: the kernel may kill the program soon. To be
 * asked often, and acted upon.
 */
bool ending_is_near(struct ending *e, uint64_t now_ns);

/** The program has ended, and `n_failed` of its allocations failed: fill in meta's end. */
void ending_judge(struct ending *e, const struct watch_end *end, uint64_t end_ns, uint64_t n_failed,
		struct rec_meta *meta);

// ---- which program the process runs, determined from outside
//
// After an exec, the recorder announces the new program if it is loaded into it; if it is not (an
// emptied environment, a static program), the file that the process runs differs from the last one
// that was announced.
//
// Not noticed are a program that lives for less than the interval between two checks (the last
// recorder has noted the call: exec_ns) and, if addresses are not randomized, an exec of the same
// file with the same arguments and environment.

struct exec_watch {
	/** True if that image has announced a module of this name: it ran that file. */
	bool (*has_module)(void *user, uint32_t image, const char *name);
	void *user;

	// Of the program that the process runs
	struct process_exe exe;
	char path[4096];
	uint64_t since_ns;             // when it was seen first, in the recording's time
	enum reason_presence presence; // of the recorder in its memory; set by the owner

	// private
	char previous[4096];  // the program before it
	uint32_t n_programs;  // that were seen
	uint32_t n_announced; // images that were announced when that was seen last
	uint32_t n_last;      // images that were announced when it was seen last
	uint64_t looked_ns;   // when it was looked at last
	bool is_judged, is_told;
};

/** Before the first look: the file that the process runs, or (not `is_running`) will run first. */
void exec_watch_init(struct exec_watch *w, const char *path, pid_t pid, bool is_running);

enum exec_news {
	EXEC_NOTHING_NEW,
	EXEC_UNRECORDED, // `path`, since `since_ns`, is a program that did not announce itself
	EXEC_RECORDED,   // what was called unrecorded has announced itself after all
};

/**
 * Check at most once per ms, and less often the longer the program runs, down to once in 20 ms,
 * unless another one has announced itself. `n_images`: the number of images that have announced
 * themselves, read just before. A program is given 10 s to load before it is called unrecorded.
 */
enum exec_news exec_watch_look(struct exec_watch *w, pid_t pid, uint32_t n_images, uint64_t now_ns);

/** The process has ended: true if the program that it was last is unrecorded, and not yet told. */
bool exec_watch_end(const struct exec_watch *w, uint32_t n_images);

// ---- processes that the program started and that are not recorded
//
// Those that contain the recorder announce themselves in the segment's table (docs/wire.md). The
// others are searched for among the descendants of the program and, for daemons, among all
// processes with its variable in their environment. Their size and the programs they execute are
// read from outside while they live.
//
// A process without the recorder that lives for less than the search interval (10 to 250 ms) is
// missed.

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

// ---- samples of resident memory, faults and threads of the process, taken from outside
//
// Frequent at the start, every 250 ms later, every 2 s when nothing happens; in a long run, older
// samples are thinned out, so that their number is limited, but the highest one is kept.

struct samples {
	VEC(struct rec_sample);
	uint64_t next_ns;                          // of the recording's time: when to take the next
	uint64_t min_gap_ns;                       // doubles whenever the samples are thinned out
	uint64_t peak_rss_bytes, peak_rss_time_ns; // by the kernel's high-water mark
	uint64_t code_bytes;                       // of the last one
	uint32_t seccomp_mode;
};

/** Take one, when next_ns is reached. The segment tells how much of the memory is ours. */
void samples_take(struct samples *s, pid_t pid, uint64_t now_ns, bool is_idle, uint64_t heap_bytes,
		const struct segment *segment);

// ---- allocators that are not recorded (docs/recorder.md)
//
// They are Boehm's garbage collector, Go's and, if the recorder is preloaded, a second C library
// (dlmopen), and a library's own allocator. They are found by checking the program's mappings from
// time to time; an injected recorder hooks all but the first two.

struct own_heaps {
	uint64_t code_bytes; // executable mappings of the program at the last check
	uint64_t next_ns;    // time of the next check at the earliest
	VEC(uint64_t) seen;  // inodes of the files that were checked
	bool has_second_libc, has_collector, has_go;
	void (*tell)(void *user, const char *module, const char *functions, uint32_t n,
			const char *why);
	void *user;
};

/**
 * `code_bytes`: size of the program's executable mappings. As long as it stays the same, nothing is
 * checked.
 */
void own_heaps_look(struct own_heaps *o, pid_t program, bool is_preloaded, uint64_t code_bytes,
		uint64_t now_ns);

/** A module, which is a garbage collector or may be its library: no call shows what that frees. */
void own_heaps_meet(struct own_heaps *o, const char *path, bool is_collector);
