// SPDX-License-Identifier: MIT
#pragma once
/**
 * The memory through which recorder and collector tell each other everything, the *segment*.
 *
 * One memfd, made and sized by the collector and mapped by both. docs/wire.md explains its use;
 * this header specifies its layout.
 *
 *   0               header           struct segment_header, with a directory of what follows:
 *   TABLE_MARKS     named moments    WIRE_N_MARKS x struct wire_mark
 *   TABLE_MODULES   module table     module_capacity x struct wire_module
 *   TABLE_LAYOUTS   runtimes: wire/runtime.h
 *   TABLE_NODES     stack trie       node_capacity x struct wire_node
 *   TABLE_SLOTS     thread slots     n_slots x slot_bytes, each begins with struct thread_slot
 *   TABLE_UNITS     functions of runtimes, and excerpts of their memory
 *   TABLE_EXCERPTS
 *
 * What is used from the start comes before the slots, which are most of it. Tables and slots begin
 * at multiples of WIRE_PAGE_MOST: whole pages on any machine. The memfd is sparse: untouched pages
 * take no memory. It is memory of the target, so the collector trusts nothing here and checks every
 * index before use.
 *
 * Each field names its writers: C = collector, T = target (any thread), O = the slot's thread.
 * Fields of different writers never share a cache line.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_MAGIC   0x3147455350414548ull // "HEAPSEG1", little endian
#define SEGMENT_VERSION 21u                   // bump on any change of layout or meaning

/**
 * The target finds the segment by an environment variable (docs/wire.md):
 *   HEAPTRACK_SEGMENT=<pid of the program>:<pid of the collector>:<fd>:<32 hex digits token>
 * pid, fd decimal. The socket is "\0heaptrack-<token>", a unix stream, and sends one byte with the
 * descriptor (SCM_RIGHTS).
 *
 * In a tree of processes (SEGMENT_TREE) pid is 0, and each process asks at the socket for a segment
 * of its own, its *cell*: it sends a struct wire_join and gets two descriptors, first the cell's,
 * then that of the page with struct wire_common; a byte without one refuses it. All cells of a
 * recording have the same layout.
 */
#define SEGMENT_ENV           "HEAPTRACK_SEGMENT"
#define SEGMENT_SOCKET_PREFIX "heaptrack-"
#define SEGMENT_MAPPING_NAME  "heaptrack" // for PR_SET_VMA_ANON_NAME and memfd_create

enum {
	WIRE_N_CHILDREN = 1024,
	WIRE_N_MARKS = 1024,
	WIRE_PAGE_LEAST = 4096, // of all machines: parts of a slot begin at multiples of it
	WIRE_PAGE_MOST = 64 << 10,
};

// Options, set by the collector before the launch, never changed
enum {
	SEGMENT_FREE_STACKS = 1u << 0, // capture a stack for each free, too
	SEGMENT_EXACT_TIME = 1u << 1,  // a time event before every event
	// The recording ends when the program says so (SEGMENT_CLOSED), and the program's exit waits
	// until `owner` is released: by then the file is there
	SEGMENT_PROGRAM_WAITS = 1u << 2,
	SEGMENT_NO_MAPPINGS = 1u << 3, // calls that map are not recorded
	SEGMENT_LOOKS_EARLY = 1u << 4, // the look at the end comes before exit handlers
	SEGMENT_TREE = 1u << 5,        // one of the cells of a tree of processes
};

/** What a process says of itself when it asks for a cell. Zeros: it has executed a program. */
struct wire_join {
	uint32_t process; // a copy of this one (segment_header.process),
	uint32_t fork;    // by its fork of this number, which a KIND_FORK names
	uint32_t image;   // and of this image
};

// struct segment_header.state
enum {
	SEGMENT_OPEN = 1,   // record
	SEGMENT_CLOSED = 2, // recording has ended, nobody reads any more: hooks pass through
	// As SEGMENT_OPEN; a thread is ending the program and waits up to `end_wait_ms` for C's look. T
	// sets it; C, or T after that time, sets SEGMENT_OPEN
	SEGMENT_ENDING = 3,
	SEGMENT_LOOKING = 4, // the same at the program's request; it goes on afterwards
};

/**
 * struct wire_common.epoch: number << WIRE_EPOCH_SHIFT | owner. An event belongs to the epoch that
 * its thread reads between reserve and publish. The number only increases.
 *
 *   owner 0      all threads' epoch: each event in it takes a stamp
 *   owner n      that of the thread in slot n - 1: all events in it are that thread's, in the order
 *                of its ring, without stamps. Another thread with an event ends it, by
 *                compare-and-swap to the next number without an owner
 *
 * In a tree, owner n is the thread in slot n - 1 - segment_header.first_owner of one of the cells.
 * The first thread of all takes epoch 1; later owners are assigned by C.
 */
#define WIRE_EPOCH_SHIFT 24
#define WIRE_EPOCH_OWNER ((1u << WIRE_EPOCH_SHIFT) - 1)

static inline uint64_t wire_epoch(uint64_t number, uint32_t owner) {
	return number << WIRE_EPOCH_SHIFT | owner;
}

static inline uint64_t wire_epoch_number(uint64_t epoch) {
	return epoch >> WIRE_EPOCH_SHIFT;
}

static inline uint32_t wire_epoch_owner(uint64_t epoch) {
	return (uint32_t)epoch & WIRE_EPOCH_OWNER;
}

/** The epoch that follows when another thread than the owner has an event. */
static inline uint64_t wire_epoch_of_all(uint64_t epoch) {
	return wire_epoch(wire_epoch_number(epoch) + 1, 0);
}

/**
 * struct wire_common.stamps: the source of stamps, which order the events of an epoch without
 * owner. Stamps of different epochs are not compared.
 *
 *   STAMPS_CLOCK     the processor's time stamp counter, read when all before it has been executed.
 *                    Only if the kernel trusts it as the clock of all processors
 *   STAMPS_COUNTED   the next number of wire_common.stamp, which begins above all of the clock
 *
 * It changes from clock to counter only: by C when the kernel no longer trusts the clock, by T when
 * the program forbids itself to read it (PR_SET_TSC). It is read after the entry is reserved, so a
 * thread that still reads the clock precedes every event with a counted stamp.
 */
enum { STAMPS_CLOCK = 1, STAMPS_COUNTED = 2 };
#define STAMPS_COUNTED_FROM (1ull << 62)

// A child process that loaded the recorder, or forked with it, and is not recorded
struct wire_child {
	_Atomic uint32_t pid; // 0: free, WIRE_CHILD_CLAIMED: being filled in. Written last
	uint32_t is_fork;     // 1: forked without exec, 0: a program of its own
	uint32_t pid_space;   // inode of the pid's namespace; 0: unknown
	uint32_t n_announced; // how often: once, and at each later exec
	uint64_t start_ticks; // its start, from /proc/PID/stat; 0: unknown
	char comm[16];
	uint32_t why; // (reserved: enum rec_why, as the child itself knows it)
	uint8_t reserved[28];
	char exe[440]; // target of /proc/self/exe, cut at the end, zero-terminated
};
_Static_assert(sizeof(struct wire_child) == 512, "layout");
#define WIRE_CHILD_CLAIMED UINT32_MAX

enum { WIRE_N_SPAWNED = 4096 };
#define SPAWN_FAILED (1u << 31)

// struct segment_header.exec: a program about to execute another one, which the preloaded recorder
// may not get into, waits for C to follow it
enum {
	EXEC_NONE = 0,   // C does not follow: do not ask
	EXEC_READY = 5,  // C: it would follow
	EXEC_ASKED = 1,  // T: the main thread is about to exec, and waits
	EXEC_SEIZED = 2, // C: it will look at the next program before that runs: go on
	EXEC_FAILED = 3, // T: the exec failed
	// C: the recorder was put into that program; a preloaded one keeps out for good
	EXEC_INJECTED = 4,
};

/** Anonymous memory in the program that is the recorder's. 0 bytes: none. */
struct wire_range {
	_Atomic uint64_t at, bytes;
};
enum { WIRE_N_OWN = 64 };

/** Where a part of the segment lies. 0 bytes: absent. */
struct wire_table {
	uint64_t at, bytes;
};

enum {
	TABLE_MARKS = 0,
	TABLE_MODULES = 1,
	TABLE_NODES = 2,
	TABLE_SLOTS = 3,
	TABLE_UNITS = 4, // of virtual modules
	TABLE_EXCERPTS = 5,
	TABLE_LAYOUTS = 6,
	WIRE_N_TABLES = 16,
};

/**
 * What the cells of a tree share, on a page of its own; without a tree, in the segment's header.
 */
struct wire_common {
	// ---- written by C while recording (one line)
	_Alignas(
			64) _Atomic uint64_t tick_ns; // now - start_ns, or 0: C sleeps, take the clock yourself
	_Atomic uint32_t heartbeat;           // rises at least every 2 s while C lives

	// ---- robust futex word of C: its tid, or FUTEX_OWNER_DIED once it is gone
	_Alignas(64) _Atomic uint32_t owner;

	// ---- doorbell: C stores 0 and futex-waits on it; T exchanges 1 and wakes if it was 0
	_Alignas(64) _Atomic uint32_t bell;

	// ---- the next stamp of STAMPS_COUNTED
	_Alignas(64) _Atomic uint64_t stamp;

	// ---- whose epoch it is, and the source of stamps; T and C, rarely
	_Alignas(64) _Atomic uint64_t epoch;
	_Atomic uint32_t stamps; // STAMPS_CLOCK ...
};
_Static_assert(sizeof(struct wire_common) == 320, "layout");

struct segment_header {
	// ---- constant: written by C before the launch
	uint64_t magic;
	uint32_t version;
	uint32_t options;
	uint8_t token[16];
	uint64_t segment_bytes; // size of the memfd
	uint64_t slot_bytes;
	uint32_t n_slots;
	uint32_t module_capacity;
	uint32_t node_capacity; // node budget: beyond it stacks fold to their deepest ancestor
	uint32_t program_pid;   // the target's own getpid()
	uint64_t start_ns;      // CLOCK_MONOTONIC when recording began: zero of all times
	uint32_t page_bytes;    // of the machine: unit of protections and holes
	uint32_t process;       // of a tree: its number, from 1
	uint32_t first_owner;   // of a tree: owners of epochs before its first slot's
	uint8_t reserved0[44];
	struct wire_table tables[WIRE_N_TABLES];

	struct wire_common common;

	// ---- written by C while recording (one line)
	_Alignas(64) _Atomic uint32_t state; // SEGMENT_OPEN ...; T may set SEGMENT_CLOSED
	_Atomic uint32_t no_syscalls;        // 1: the target is in seccomp mode 1
	// 1: the target is in a sandbox of its own (T may set it): T makes only calls that all need
	_Atomic uint32_t has_filter;
	_Atomic uint32_t runtime_generation; // raised after a layout has come into force
	_Atomic uint32_t end_wait_ms;        // the program's longest wait at its end. 0: none

	// ---- written by T, atomically, rarely
	_Alignas(64) _Atomic uint32_t n_images; // image ids are 1 .. n_images
	_Atomic uint32_t n_modules;             // module ids are 1 .. n_modules
	_Atomic uint32_t n_children_forked;     // children that forked and allocated, not recorded
	_Atomic uint32_t n_children_executed;   // children that ran another program, not recorded
	_Atomic uint64_t lost_no_slot;          // events of threads that found no free slot
	_Atomic uint64_t lost_early;            // events before the segment could be mapped
	_Atomic uint32_t mapped_slots;          // < n_slots where the address space is limited
	_Atomic uint32_t mapped_nodes;          // < node_capacity likewise
	_Atomic uint32_t clock_is_not_tsc;      // 1: times come from the system call or vdso clock
	_Atomic uint32_t n_too_narrow;          // images whose address space cannot hold the segment
	_Atomic uint32_t slot_hint;             // where the search for a free slot begins; C lowers it
	_Atomic uint32_t n_marks;               // made so far, including those that found no room
	_Atomic uint32_t exec;                  // EXEC_NONE ...; T and C change it in turn. A futex
	_Atomic uint32_t n_claims; // slots that became SLOT_LIVE: raised before a slot's first event

	// ---- the trie's next id, on a line of its own: threads add to it
	_Alignas(64) _Atomic uint32_t n_nodes; // ids 1 .. n_nodes - 1 are taken; 0 is the root

	// ---- written by T at its start: where its threads can be sent (wire/resident.h). 0: nowhere
	_Alignas(64) _Atomic uint64_t errand_at; // struct errand, behind a stack
	_Atomic uint64_t errand_code;

	// ---- written by T: raised before each call that may take memory away from the program
	_Alignas(64) _Atomic uint64_t unmap_epoch;

	// ---- written by T, atomically: units and bytes of excerpts taken, including those that found
	// no room; functions without a unit
	_Alignas(64) _Atomic uint32_t n_units;
	_Atomic uint32_t fork_number;
	_Atomic uint64_t excerpt_used;
	_Atomic uint64_t units_lost;
	_Atomic uint64_t exec_ns;    // of the last exec, unless an image has announced itself since
	_Atomic uint64_t hash_bytes; // of the trie's private tables, which fill quickly
	_Atomic uint64_t runtime_mismatches; // stacks in which a runtime's frames were not found
	// Of a runtime that has not begun: T waits until C has looked at it. C resets it to 0. A futex
	_Atomic uint32_t module_awaited;
	_Atomic uint32_t n_units_read; // by C, at least once. A futex

	_Alignas(64) struct wire_child children[WIRE_N_CHILDREN];

	// ---- written by T: what of its memory does not belong to the program
	_Alignas(64) struct wire_range own[WIRE_N_OWN];

	// ---- written by T, in a tree: the last WIRE_N_SPAWNED of n_spawned children that called
	// exec in our memory (vfork): pids in their own namespace, with SPAWN_FAILED if that failed
	_Alignas(64) _Atomic uint32_t n_spawned;
	_Atomic uint32_t spawned[WIRE_N_SPAWNED];
};
_Static_assert(offsetof(struct segment_header, tables) == 128, "layout");
_Static_assert(offsetof(struct segment_header, common) == 384, "layout");
_Static_assert(offsetof(struct segment_header, state) == 704, "layout");
_Static_assert(offsetof(struct segment_header, n_images) == 768, "layout");
_Static_assert(offsetof(struct segment_header, n_nodes) == 832, "layout");
_Static_assert(offsetof(struct segment_header, unmap_epoch) == 960, "layout");
_Static_assert(offsetof(struct segment_header, n_units) == 1024, "layout");
_Static_assert(offsetof(struct segment_header, children) == 1088, "layout");
_Static_assert(sizeof(struct segment_header) <= 9 * WIRE_PAGE_MOST, "layout");

/** Entries from here on were never used: a process is counted before it takes one. */
static inline uint32_t wire_children_in_use(const struct segment_header *h) {
	uint64_t n = (uint64_t)atomic_load(&h->n_children_forked) +
			atomic_load(&h->n_children_executed);
	return n < WIRE_N_CHILDREN ? (uint32_t)n : WIRE_N_CHILDREN;
}

/**
 * A moment that the program named (heaptrack_mark). The first WIRE_N_MARKS are kept, in the order
 * they were begun; one whose thread died meanwhile stays without a time.
 */
enum { WIRE_MARK_NAME = 120 };
struct wire_mark {
	_Atomic uint64_t time_ns;  // since start_ns, at least 1. Written last (release); 0: not whole
	char name[WIRE_MARK_NAME]; // cut, zero terminated
};
_Static_assert(sizeof(struct wire_mark) == 128, "layout");

/**
 * A mapped object (executable, library, vdso), announced by the target when it first sees a program
 * counter inside. Its id is its index; entry 0 is never used. Ids are never re-used for other
 * contents: the same file at the same place may take its old id, anything else takes a new one.
 */
enum { WIRE_MODULE_PATH = 424 };

// struct wire_module.kind: where its code lies. All but MODULE_FILE are virtual (see `where`)
enum {
	MODULE_FILE = 0,
	MODULE_GENERATED = 1,
	MODULE_V8 = 2,
	MODULE_PYTHON = 3,
};

struct wire_module {
	uint64_t start; // first mapped address
	uint64_t end;   // one past the last mapped address
	uint64_t bias;  // address = bias + virtual address in the file
	uint32_t image;
	_Atomic uint32_t state; // 0: not yet whole, 1: whole. Written last (release)
	uint32_t build_id_bytes;
	uint8_t build_id[32]; // of the mapped image's PT_NOTE, cut at 32
	uint16_t path_bytes;  // of the full path; if > WIRE_MODULE_PATH, `path` is cut
	uint8_t is_unloaded;  // T: known to be unloaded (dlclose)
	uint8_t kind;         // MODULE_FILE ...
	uint16_t runtime;     // of a virtual module: row of the table of layouts. 0: none
	uint8_t reserved[14];
	// As the loader names it; for the executable the target of /proc/self/exe, empty if unknown
	char path[WIRE_MODULE_PATH];
};
_Static_assert(sizeof(struct wire_module) == 512, "layout");
_Static_assert(offsetof(struct wire_module, path) == 88, "layout");

/**
 * A node of the stack trie; its id is its index. `where` holds the program counter and its module,
 * `parent` is the caller's node. Id 0 is the root: the empty stack. A node's parent is published
 * before it, `where` is written last (release). An id whose `where` stays 0 is a hole: its thread
 * died meanwhile. An insert that lost its race leaves a whole node that no event names; two nodes
 * for one stack are rare but legal. Ids are never re-used within a recording, even across images.
 */
struct wire_node {
	_Atomic uint64_t where;
	uint32_t parent;
	_Atomic uint32_t first_child; // T only: where the search for a child begins
};
_Static_assert(sizeof(struct wire_node) == 16, "layout");

/** Bytes of private memory that T has per node, in the order of nodes. */
enum { WIRE_LINK_BYTES = 8 };

/**
 * where: bits 0..47 program counter, bit 48 WIRE_EXACT_PC, bits 49..63 module id (0: none known,
 * such as JIT code). A program counter is the return address found on the stack (look up the call
 * at pc - 1), unless WIRE_EXACT_PC is set: then a signal interrupted right there.
 *
 * In a virtual module (MODULE_GENERATED ...) code has no fixed place, so bits 0..47 are no address:
 * bits 25..47 number a unit (a function as its runtime knows it), bits 0..24 a place in it (0:
 * anywhere). WIRE_EXACT_PC is never set, and nothing is looked up at pc - 1.
 *
 * The recorder's tables of program counters have keys without a module: no key is UINT64_MAX.
 */
#define WIRE_PC_MASK      ((1ull << 48) - 1)
#define WIRE_EXACT_PC     (1ull << 48)
#define WIRE_MODULE_SHIFT 49
#define WIRE_MODULE_MAX   0x7ffeu // 0x7fff: the table was full, module unknown
#define WIRE_UNIT_SHIFT   25
#define WIRE_UNIT_MAX     ((1u << (48 - WIRE_UNIT_SHIFT)) - 1)
#define WIRE_POSITION_MAX ((1u << WIRE_UNIT_SHIFT) - 1)

// Marks in place of a program counter
#define WIRE_PC_TRUNCATED 1ull // outermost: the callers beyond it could not be found

static inline uint32_t wire_where_module(uint64_t where) {
	return (uint32_t)(where >> WIRE_MODULE_SHIFT);
}

static inline uint64_t wire_where_pc(uint64_t where) {
	return where & WIRE_PC_MASK;
}
