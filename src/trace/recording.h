// SPDX-License-Identifier: MIT
#pragma once
/**
 * A recording in memory: the tables of a trace file, which the engine's aggregate fills while
 * recording and from which every answer is computed. Plain columns and ids, no behaviour.
 * docs/trace-format.md has the layout of each table in a file. All memory belongs to `arena`;
 * recording_finish frees it. Ids are indices into the tables. Id 0 of strings, locations, nodes,
 * threads and modules means "none" (for nodes: the empty stack) and always exists. Times are ns
 * since the start of the recording.
 */

#include "base/base.h"

enum rec_ended {
	REC_STILL_RUNNING = 0, // recording goes on, or its collector died: see is_complete
	REC_EXITED = 1,        // exit_status: the program's, if known
	REC_SIGNALED = 2,      // exit_status: the signal's number
	REC_DETACHED = 3,      // the program went on unrecorded
};

enum { REC_STATUS_UNKNOWN = -1 }; // of an attached program, before Linux 6.15

/** Why it ended, as far as known. */
enum rec_end_reason {
	REC_END_PLAIN = 0,
	REC_END_MEMORY = 1, // the kernel killed it for memory; end_limit: its control group's, 0: none
	REC_END_LIMIT =
			2, // it reached the limit end_limit: of file size after SIGXFSZ (bytes), of CPU time
			   // after SIGXCPU and SIGKILL (seconds), else of memory (bytes)
};

enum rec_source {
	REC_LAUNCHED = 0,
	REC_ATTACHED = 1,
	REC_IMPORTED = 2,
	REC_FROM_KDE = 3, // imported from KDE's heaptrack, with its own definition of "temporary"
};

/** Numbers that an imported file may lack: bits of recording.missing. */
enum rec_number {
	REC_ALLOCATIONS = 1 << 0, // their number, in summary and stacks
	REC_ALLOCATED_BYTES = 1 << 1,
	REC_TEMPORARY = 1 << 2, // and short_lived
	REC_PEAK_BLOCKS = 1 << 3,
	REC_PEAK_BYTES = 1 << 4, // and its time
	REC_LIVE_BLOCKS = 1 << 5,
	REC_LIVE_BYTES = 1 << 6,
	REC_TIME = 1 << 7, // the duration
};

/** What is known of the blocks from before an attach. */
enum rec_old {
	REC_OLD_KNOWN = 0, // or not attached
	REC_OLD_LATE,      // copying the program's memory takes longer than max_pause_ns,
	REC_OLD_OFF,       // or is not allowed at all,
	REC_OLD_REFUSED,   // or the kernel refused it;
	REC_OLD_NOT_FOUND, // the copy has no heap of glibc's malloc
	REC_OLD_TREE,      // nobody looks for those of a tree of processes
};

/** Who and when. Strings are ids into `strings`. */
struct rec_meta {
	uint32_t exe, cwd, host;     // as the program saw them
	uint32_t argv_first, n_argv; // consecutive string ids
	uint32_t pid;
	uint32_t n_cpus;
	uint32_t page_bytes;
	uint64_t system_memory_bytes;
	uint64_t memory_limit_bytes; // of its control group; 0: none
	uint64_t wall_start_ns;      // since the Unix epoch
	uint64_t duration_ns;        // from the first to the last moment recorded
	uint64_t written_ns;         // when this state was written, for a file that still grows
	uint8_t source;              // enum rec_source
	uint8_t ended;               // enum rec_ended
	uint8_t is_complete;         // the collector ended normally
	uint8_t has_free_stacks;
	int32_t exit_status; // REC_STATUS_UNKNOWN: of a program that is not heaptrack's child
	uint32_t n_images;   // programs that this process was, one after another
	uint32_t version;    // string: of the heaptrack that wrote it
	uint64_t end_reason; // enum rec_end_reason
	uint64_t end_limit;
	uint32_t old_unknown;  // enum rec_old
	uint32_t called;       // string: the link to `exe` by which it was started; 0: none or alike
	uint64_t max_pause_ns; // allowed for copying its memory at an attach

	// Not in the file: set when it is opened
	int64_t wall_offset_s; // local time at the start, relative to UTC
	bool was_attached;     // to a running program, by KDE's heaptrack
	uint8_t time_unit;     // 0: moments are ns; 'i': instructions; 'B': bytes
};

/** Totals, exact for the whole recording. */
struct rec_summary {
	uint64_t allocations, allocated_bytes; // including realloc's new blocks
	uint64_t frees;                        // including realloc's old blocks
	uint64_t reallocs;                     // of the allocations
	uint64_t temporary;                    // freed before their thread's next allocation
	uint64_t short_lived; // churn: freed within 16 allocations of their thread or 1 ms
	uint64_t failed;      // calls that returned no block
	uint64_t peak_bytes, peak_blocks, peak_time_ns;
	uint64_t peak_low_bytes, peak_high_bytes;  // bounds, if not exact; else both 0
	uint64_t live_bytes, live_blocks;          // never freed
	uint64_t left_bytes, left_blocks;          // of these, by ended processes
	uint64_t gone_at_exec, gone_at_exec_bytes; // blocks that ended with their image: neither freed
											   // nor live; allocations = frees + live + gone
	uint64_t mapped_peak_bytes, mapped_peak_time_ns, never_unmapped_bytes; // by calls that map
	uint64_t peak_rss_bytes, peak_rss_time_ns;
	uint64_t minor_faults, major_faults;
	uint64_t user_cpu_ns, system_cpu_ns; // of the program, as far as known
	uint64_t old_blocks, old_bytes; // found at the attach: usable sizes, not in any figure above
	uint64_t old_freed_blocks, old_freed_bytes;   // of them, freed since
	uint64_t suppressed_blocks, suppressed_bytes; // engine/suppress.h: counted as freed; in no file
};

/** What the numbers above lack. All zero: nothing. */
struct rec_quality {
	uint64_t lost_events;        // could not be recorded (rings full too long, no slot, too early)
	uint64_t truncated_stacks;   // outer callers unknown
	uint64_t abandoned_hooks;    // interrupted by a jump between number and event
	uint64_t skipped_numbers;    // entries that dead threads never published
	uint64_t unknown_frees;      // of blocks never seen, and not among summary.old_blocks
	uint64_t double_allocations; // an address returned twice: a free was missed
	uint64_t time_corrections;   // labels raised to keep time from decreasing
	uint64_t children_forked, children_executed; // processes that were not recorded
	uint64_t detail_ends_ns;     // > 0: only totals after this (disk or memory limit)
	uint64_t events_dropped;     // --events: single events dropped by the budget
	uint64_t looks_refused;      // looks at memory that the kernel refused
	uint64_t marks_dropped;      // named moments without room
	uint64_t runtime_mismatches; // stacks with native frames instead of a runtime's own
	uint8_t clock_is_not_tsc;
	uint8_t recording_stopped_early; // the collector or a limit ended it before the program
	uint64_t stopped_ns;             // the last event's time, then
};

struct rec_module {
	uint64_t start, end; // addresses in the program
	uint64_t bias;       // address = bias + address in the file
	uint32_t path;       // string
	uint32_t image;      // 1 ..
	uint32_t package;    // string: Debian or npm package if known, for advice; usually 0
	uint8_t build_id[32];
	uint8_t build_id_bytes;
	uint8_t has_symbols;   // any name was found in it
	uint8_t has_lines;     // any line was found in it
	uint8_t is_unresolved; // its file could not be opened, or has another build id
	uint8_t kind; // 0: a file. Functions of a runtime: 1 a compiler, 2 V8, 3 Python, 4 Ruby
	uint32_t suppressions; // string: its built-in rules (engine/suppress.h); 0: none
};

/** A place in code: a program counter in a module. */
struct rec_location {
	uint64_t pc;          // the return address, or the interrupted one if is_exact
	uint32_t module;      // 0: unknown or generated code
	uint32_t first_frame; // into `frames`; its n_frames frames are innermost first
	uint16_t n_frames;    // 0: no name (yet). The last is the function, the others inlined in it
	uint8_t is_exact;
	uint8_t is_mark; // not code: "outer frames unknown" (pc 1), or of blocks from before an attach
};

struct rec_frame {
	uint32_t function;  // string: for display
	uint32_t symbol;    // string: as in the symbol table, mangled; 0 for inlined frames without one
	uint32_t file;      // string; 0: unknown
	uint32_t line;      // 0: unknown
	uint32_t allocates; // string: the type that its call allocates; 0: unknown
};

struct rec_node {
	uint32_t parent; // the caller's node; smaller than the node's own id
	uint32_t location;
};

/** A stack that allocated. Several threads that allocate at one node have several rows. */
struct rec_stack {
	uint32_t node;
	uint32_t thread;     // the allocating thread; 0: any, threads are not distinguished here
	uint32_t usual_size; // the first size seen
	uint32_t command;    // row of commands; 0: none, or not distinguished
	uint64_t allocations, allocated_bytes;
	uint64_t temporary, temporary_bytes, short_lived;
	uint64_t peak_blocks, peak_bytes; // at the moment of the peak
	uint64_t live_blocks, live_bytes; // never freed
	uint64_t left_blocks, left_bytes; // of these, by ended processes
	uint64_t reallocs;                // of its allocations
	uint64_t first_ns, last_ns;       // first and last allocation
};

/** Add the values of another stack; node, thread and usual size stay. */
void rec_stack_add(struct rec_stack *sum, const struct rec_stack *s);

enum { REC_LIFETIMES = 16 };

/**
 * Freed blocks of a stack by log4 of their lifetime (< 1 us, < 4 us, ...); not by exec; saturating.
 */
struct rec_lifetimes {
	uint32_t blocks[REC_LIFETIMES];
};

/**
 * An edge of the time axis: the moment of its period's largest heap, with exact values at time_ns.
 * Periods are contiguous; edge k's ends at end_ns. A block lives at edge k if from <= k < until.
 */
struct rec_edge {
	uint64_t time_ns, end_ns;
	uint64_t bytes, blocks;                // live at time_ns
	uint64_t min_bytes;                    // smallest heap within the period
	uint64_t allocations, allocated_bytes; // until time_ns
	uint64_t temporary;                    // until time_ns
};

enum { REC_NEVER = 0xffff };

/**
 * Blocks of one stack that came between edges from - 1 and from and went between until - 1 and
 * until. from == until: no edge saw them. Both may be edges.n: after the last edge.
 */
struct rec_interval {
	uint32_t stack;       // index into stacks
	uint16_t from, until; // edges; until = REC_NEVER: never freed
	uint32_t count;
	uint32_t temporary;
	uint64_t bytes;
};

/** A compact interval. Use recording_interval and recording_set_interval. */
struct rec_interval_row {
	uint32_t stack;
	uint16_t from, until;
	uint16_t count; // REC_WIDE: the numbers are in wide.items[bytes]
	uint16_t temporary;
	uint32_t bytes;
};

enum { REC_WIDE = 0xffff };

/** Numbers that do not fit in an interval's row. */
struct rec_wide {
	uint64_t bytes;
	uint32_t count, temporary;
};

/** A stack that mapped, with exact values over the whole recording. */
struct rec_mapping {
	uint32_t node;
	uint32_t command;  // row of commands; 0: none
	uint8_t is_inside; // called by an allocation function for its own memory
	uint64_t maps, mapped_bytes;
	uint64_t peak_maps, peak_bytes; // at the moment of the peak of all mapped bytes
	uint64_t live_maps, live_bytes; // never unmapped
	uint64_t first_ns, last_ns;
};

/** What a stack's calls gave back, locked and so on (enum wire_change of wire/event.h). */
struct rec_change {
	uint32_t node;
	uint8_t what;
	uint8_t is_inside;     // called by an allocation function, at least once
	uint64_t calls, bytes; // of addresses, resident or not
	uint64_t first_ns, last_ns;
};

/** Pages that are still mapped. */
struct rec_range {
	uint64_t start, end; // addresses in the program
	uint64_t born_ns;
	uint32_t mapping; // index into mappings: the stack that mapped them
	uint8_t sort;     // wire_map_sort() of wire/event.h
};

/** When a look was taken. */
enum rec_look_at {
	REC_AT_END = 0,
	REC_AT_RSS_PEAK = 1,
	REC_AT_DETACH = 2,
	REC_AT_REQUEST = 3,
	REC_AT_TIMER = 4,
	REC_AT_TRIGGER = 5,
	REC_AT_SIZES = 6,
	REC_ATS,
};

/** What was read for a look. */
enum rec_look_has {
	REC_HAS_SIZES = 1 << 0,  // of each mapping
	REC_HAS_PAGES = 1 << 1,  // which pages are resident; else areas are not divided
	REC_HAS_GRAPH = 1 << 2,  // what points to each live block
	REC_HAS_TYPES = 1 << 3,  // of live blocks
	REC_HAS_BLOCKS = 1 << 4, // all live blocks; else the heap is one part, REC_PART_HEAP
	REC_HAS_MAKERS = 1 << 5, // calls that map were recorded
};

/** The process seen from outside at one moment, with an owner for each resident page. */
struct rec_look {
	uint64_t time_ns;
	uint64_t rss_bytes;                   // the sum of its parts
	uint64_t swap_bytes;                  // not in rss_bytes
	uint64_t changed_bytes;               // about what came or went during the look
	uint64_t cost_ns;                     // CPU time of the reader
	uint64_t huge_bytes, huge_free_bytes; // in huge pages; at most that much of them is free heap
	uint32_t pid;
	uint32_t n_inside; // threads that were inside an allocation function
	uint8_t at;        // enum rec_look_at
	uint8_t has;       // bits of enum rec_look_has
};

enum rec_part_id {
	REC_PART_HEAP_LIVE = 0,
	REC_PART_HEAP_ROUNDING = 1,
	REC_PART_HEAP_PARTLY_FREE = 2,
	REC_PART_HEAP_FREE = 3,
	REC_PART_ALLOCATOR_TABLES = 4,
	REC_PART_MAPPED = 5,
	REC_PART_STACKS = 6,
	REC_PART_MODULES_WRITTEN = 7,
	REC_PART_FILES = 8,
	REC_PART_SHARED = 9,
	REC_PART_OURS = 10,
	REC_PART_UNKNOWN = 11,
	REC_PART_HEAP = 12, // instead of the first four, if blocks or pages are not known
	REC_PARTS,
};

/** A part of a look's RSS, or what one maker, module or file has of it. Ordered by look. */
struct rec_part {
	uint64_t resident_bytes;
	uint64_t asked_bytes;     // of REC_PART_HEAP_LIVE: of all live blocks
	uint64_t lazy_free_bytes; // given back by MADV_FREE but not yet reclaimed
	uint32_t look;
	uint32_t mapping; // 1 + index into mappings; 0: no stack is known
	uint32_t name;    // string: of a module, file or mapping; 0: none
	uint8_t part;     // enum rec_part_id
};

/** What was in memory of a stack's live blocks at a look. Ordered by look. */
struct rec_untouched {
	uint64_t asked_bytes, resident_bytes;
	uint64_t pinned_bytes; // free on the same pages
	uint32_t look, stack;  // index into stacks
	uint32_t blocks;
};

/**
 * glibc's [heap]; its large blocks with a mapping each; another arena, or the part of one (or of
 * another allocator's memory) within 64 MiB of addresses; all others.
 */
enum rec_arena { REC_ARENA_MAIN, REC_ARENA_BLOCKS, REC_ARENA_AT, REC_ARENA_REST, REC_ARENAS };
enum { REC_FULLNESS = 11 };

/** How much of an arena's resident pages was live at a look. Ordered by look. */
struct rec_fullness {
	uint64_t start;      // of REC_ARENA_AT: address
	uint64_t live_bytes; // as asked for
	uint32_t look;
	uint32_t pages[REC_FULLNESS]; // [0] without a live byte; [k] up to k tenths live
	uint8_t kind;                 // enum rec_arena
};

/** What pointed to a live block at a look (engine/graph.h). */
enum rec_grade_id {
	REC_HELD = 0,        // a pointer to its start
	REC_HELD_INSIDE = 1, // only to its inside
	REC_DISGUISED = 2,   // with other bits set, at an odd address, or the kernel's
	REC_UNREACHABLE = 3, // nothing
	REC_OWNED = 4,       // only unreachable blocks
	REC_CYCLE = 5,       // leads to itself; stands for its cycle, whose others are REC_OWNED
	REC_GRADES,
};

/** Blocks of a stack of one grade and class. Ordered by look, stack and grade. */
struct rec_grade {
	uint64_t blocks, bytes;
	uint64_t owned_blocks, owned_bytes; // REC_OWNED ones reached from these, each counted once
	uint32_t look, stack;               // index into stacks
	uint32_t class;                     // 1 + index into classes; 0: not known
	uint8_t grade;
};

enum rec_holder_kind {
	REC_HOLDER_GLOBAL,       // a variable of a module, or some of its data
	REC_HOLDER_THREAD_LOCAL, // a thread's variables
	REC_HOLDER_MAPPING,      // other mapped memory
	REC_HOLDER_STACK,        // a thread's stack and registers: what nothing else holds
	REC_HOLDER_DISGUISE,     // pointers in disguise (REC_DISGUISED), anywhere
	REC_HOLDER_SEVERAL,      // roots, none of which holds it alone
	REC_HOLDER_BLOCKS,       // of a stack
	REC_HOLDER_REST,         // blocks of stacks that hold little
	REC_HOLDER_KINDS,
};

/** What holds live blocks: they are not reached without it. Ordered by look; `above` first. */
struct rec_holder {
	uint64_t blocks, bytes;                   // for blocks: these
	uint64_t retained_blocks, retained_bytes; // with all below
	uint32_t look, above;                     // 1 + index of its holder; 0: a root
	uint32_t name;                            // string; 0 for blocks of a stack
	uint32_t file, line;                      // where a variable is declared: string, 0: unknown
	uint32_t stack;                           // of blocks: index into stacks
	uint32_t mapping; // of mapped memory: 1 + index into mappings; 0: no known stack
	uint32_t longest; // of blocks: the longest chain of them, as in a list
	uint32_t node;    // represents it, below the node of `above` (engine/memory.h); 0: none
	uint8_t kind;     // enum rec_holder_kind
};

/**
 * What blocks were: all of a C++ class, among the graded blocks; or those of a stack, among some
 * 2,000 whose type was examined. Ordered by look.
 */
struct rec_class {
	uint64_t bytes;
	uint64_t retained_bytes; // C++: of held blocks, what could not be reached without them
	uint64_t objects;        // C++: in blocks of many objects, which count nowhere else
	uint32_t look, node;     // of the stack; 0: unknown
	uint32_t name;           // string: of their type; 0: not known
	uint32_t blocks;
	uint32_t kind; // enum rec_class_kind
};
enum rec_class_kind { REC_CLASS_PYTHON, REC_CLASS_NIM, REC_CLASS_CPP, REC_CLASS_KINDS };

/** The control group with the process's smallest memory limit, at a look. */
struct rec_group {
	uint64_t time_ns; // of the look
	uint64_t limit_bytes, used_bytes;
	uint64_t anonymous_bytes, file_bytes;  // file: page cache, including shared memory
	uint64_t shared_bytes, inactive_bytes; // of file_bytes; inactive: can be reclaimed
	uint64_t kernel_bytes, swap_bytes;
	uint64_t limit_hits; // how often the limit was reached
	uint64_t own_bytes;  // anonymous memory of the process itself
};

/** How many allocations of a stack had a size. Ordered by stack, then size. */
struct rec_size {
	uint32_t stack;
	uint32_t is_class; // 0: exactly `size`; 1: size .. 2 * size - 1 (for stacks with many sizes)
	uint64_t size;
	uint64_t count, bytes;
	uint64_t live; // never freed
};

struct rec_thread {
	uint32_t tid;
	uint32_t image;
	uint32_t name;     // string
	uint32_t n_merged; // > 0: represents this many short threads of one name
	uint64_t first_ns, last_ns;
	uint64_t allocations, allocated_bytes, frees, temporary;
	uint64_t live_bytes, peak_bytes; // of its blocks: never freed; at the global peak
	uint64_t foreign_frees;          // of its blocks, by other threads
};

/** Blocks allocated by one thread and freed by another. */
struct rec_handover {
	uint32_t from, to; // threads
	uint64_t blocks, bytes;
};

/** Periodic measurements of the process from outside. */
struct rec_sample {
	uint64_t time_ns;
	uint64_t rss_bytes, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
	uint64_t ours_bytes; // the recorder's: its segment, and private memory of its trie
	uint64_t heap_bytes; // live at that moment, as recorded
	uint64_t minor_faults, major_faults;
	uint64_t pss_bytes; // with shared pages divided among those that map them; 0: not read
	uint32_t n_threads;
};

/** Why the recorder is not in a process or image. */
enum rec_why {
	REC_WHY_NONE = 0,        // of a child: it is there, but children are not recorded; else unknown
	REC_WHY_UNKNOWN = 1,     // could not be found out
	REC_WHY_STATIC = 2,      // nothing can be preloaded
	REC_WHY_STRIPPED = 3,    // also without symbols, so that its allocator cannot be found
	REC_WHY_32_BIT = 4,      //
	REC_WHY_RIGHTS = 5,      // its file grants rights: set-uid, set-gid, capabilities
	REC_WHY_ROOT = 6,        // another root directory, or mounts without the recorder
	REC_WHY_ENVIRONMENT = 7, // LD_PRELOAD or the segment's variable was missing
	REC_WHY_PRELOAD = 8,     // LD_PRELOAD was replaced
	REC_WHY_VALGRIND = 9,    // it runs under valgrind
	REC_WHY_PARENT = 10,     // its parent has an injected recorder, which is not inherited
	REC_WHY_REFUSED = 11,    // heaptrack could not attach to it
	REC_WHYS,
};

struct rec_child {
	uint32_t pid;
	uint32_t name; // string
	uint32_t exe;  // string
	uint8_t is_fork;
	uint8_t why;             // enum rec_why
	uint64_t peak_rss_bytes; // as far as seen
};

struct rec_image {
	uint32_t exe;          // string
	uint8_t is_unrecorded; // without the recorder: its allocations are missing
	uint8_t is_too_narrow; // for lack of address space (ulimit -v)
	uint8_t why;           // enum rec_why
	uint32_t process;      // row of processes; 0: there are none
	uint64_t time_ns;
};

/**
 * A process of a tree, in order of joining; the first is the one that heaptrack started. What a
 * copy (fork) inherited is not its allocation.
 */
struct rec_process {
	uint32_t pid;
	uint32_t parent;           // row; 0: not recorded
	uint32_t command;          // row of commands: its last one
	int32_t exit_status;       // 128 + N: ended by signal N; REC_STATUS_UNKNOWN
	uint64_t start_ns, end_ns; // end 0: still running
	uint64_t allocations, allocated_bytes, temporary;
	uint64_t peak_bytes, peak_time_ns;
	uint64_t live_bytes, live_blocks;           // never freed
	uint64_t inherited_bytes, inherited_blocks; // live in its parent at the fork
	uint64_t inherited_freed;                   // inherited blocks that it freed or reallocated
	uint64_t dirtied_bytes; // pages shared with its parent at first, no longer; 0: none seen
	uint64_t peak_rss_bytes, pss_bytes, pss_time_ns; // at the last samples with either; 0: none
};

/** A file that processes executed. Row 0 is none. */
struct rec_command {
	uint32_t name; // string
	uint32_t exe;  // string
	uint32_t n_processes;
};

/** A moment that the program named. */
struct rec_mark {
	uint64_t time_ns;
	uint32_t name; // string
};

/**
 * Functions of one module that allocate or free, and were hooked, or could not be, by an injected
 * recorder. A preloaded one hooks whatever others call, and lists only what it missed.
 */
struct rec_allocator {
	uint32_t module;    // string: its path
	uint32_t functions; // string: their names, separated by ", "
	uint32_t why;       // string: why they could not be hooked; 0: they were
	uint32_t n_functions;
};

/** A stack's never freed blocks that a rule covers; in none of its figures. Never in a file. */
struct rec_suppressed {
	uint32_t stack;
	uint64_t blocks, bytes, left_bytes; // the last by ended processes, as of a stack
};

#define REC_TABLE(type) \
	struct {            \
		type *items;    \
		uint32_t n;     \
	}

struct recording {
	struct arena arena;
	struct rec_meta meta;
	struct rec_summary summary;
	struct rec_quality quality;
	uint32_t missing; // enum rec_number: what an imported file lacks. These fields hold the least
					  // consistent values and are never shown. 0 in our files
	uint8_t of;       // enum metric_of: what stacks, edges and intervals count. Never in a file
	REC_TABLE(struct slice) strings;
	REC_TABLE(struct rec_module) modules;
	REC_TABLE(struct rec_location) locations;
	REC_TABLE(struct rec_frame) frames;
	REC_TABLE(struct rec_node) nodes;
	REC_TABLE(struct rec_stack) stacks;
	REC_TABLE(struct rec_lifetimes) lifetimes; // per stack; empty: no stack has any
	REC_TABLE(struct rec_edge) edges;
	REC_TABLE(struct rec_edge) curve; // of the whole, finer than edges; empty: as the edges
	REC_TABLE(struct rec_interval_row) intervals;
	REC_TABLE(struct rec_wide) wide;
	REC_TABLE(struct rec_size) sizes;
	REC_TABLE(struct rec_thread) threads;
	REC_TABLE(struct rec_handover) handovers;
	REC_TABLE(struct rec_sample) samples;
	REC_TABLE(struct rec_child) children;
	REC_TABLE(struct rec_image) images;
	REC_TABLE(struct rec_mark) marks; // by time
	REC_TABLE(struct rec_allocator) allocators;
	REC_TABLE(struct rec_process) processes; // row 0 is none; empty: one process
	REC_TABLE(struct rec_command) commands;
	REC_TABLE(struct rec_edge) mapping_edges; // as edges, for mapped bytes; empty: not recorded
	REC_TABLE(struct rec_mapping) mappings;
	REC_TABLE(struct rec_interval) mapping_intervals; // of mappings, between mapping_edges
	REC_TABLE(struct rec_range) ranges;               // by rising address
	REC_TABLE(struct rec_change) changes;
	REC_TABLE(struct rec_look) looks; // by time
	REC_TABLE(struct rec_part) parts;
	REC_TABLE(struct rec_untouched) untouched;
	REC_TABLE(struct rec_fullness) fullness;
	REC_TABLE(struct rec_class) classes;
	REC_TABLE(struct rec_grade) grades;
	REC_TABLE(struct rec_holder) holders;
	REC_TABLE(struct rec_group) groups;          // of looks that have one, by time
	REC_TABLE(struct rec_suppressed) suppressed; // heaviest first
};

/** Is it of several processes, whose resident memory is a sum with shared pages in each? */
static inline bool recording_is_tree(const struct recording *r) {
	return r->processes.n > 2;
}

/** The sample with the most Pss, where that was read of all processes of a tree; or NULL. */
const struct rec_sample *recording_most_pss(const struct recording *r);

/** Fill a table with a copy of `count` items. False: beyond the arena's max_bytes. */
#define RECORDING_PUT(r, table, from, count)                             \
	((r)->table.n = (uint32_t)(count),                                   \
			((r)->table.items = arena_copy(&(r)->arena, (from), (count), \
					 sizeof *(r)->table.items)) != NULL)

/** Make a table of `count` zeroed rows. False: beyond the arena's max_bytes. */
#define RECORDING_ROOM(r, table, count)                                                  \
	(((r)->table.items = arena_alloc(&(r)->arena, (count), sizeof *(r)->table.items)) && \
			((r)->table.n = (uint32_t)(count), true))

/**
 * Checks that every id points into its table, parents come before children, edges and periods rise,
 * and sums agree with the summary (stacks' peak with peak_bytes, and so on). `why` (may be NULL)
 * gets the first violation. Readers check every file.
 */
struct err;
bool recording_is_valid(const struct recording *r, struct err *why);

/** Saturating addition. */
static inline void rec_lifetimes_add(struct rec_lifetimes *a, const struct rec_lifetimes *b) {
	for (int i = 0; i < REC_LIFETIMES; i++) {
		if (__builtin_add_overflow(a->blocks[i], b->blocks[i], &a->blocks[i])) {
			a->blocks[i] = UINT32_MAX;
		}
	}
}

/** Row of processes; 0: there are none, or it stands for threads of several. */
static inline uint32_t rec_thread_process(const struct recording *r, uint32_t thread) {
	const uint32_t image = r->threads.items[thread].image - 1u;
	return image < r->images.n ? r->images.items[image].process : 0;
}

static inline struct rec_interval rec_interval_of(const struct rec_interval_row *row,
		const struct rec_wide *wide) {
	struct rec_interval v = {
			FIELDS_OF(row, stack, from, until, count, temporary, bytes),
	};
	if (UNLIKELY(row->count == REC_WIDE)) {
		const struct rec_wide *w = &wide[row->bytes];
		COPY_FIELDS(&v, w, count, temporary, bytes);
	}
	return v;
}

static inline struct rec_interval recording_interval(const struct recording *r, uint32_t i) {
	return rec_interval_of(&r->intervals.items[i], r->wide.items);
}

/** Set row i, for which there is room. False: beyond the arena's max_bytes. */
bool recording_set_interval(struct recording *r, uint32_t i, const struct rec_interval *v);

void recording_finish(struct recording *r);

/** Make it empty but keep its memory, for a recording of about the same size: arena_reset. */
void recording_reset(struct recording *r);
