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
#include "collector/tree/cells.h"
#include "injector/space.h"
#include "sys/cgroup.h"
#include "sys/signals.h"

struct watch_params {
	pid_t program;
	int signals_fd;              // signals_open
	struct witness *witness;     // tells which signals went to the process group
	pid_t guardian;              // forwards signals to heaptrack; 0: none
	int door_fd;                 // listen_on_abstract; -1: none
	int segment_fd;              // what is sent to those who connect to it
	_Atomic uint32_t *bell;      // set to 1 and woken at the program's end
	_Atomic uint32_t *heartbeat; // raised every 1.25 s, whatever other threads do
	bool is_attached;            // to a program that ran before
	int program_fd;              // then: its pidfd
	struct control *control;     // or NULL
	struct cells *cells;         // of a tree of processes, or NULL
	uint64_t ends_ns; // if attached: CLOCK_MONOTONIC at which the recording ends; 0: never
};

/** The program's limits at its end (setrlimit); 0: none. */
struct watch_limits {
	uint64_t cpu_s, file_bytes;
	uint64_t memory_bytes; // of its address space or data, the smaller
};

struct watch_end {
	bool is_detached; // the recording ended, the program goes on
	bool is_signaled;
	int status;                 // exit status, or the signal; REC_STATUS_UNKNOWN
	char name[16];              // of the main thread, at the end; empty: unknown
	uint64_t time_ns;           // CLOCK_MONOTONIC
	struct process_usage usage; // CPU time includes its waited-for children's
	uint64_t max_rss_bytes;     // over its life, execs included, by the kernel's count; 0: unknown
	struct watch_limits limits;
};

struct watch;

struct watch *watch_start(const struct watch_params *params, struct err *err);

/** Any thread. True once the program ended; then `out` (may be NULL) is filled. */
bool watch_has_ended(const struct watch *w, struct watch_end *out);

/** Any thread. Wait for that; meanwhile all goes on but answers at the control socket. */
void watch_await(struct watch *w, struct watch_end *out);

/** Any thread. True once heaptrack was asked to exit after the program's end: hurry. */
bool watch_is_hurried(const struct watch *w);

/**
 * The recording's thread only. Another process that asked for the segment, once; 0: none. When many
 * ask at once, some are dropped.
 */
pid_t watch_take_visitor(struct watch *w);

/** End the thread. NULL is allowed. */
void watch_stop(struct watch *w);

// ---- why a process lacks the recorder, found from outside while it lives

struct reason_context {
	const char *recorder; // path of the preloaded library; NULL: none
	const char *segment;  // the variable that names the segment, "NAME=..."; NULL: none

	// private: the last file read, since children tend to run the same one
	struct process_exe file;
	struct launch_elf elf;
};

/** Is the recorder in a process's memory? *why: REC_WHY_NONE unless it is absent. */
enum reason_presence {
	REASON_UNKNOWN, // being loaded, or gone
	REASON_PRESENT,
	REASON_ABSENT,
};
enum reason_presence reason_presence(struct reason_context *c, pid_t pid, enum rec_why *why);

/** Did the program, or a process that it started, start this one? Then it has its variable. */
bool reason_was_started_by(struct reason_context *c, pid_t pid);

// ---- what the program's threads map, by the kernel's records

struct unseen_thread {
	struct perf_event_mmap_page *ring; // NULL: refused, or it gets a processor too often for that
	uint64_t turns, n_maps, time_ns;   // when last looked at; n_maps: since then
	size_t newest;                     // the item that it just mapped, from 1 on; 0: none
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

/** From now on, for all its threads. */
void unseen_open(struct unseen *u, pid_t program, uint64_t start_ns);

/** Call it often: there is room for some 80 mappings per thread. */
void unseen_take(struct unseen *u);

/** A thread is looked at. `is_old`: it has lived long enough to be worth an event. */
void unseen_watch(struct unseen *u, pid_t tid, bool is_old);
void unseen_end(struct unseen *u, pid_t tid);

/** From now on, record which code maps, if tracefs may be read (as root). */
void unseen_ask_for_code(struct unseen *u);

/** Add that code's module to the names, if it is still in these areas. */
void unseen_name(struct unseen *u, const struct smaps *areas);
void unseen_finish(struct unseen *u);

// ---- why the program ended, beyond its status
//
// The kernel killed it for lack of memory, or it reached a limit (ulimit). A parent is told
// neither, but control groups count kills, and limits can be read until the process is reaped.

struct ending {
	struct cgroup group;
	uint64_t limit_bytes; // of the group's memory; 0: none
	bool counts_kills;
	uint64_t kills, rose_ns; // as of the last look, and when a look saw more than the one before
	uint64_t next_use_ns;    // when to check the usage again
	uint64_t most_bytes;     // used when ending_is_near was last true
	bool is_close;           // more than half is used
};

/** Look at the program's control group; call it from time to time while it runs. */
void ending_look(struct ending *e, pid_t program, uint64_t now_ns);

/** Is the limit nearly used up, more than ever, so that the kernel may kill soon? Call it often. */
bool ending_is_near(struct ending *e, uint64_t now_ns);

/** The program ended, and `n_failed` of its allocations had failed: fill in meta's end. */
void ending_judge(struct ending *e, const struct watch_end *end, uint64_t end_ns, uint64_t n_failed,
		struct rec_meta *meta);

// ---- which program the process runs, found from outside
//
// After an exec, a recorder loaded into the new program announces it; without one (emptied
// environment, static program), the process's file differs from the last announced one. Missed are
// a program that lives for less than the interval between two checks (the last recorder noted the
// call: exec_ns) and, without address randomization, an exec of the same file with the same
// arguments and environment.

struct exec_watch {
	/** Has that image announced a module of this name, so that it ran that file? */
	bool (*has_module)(void *user, uint32_t image, const char *name);
	void *user;

	// The program that the process runs
	struct process_exe exe;
	char path[4096];
	uint64_t since_ns;             // when first seen, in the recording's time
	enum reason_presence presence; // of the recorder in its memory; the owner sets it

	// private
	char previous[4096];  // the program before it
	uint32_t n_programs;  // seen so far
	uint32_t n_announced; // images announced when `previous` was last seen
	uint32_t n_last;      // images announced when this one was last seen
	uint64_t looked_ns;   // when last looked at
	bool is_judged, is_told;
};

/** Before the first look: the file that the process runs, or (not `is_running`) will run first. */
void exec_watch_init(struct exec_watch *w, const char *path, pid_t pid, bool is_running);

enum exec_news {
	EXEC_NOTHING_NEW,
	EXEC_UNRECORDED, // `path` is, since `since_ns`, a program that did not announce itself
	EXEC_RECORDED,   // what was called unrecorded announced itself after all
};

/**
 * Check at most once per ms, and ever less often, down to once in 20 ms, unless another program
 * announced itself. `n_images`: how many images announced themselves, read just before. A program
 * gets 10 s to load before it is called unrecorded.
 */
enum exec_news exec_watch_look(struct exec_watch *w, pid_t pid, uint32_t n_images, uint64_t now_ns);

/** The process ended: was its last program unrecorded, and not yet reported? */
bool exec_watch_end(const struct exec_watch *w, uint32_t n_images);

// ---- processes that the program started and that are not recorded
//
// Those with the recorder announce themselves in the segment's table (docs/wire.md). Others are
// searched for among the program's descendants and, for daemons, among all processes with its
// variable in their environment; their size and execs are read from outside. A process without the
// recorder that lives for less than the search interval (10 to 250 ms) is missed.

enum { CHILD_EXE = sizeof((struct wire_child *)0)->exe, CHILDREN_MAX = 4096 };

struct child {
	uint32_t pid;         // in our namespace; 0: not found: gone, or never seen
	uint32_t pid_inside;  // in its own pid namespace,
	uint32_t pid_space;   // which has this inode; 0: unknown
	uint64_t start_ticks; // with the pid, it identifies a process
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
 * Check the segment's table and the live processes, every 10 ms at first and every 250 ms later,
 * less often if there are many; at once when one announces itself. `is_recorded`: the program
 * itself is recorded, so its forks announce themselves.
 */
void children_take(struct children *c, struct segment_header *header, bool is_recorded,
		uint64_t now_ns);

/** The same at the end, at once, with a last search for daemons. */
void children_take_last(struct children *c, struct segment_header *header, uint64_t now_ns);

/** What has announced itself in another segment's table. */
void children_read(struct children *c, struct segment_header *header);

/** A process with the recorder wanted to announce itself but could not reach the segment. */
void children_note(struct children *c, pid_t pid);

struct children_counts {
	uint64_t forked, executed;
};
struct children_counts children_counts(const struct children *c,
		const struct segment_header *header);

// ---- samples of resident memory, faults and threads of the process, from outside
//
// Frequent at first, every 250 ms later, every 2 s when idle. In a long run older ones are thinned
// out, except the highest.

struct samples {
	VEC(struct rec_sample);
	uint64_t next_ns;                          // in the recording's time: when to take the next
	uint64_t min_gap_ns;                       // doubles with each thinning
	uint64_t peak_rss_bytes, peak_rss_time_ns; // the kernel's high-water mark
	uint64_t code_bytes;                       // of the last one
	uint32_t seccomp_mode;
};

/** How much of a process's memory is ours. */
uint64_t samples_ours(const struct segment *segment, const struct process_memory *memory);

/** Take one, when next_ns is reached. False: there is none, as the process has ended. */
bool samples_take(struct samples *s, pid_t pid, uint64_t now_ns, bool is_idle, uint64_t heap_bytes,
		const struct segment *segment);

// ---- allocators that are not recorded (docs/recorder.md)
//
// Boehm's garbage collector, Go's and, if the recorder is preloaded, a second C library (dlmopen)
// and a library's own allocator. Found by checking the program's mappings from time to time; an
// injected recorder hooks all but the first two.

struct own_heaps {
	uint64_t code_bytes; // executable mappings of the program at the last check
	uint64_t next_ns;    // the earliest time of the next check
	VEC(uint64_t) seen;  // inodes of the files checked
	bool has_second_libc, has_collector, has_go;
	void (*tell)(void *user, const char *module, const char *functions, uint32_t n,
			const char *why);
	void *user;
};

/** `code_bytes`: of the program's executable mappings. If it is unchanged, nothing is checked. */
void own_heaps_look(struct own_heaps *o, pid_t program, bool is_preloaded, uint64_t code_bytes,
		uint64_t now_ns);

/** A module that is a garbage collector or may be its library: no call shows what that frees. */
void own_heaps_meet(struct own_heaps *o, const char *path, bool is_collector);
