// SPDX-License-Identifier: MIT
#pragma once
/**
 * A recording in memory: the tables that a trace file holds, that the engine's aggregate
 * fills while recording and that every answer is computed from. Plain columns and ids, no
 * behaviour. docs/trace-format.md says how each table lies in a file.
 *
 * All memory belongs to `arena`; recording_finish frees it. Ids are indices into the tables. Id 0
 * of strings, locations, nodes, threads and modules means "none" (for nodes: the empty stack) and
 * is always there. Times are ns since the start of the recording.
 */

#include "base/base.h"

enum rec_ended {
	REC_STILL_RUNNING = 0, // the recording goes on, or its collector died: see is_complete
	REC_EXITED = 1,        // exit_status is the program's exit status, if it is known
	REC_SIGNALED = 2,      // exit_status is the signal's number
	REC_DETACHED = 3,      // the program went on without us
};

enum { REC_STATUS_UNKNOWN = -1 }; // of a program that heaptrack attached to, before Linux 6.15

/** Why it ended so, as far as that is known. */
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
	REC_FROM_KDE = 3, // imported from KDE's heaptrack: "temporary" is by its own definition
};

/** Numbers that an imported file may not know: bits of recording.missing. */
enum rec_number {
	REC_ALLOCATIONS = 1 << 0, // how many, in summary and stacks
	REC_ALLOCATED_BYTES = 1 << 1,
	REC_TEMPORARY = 1 << 2, // and short_lived
	REC_PEAK_BLOCKS = 1 << 3,
	REC_PEAK_BYTES = 1 << 4, // and when it was
	REC_LIVE_BLOCKS = 1 << 5,
	REC_LIVE_BYTES = 1 << 6,
	REC_TIME = 1 << 7, // how long it ran
};

/** What is known of the blocks that a program had when it was attached to. */
enum rec_old {
	REC_OLD_KNOWN = 0, // or it was not attached to
	REC_OLD_LATE,      // its memory was not copied: that takes longer than max_pause_ns,
	REC_OLD_OFF,       // or nobody wanted it,
	REC_OLD_REFUSED,   // or the kernel did not;
	REC_OLD_NOT_FOUND, // it was, and has no heap of glibc's malloc
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
	uint64_t duration_ns;        // first to last moment recorded
	uint64_t written_ns;         // the moment this state was written, for a file that still grows
	uint8_t source;              // enum rec_source
	uint8_t ended;               // enum rec_ended
	uint8_t is_complete;         // written by a collector that ended in order
	uint8_t has_free_stacks;
	int32_t exit_status; // REC_STATUS_UNKNOWN: of a program that is not heaptrack's child
	uint32_t n_images;   // programs that this process was, one after the other
	uint32_t version;    // string: of the heaptrack that wrote it
	uint64_t end_reason; // enum rec_end_reason
	uint64_t end_limit;
	uint32_t old_unknown; // enum rec_old
	uint32_t called; // string: the link to `exe` by which it was started; 0: none, or called alike
	uint64_t max_pause_ns; // that the user allowed for copying its memory, when it was attached to

	// Not in the file: set by who opens it
	int64_t wall_offset_s; // the reader's clock at the start less UTC
	bool was_attached;     // to a running program, by KDE's heaptrack
	uint8_t time_unit;     // 0: moments are ns; 'i': they are instructions; 'B': bytes
};

/** Totals, exact for the whole recording. */
struct rec_summary {
	uint64_t allocations, allocated_bytes; // blocks handed out, realloc's included
	uint64_t frees;                        // blocks given back, realloc's old ones included
	uint64_t reallocs;                     // of the allocations, those made by realloc
	uint64_t temporary;                    // freed before their thread's next allocation
	uint64_t short_lived; // churn: freed within 16 allocations of their thread or 1 ms
	uint64_t failed;      // calls that returned no block
	uint64_t peak_bytes, peak_blocks, peak_time_ns;
	uint64_t peak_low_bytes, peak_high_bytes;  // where it lies; both 0: it is exact
	uint64_t live_bytes, live_blocks;          // never freed
	uint64_t left_bytes, left_blocks;          // of these, by processes that have ended
	uint64_t gone_at_exec, gone_at_exec_bytes; // blocks that ended with their image: neither freed
											   // nor live; allocations = frees + live + gone
	uint64_t mapped_peak_bytes, mapped_peak_time_ns, never_unmapped_bytes; // by calls that map
	uint64_t peak_rss_bytes, peak_rss_time_ns;
	uint64_t minor_faults, major_faults;
	uint64_t user_cpu_ns, system_cpu_ns; // of the program, as far as known
	uint64_t old_blocks, old_bytes; // found when it was attached to: usable sizes, in nothing above
	uint64_t old_freed_blocks, old_freed_bytes;   // of them, freed since
	uint64_t suppressed_blocks, suppressed_bytes; // engine/suppress.h: counted as freed. Never in a
												  // file
};

/** What the numbers above do not contain. All zero: nothing is missing. */
struct rec_quality {
	uint64_t lost_events;        // could not be recorded (rings full too long, no slot, too early)
	uint64_t truncated_stacks;   // outer callers unknown
	uint64_t abandoned_hooks;    // left by a jump between number and event
	uint64_t skipped_numbers;    // entries that dead threads left unpublished
	uint64_t unknown_frees;      // of blocks never seen, and not among summary.old_blocks
	uint64_t double_allocations; // an address handed out twice: a free was missed
	uint64_t time_corrections;   // labels pushed forward to keep time rising
	uint64_t children_forked, children_executed; // processes that were not recorded
	uint64_t detail_ends_ns;     // > 0: from here on, only totals (disk or memory limit)
	uint64_t events_dropped;     // --events: single events dropped by the budget
	uint64_t looks_refused;      // looks at memory that the kernel did not permit
	uint64_t marks_dropped;      // named moments that found no room
	uint64_t runtime_mismatches; // stacks that keep native frames in place of a runtime's own
	uint8_t clock_is_not_tsc;
	uint8_t recording_stopped_early; // the collector or a limit ended it before the program
	uint64_t stopped_ns;             // then: the time of the last event
};

struct rec_module {
	uint64_t start, end; // addresses in the program
	uint64_t bias;       // address = bias + address in the file
	uint32_t path;       // string
	uint32_t image;      // 1 ..
	uint32_t package;    // string: Debian or npm package if known, for advice; 0 usual
	uint8_t build_id[32];
	uint8_t build_id_bytes;
	uint8_t has_symbols;   // any name was found in it
	uint8_t has_lines;     // any line was found in it
	uint8_t is_unresolved; // its file could not be opened, or has another build id
	uint8_t kind; // 0: a file. Functions of a runtime: 1 a compiler, 2 V8, 3 Python, 4 Ruby
	uint32_t suppressions; // string: the rules that it brings (engine/suppress.h); 0: none
};

/** A place in code: one program counter of one module. */
struct rec_location {
	uint64_t pc;          // the return address, or the interrupted address if is_exact
	uint32_t module;      // 0: unknown or generated code
	uint32_t first_frame; // into `frames`; its n_frames frames are innermost first
	uint16_t n_frames;    // 0: no name (yet). The last is the function, those before inlined in it
	uint8_t is_exact;
	uint8_t is_mark; // no code: "outer frames unknown" (pc 1), or of blocks from before an attach
};

struct rec_frame {
	uint32_t function;  // string: for people
	uint32_t symbol;    // string: as in the symbol table, mangled; 0 for inlined frames without one
	uint32_t file;      // string; 0: unknown
	uint32_t line;      // 0: unknown
	uint32_t allocates; // string: the type of what its call allocates; 0: unknown
};

struct rec_node {
	uint32_t parent; // the caller's node; smaller than the node's own id
	uint32_t location;
};

/**
 * A stack that allocated, with its exact values over the whole recording. What several threads
 * allocated at one node stands in several rows.
 */
struct rec_stack {
	uint32_t node;
	uint32_t thread;     // whose allocations these are; 0: of any, threads were not told apart here
	uint32_t usual_size; // the first size seen
	uint32_t command;    // row of commands; 0: there are none, or not told apart
	uint64_t allocations, allocated_bytes;
	uint64_t temporary, temporary_bytes, short_lived;
	uint64_t peak_blocks, peak_bytes; // at the moment of the peak
	uint64_t live_blocks, live_bytes; // never freed
	uint64_t left_blocks, left_bytes; // of these, by processes that have ended
	uint64_t reallocs;                // of its allocations, by realloc
	uint64_t first_ns, last_ns;       // first and last allocation
};

/** The values of another stack added; node, thread and usual size stay. */
void rec_stack_add(struct rec_stack *sum, const struct rec_stack *s);

enum { REC_LIFETIMES = 16 };

/**
 * Freed blocks of a stack by log4 of their life: < 1 us, < 4 us, ...; saturating. Blocks gone at an
 * exec are not in it.
 */
struct rec_lifetimes {
	uint32_t blocks[REC_LIFETIMES];
};

/**
 * An edge of the time axis: the moment of the largest heap of its period. All values are exact at
 * time_ns; the periods are contiguous, edge k's ends at end_ns. ENGINE's rule: a block lives at
 * edge k if and only if entry.from <= k < entry.until.
 */
struct rec_edge {
	uint64_t time_ns, end_ns;
	uint64_t bytes, blocks;                // live at time_ns
	uint64_t min_bytes;                    // smallest heap within the period
	uint64_t allocations, allocated_bytes; // so far, at time_ns
	uint64_t temporary;                    // so far, at time_ns
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

/**
 * An interval as it is kept: there are more of them than of anything else, and nearly all hold few
 * blocks. recording_interval and recording_set_interval know both forms.
 */
struct rec_interval_row {
	uint32_t stack;
	uint16_t from, until;
	uint16_t count; // REC_WIDE: the numbers are those of wide.items[bytes]
	uint16_t temporary;
	uint32_t bytes;
};

enum { REC_WIDE = 0xffff };

/** Numbers of an interval that do not fit its row. */
struct rec_wide {
	uint64_t bytes;
	uint32_t count, temporary;
};

/** A stack that mapped, with its exact values over the whole recording. */
struct rec_mapping {
	uint32_t node;
	uint8_t is_inside; // called by an allocation function, for memory of its own
	uint64_t maps, mapped_bytes;
	uint64_t peak_maps, peak_bytes; // at the moment of the peak of all mapped bytes
	uint64_t live_maps, live_bytes; // never unmapped
	uint64_t first_ns, last_ns;
};

/** What calls of a stack have given back, locked and so on (enum wire_change of wire/event.h). */
struct rec_change {
	uint32_t node;
	uint8_t what;
	uint8_t is_inside;     // called by an allocation function, at least once
	uint64_t calls, bytes; // of addresses, mapped and resident or not
	uint64_t first_ns, last_ns;
};

/** Pages that are still mapped. */
struct rec_range {
	uint64_t start, end; // addresses in the program
	uint64_t born_ns;
	uint32_t mapping; // index into mappings: of the stack that mapped them
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

/** What was read for it. */
enum rec_look_has {
	REC_HAS_SIZES = 1 << 0,  // of each mapping
	REC_HAS_PAGES = 1 << 1,  // which pages are resident: without them areas are not divided
	REC_HAS_GRAPH = 1 << 2,  // what points to each live block
	REC_HAS_TYPES = 1 << 3,  // of live blocks
	REC_HAS_BLOCKS = 1 << 4, // all live blocks: without them the heap is one part, REC_PART_HEAP
	REC_HAS_MAKERS = 1 << 5, // calls that map were recorded
};

/** The process seen from outside at one moment, with an owner for each resident page. */
struct rec_look {
	uint64_t time_ns;
	uint64_t rss_bytes;                   // the sum of its parts
	uint64_t swap_bytes;                  // beside it
	uint64_t changed_bytes;               // about as much came or went while it was read
	uint64_t cost_ns;                     // CPU time of the reader
	uint64_t huge_bytes, huge_free_bytes; // in huge pages; of them at most, of the heap and free
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
	REC_PART_HEAP = 12, // instead of the first four, where blocks or pages are not known
	REC_PARTS,
};

/** A part of a look's RSS, or what one maker, module or file has of it. Ordered by look. */
struct rec_part {
	uint64_t resident_bytes;
	uint64_t asked_bytes;     // of REC_PART_HEAP_LIVE: of all live blocks
	uint64_t lazy_free_bytes; // given back by MADV_FREE, and not taken yet
	uint32_t look;
	uint32_t mapping; // 1 + index into mappings; 0: no stack is known
	uint32_t name;    // string: of a module, file or mapping; 0: none
	uint8_t part;     // enum rec_part_id
};

/** Of the live blocks of a stack, what was in memory at a look. Ordered by look. */
struct rec_untouched {
	uint64_t asked_bytes, resident_bytes;
	uint64_t pinned_bytes; // free beside these blocks, on the pages on which they lie
	uint32_t look, stack;  // index into stacks
	uint32_t blocks;
};

/**
 * Of glibc [heap], large blocks that have a mapping each, and another arena, or as much of one as
 * lies in 64 MiB of addresses, where memory of other allocators is, too; all others.
 */
enum rec_arena { REC_ARENA_MAIN, REC_ARENA_BLOCKS, REC_ARENA_AT, REC_ARENA_REST, REC_ARENAS };
enum { REC_FULLNESS = 11 };

/** How full the resident pages of an arena were of live blocks at a look. Ordered by look. */
struct rec_fullness {
	uint64_t start;      // of REC_ARENA_AT: address
	uint64_t live_bytes; // as asked for
	uint32_t look;
	uint32_t pages[REC_FULLNESS]; // [0] without a live byte; [k] live by up to k tenths
	uint8_t kind;                 // enum rec_arena
};

/** Whether anything pointed to a live block at a look (engine/graph.h). */
enum rec_grade_id {
	REC_HELD = 0,        // a pointer to its start
	REC_HELD_INSIDE = 1, // to its inside alone
	REC_DISGUISED = 2,   // with bits of other meaning, at an odd address, or the kernel's
	REC_UNREACHABLE = 3, // nothing
	REC_OWNED = 4,       // unreachable blocks alone
	REC_CYCLE = 5,       // what it points to itself; it stands for all of the cycle, whose others
						 // are REC_OWNED
	REC_GRADES,
};

/** Blocks of a stack of one grade and class. Ordered by look, stack and grade. */
struct rec_grade {
	uint64_t blocks, bytes;
	uint64_t owned_blocks, owned_bytes; // REC_OWNED ones that are reached from these, each once
	uint32_t look, stack;               // index into stacks
	uint32_t class;                     // 1 + index into classes; 0: not known
	uint8_t grade;
};

enum rec_holder_kind {
	REC_HOLDER_GLOBAL,       // a variable of a module, or some of its data
	REC_HOLDER_THREAD_LOCAL, // variables of a thread
	REC_HOLDER_MAPPING,      // other mapped memory
	REC_HOLDER_STACK,        // and registers of a thread, of what nothing else holds
	REC_HOLDER_DISGUISE,     // pointers in disguise (REC_DISGUISED), wherever they are
	REC_HOLDER_SEVERAL,      // roots of which none holds it alone
	REC_HOLDER_BLOCKS,       // of a stack
	REC_HOLDER_REST,         // blocks of stacks that hold little
	REC_HOLDER_KINDS,
};

/** What holds live blocks at a look: what would go with it. Ordered by look, `above` before. */
struct rec_holder {
	uint64_t blocks, bytes;                   // these, if it is blocks
	uint64_t retained_blocks, retained_bytes; // with all below
	uint32_t look, above;                     // 1 + index of what holds it; 0: it is a root
	uint32_t name;                            // string, but for blocks of a stack
	uint32_t file, line;                      // of a variable: string, 0: unknown
	uint32_t stack;                           // of blocks: index into stacks
	uint32_t mapping; // of mapped memory: 1 + index into mappings; 0: no stack is known
	uint32_t longest; // of blocks: most of them one behind the other, as in a list
	uint32_t node;    // that stands for it, below that of `above` (engine/memory.h); 0: none
	uint8_t kind;     // enum rec_holder_kind
};

/**
 * What blocks were: all of a class of C++, of the blocks that were graded; or those of a stack, of
 * the some 2,000 whose type was looked at. Ordered by look.
 */
struct rec_class {
	uint64_t bytes;
	uint64_t retained_bytes; // of what is held, what would not be reached without them. C++
	uint64_t objects;        // that lie in blocks of many, and are not counted in others. C++
	uint32_t look, node;     // of the stack; 0: unknown
	uint32_t name;           // string: of their type; 0: not known
	uint32_t blocks;
	uint32_t kind; // enum rec_class_kind
};
enum rec_class_kind { REC_CLASS_PYTHON, REC_CLASS_NIM, REC_CLASS_CPP, REC_CLASS_KINDS };

/** At a look, the control group whose memory limit is the smallest for the process. */
struct rec_group {
	uint64_t time_ns; // of the look
	uint64_t limit_bytes, used_bytes;
	uint64_t anonymous_bytes, file_bytes;  // file: page cache, with shared memory
	uint64_t shared_bytes, inactive_bytes; // of file_bytes; inactive: can be taken back
	uint64_t kernel_bytes, swap_bytes;
	uint64_t limit_hits; // times that the limit was reached
	uint64_t own_bytes;  // anonymous memory of the process itself
};

/** How many allocations of a stack had a size. Ordered by stack, then size. */
struct rec_size {
	uint32_t stack;
	uint32_t is_class; // 0: exactly `size`; 1: size .. 2 * size - 1 (a stack with many sizes)
	uint64_t size;
	uint64_t count, bytes;
	uint64_t live; // never freed
};

struct rec_thread {
	uint32_t tid;
	uint32_t image;
	uint32_t name;     // string
	uint32_t n_merged; // > 0: stands for that many short threads of the same name
	uint64_t first_ns, last_ns;
	uint64_t allocations, allocated_bytes, frees, temporary;
	uint64_t live_bytes, peak_bytes; // blocks it allocated: never freed; at the global peak
	uint64_t foreign_frees;          // of its blocks, freed by another thread
};

/** Blocks allocated by one thread and freed by another. */
struct rec_handover {
	uint32_t from, to; // threads
	uint64_t blocks, bytes;
};

/** The process seen from outside, now and then. */
struct rec_sample {
	uint64_t time_ns;
	uint64_t rss_bytes, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
	uint64_t ours_bytes; // the recorder's: its segment, and private memory of its trie
	uint64_t heap_bytes; // live at that moment, by our count
	uint64_t minor_faults, major_faults;
	uint32_t n_threads;
};

/** Why the recorder is not in a process or image. */
enum rec_why {
	REC_WHY_NONE = 0,        // of a child: it is in it, but children are not recorded; else unknown
	REC_WHY_UNKNOWN = 1,     // not to be found out
	REC_WHY_STATIC = 2,      // nothing can be preloaded
	REC_WHY_STRIPPED = 3,    // the same, and where its allocator is cannot be seen
	REC_WHY_32_BIT = 4,      //
	REC_WHY_RIGHTS = 5,      // it gained rights by its file: set-uid, set-gid, capabilities
	REC_WHY_ROOT = 6,        // another root directory, or mounts without the recorder
	REC_WHY_ENVIRONMENT = 7, // LD_PRELOAD or the segment's variable was not in its environment
	REC_WHY_PRELOAD = 8,     // LD_PRELOAD was set anew
	REC_WHY_VALGRIND = 9,    // the program runs on a machine of valgrind's
	REC_WHY_PARENT = 10, // what started it has the recorder by injection, which is not handed down
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
	uint8_t is_unrecorded; // the recorder did not get into it: what it allocated is missing
	uint8_t is_too_narrow; // and that for lack of address space (ulimit -v)
	uint8_t why;           // enum rec_why
	uint32_t process;      // row of processes; 0: there are none
	uint64_t time_ns;
};

/**
 * A process of a tree, by the order in which they joined it; the first is the one that heaptrack
 * started. Of a copy (fork), what it got from its parent is no allocation of its own.
 */
struct rec_process {
	uint32_t pid;
	uint32_t parent;           // row; 0: of none that is here
	uint32_t command;          // row of commands: what it executed last
	int32_t exit_status;       // 128 + N: signal N ended it; REC_STATUS_UNKNOWN
	uint64_t start_ns, end_ns; // end 0: it was still running
	uint64_t allocations, allocated_bytes, temporary;
	uint64_t peak_bytes, peak_time_ns;
	uint64_t live_bytes, live_blocks;           // never freed
	uint64_t inherited_bytes, inherited_blocks; // live in its parent at the fork
	uint64_t inherited_freed;                   // blocks of these that it freed or reallocated
};

/** What processes executed: all that have the same file. Row 0 is none. */
struct rec_command {
	uint32_t name; // string
	uint32_t exe;  // string
	uint32_t n_processes;
};

/** A moment that the program gave a name. */
struct rec_mark {
	uint64_t time_ns;
	uint32_t name; // string
};

/**
 * Functions of one module that allocate or free, where the recorder was put in: hooked, or seen and
 * left alone. A preloaded recorder stands in for all that others call, and lists only what it was
 * seen not to get to.
 */
struct rec_allocator {
	uint32_t module;    // string: its path
	uint32_t functions; // string: their names, with ", " between them
	uint32_t why;       // string: why they could not be hooked; 0: they are
	uint32_t n_functions;
};

/** What a stack never freed and a rule covers; in no figure of the stack. Never in a file. */
struct rec_suppressed {
	uint32_t stack;
	uint64_t blocks, bytes;
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
	uint32_t missing; // enum rec_number: what an imported file does not say. Its fields hold the
					  // least that agrees with the others, and nobody shows them. Never in ours
	uint8_t of; // enum metric_of: whose numbers stacks, edges and intervals have. Never in a file
	REC_TABLE(struct slice) strings;
	REC_TABLE(struct rec_module) modules;
	REC_TABLE(struct rec_location) locations;
	REC_TABLE(struct rec_frame) frames;
	REC_TABLE(struct rec_node) nodes;
	REC_TABLE(struct rec_stack) stacks;
	REC_TABLE(struct rec_lifetimes) lifetimes; // per stack; empty: of no stack there are any
	REC_TABLE(struct rec_edge) edges;
	REC_TABLE(struct rec_edge) curve; // of the whole, finer than edges; empty: edges are it
	REC_TABLE(struct rec_interval_row) intervals;
	REC_TABLE(struct rec_wide) wide;
	REC_TABLE(struct rec_size) sizes;
	REC_TABLE(struct rec_thread) threads;
	REC_TABLE(struct rec_handover) handovers;
	REC_TABLE(struct rec_sample) samples;
	REC_TABLE(struct rec_child) children;
	REC_TABLE(struct rec_image) images;
	REC_TABLE(struct rec_mark) marks; // in order of time
	REC_TABLE(struct rec_allocator) allocators;
	REC_TABLE(struct rec_process) processes; // row 0 is none; empty: one process
	REC_TABLE(struct rec_command) commands;
	REC_TABLE(struct rec_edge) mapping_edges; // as edges, of mapped bytes; empty: not recorded
	REC_TABLE(struct rec_mapping) mappings;
	REC_TABLE(struct rec_interval) mapping_intervals; // of mappings, between mapping_edges
	REC_TABLE(struct rec_range) ranges;               // by rising address
	REC_TABLE(struct rec_change) changes;
	REC_TABLE(struct rec_look) looks; // in order of time
	REC_TABLE(struct rec_part) parts;
	REC_TABLE(struct rec_untouched) untouched;
	REC_TABLE(struct rec_fullness) fullness;
	REC_TABLE(struct rec_class) classes;
	REC_TABLE(struct rec_grade) grades;
	REC_TABLE(struct rec_holder) holders;
	REC_TABLE(struct rec_group) groups;          // of looks that have one, in order of time
	REC_TABLE(struct rec_suppressed) suppressed; // heaviest first
};

/** Fill a table of a recording with a copy of `count` items. False: the arena's max_bytes. */
#define RECORDING_PUT(r, table, from, count)                             \
	((r)->table.n = (uint32_t)(count),                                   \
			((r)->table.items = arena_copy(&(r)->arena, (from), (count), \
					 sizeof *(r)->table.items)) != NULL)

/** Make a table of a recording `count` zeroed rows long. False: the arena's max_bytes. */
#define RECORDING_ROOM(r, table, count)                                                  \
	(((r)->table.items = arena_alloc(&(r)->arena, (count), sizeof *(r)->table.items)) && \
			((r)->table.n = (uint32_t)(count), true))

/**
 * True if every id points into its table, parents come before children, edges and periods rise,
 * sums agree with the summary (stacks' peak to peak_bytes, and so on). `why` (may be NULL) gets
 * the first violation. Readers call it on every file; tests on everything.
 */
struct err;
bool recording_is_valid(const struct recording *r, struct err *why);

/** Add b's to a's: they saturate. */
static inline void rec_lifetimes_add(struct rec_lifetimes *a, const struct rec_lifetimes *b) {
	for (int i = 0; i < REC_LIFETIMES; i++) {
		if (__builtin_add_overflow(a->blocks[i], b->blocks[i], &a->blocks[i])) {
			a->blocks[i] = UINT32_MAX;
		}
	}
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

/** Make it row i, for which there is room. False: the arena's max_bytes. */
bool recording_set_interval(struct recording *r, uint32_t i, const struct rec_interval *v);

void recording_finish(struct recording *r);

/** Empty, but with its memory, for a recording about as large: arena_reset. */
void recording_reset(struct recording *r);
