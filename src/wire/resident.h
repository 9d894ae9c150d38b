// SPDX-License-Identifier: MIT
#pragma once
/**
 * The one mapping that heaptrack leaves in a process to which it attaches, the *resident*.
 *
 * It begins with this struct; a stack for errands and the recorder follow (docs/attach.md).
 *
 *   0                       guard page, inaccessible: so a mapping begins here
 *   RESIDENT_AT             struct resident
 *   RESIDENT_STACK_AT       stack of RESIDENT_STACK_BYTES, for errands
 *   RESIDENT_ERRAND_AT      struct errand
 *   RESIDENT_IMAGE_AT       the recorder, as its ELF file lays it out
 *
 * It stays when heaptrack leaves, for the next attach, and holds all that undoing an interrupted
 * attach needs: `hooks` are restored from it. The recorder reads it; except for `mappings` it is
 * written from outside, while the process is stopped.
 */

#include "wire/segment.h"

// ---- system calls that a stopped thread of the target makes for heaptrack, its *errand*
//
// After them it may call a function of the recorder. The thread runs on the resident's stack, with
// its signals blocked, and says when it is done; heaptrack then stops it and restores its
// registers. If heaptrack was killed, the thread returns by itself after ERRAND_PATIENCE_S, as from
// a signal handler, by `frame`. Until then nothing here may be overwritten, and the thread may not
// be sent elsewhere: it would come back to where it waits.
//
//   sent ──► BEGUN ──► all calls made ──► DONE ──► stopped, its registers restored: NONE
//                                           └────► nobody came: LEFT, rt_sigreturn

#define ERRAND_MAGIC 0x3152524550414548ull // "HEAPERR1", in front of where errands begin

enum { ERRAND_CALLS = 100, ERRAND_PATIENCE_S = 5, ERRAND_NOT_MADE = INT32_MIN };

enum errand_state {
	ERRAND_NONE = 0, // the thread has its own registers again
	ERRAND_BEGUN = 1,
	ERRAND_DONE = 2,
	ERRAND_LEFT = 3, // already, or in a moment
};

struct errand_call {
	int64_t number;
	uint64_t arguments[6];
	int64_t result; // from the kernel; ERRAND_NOT_MADE: an earlier call failed
};
_Static_assert(sizeof(struct errand_call) == 64, "layout");

struct errand {
	uint32_t state; // enum errand_state
	uint32_t n_calls;
	uint64_t function, argument; // called once all calls have succeeded; 0: none
	int64_t result;              // of it, or ERRAND_NOT_MADE
	uint64_t frame;              // of rt_sigreturn
	struct errand_call calls[ERRAND_CALLS];
};

/** Where in the resident the errand is, and the frame behind it. */
enum { ERRAND_FRAME_AT = 2 * 4096, ERRAND_BYTES = 8 * 4096 };
_Static_assert(sizeof(struct errand) <= ERRAND_FRAME_AT, "fits");

// ---- the one mapping that heaptrack leaves in a process to which it attaches, the *resident*

#define RESIDENT_MAGIC   0x3153455250414548ull // "HEAPRES1", little endian
#define RESIDENT_VERSION 11u

enum {
	RESIDENT_GUARD_BYTES = 4096,
	RESIDENT_AT = RESIDENT_GUARD_BYTES,
	RESIDENT_BYTES = 16 * 4096,
	RESIDENT_STACK_AT = RESIDENT_AT + RESIDENT_BYTES,
	RESIDENT_STACK_BYTES = 16 * 4096,
	RESIDENT_ERRAND_AT = RESIDENT_STACK_AT + RESIDENT_STACK_BYTES,
	RESIDENT_IMAGE_AT = RESIDENT_ERRAND_AT + ERRAND_BYTES,
	RESIDENT_HOOKS = 384,
	RESIDENT_PATCH_MAX = 16,
	RESIDENT_MAPPINGS = 64,
	RESIDENT_ISLANDS = 64,
	RESIDENT_TOKEN = 40,
	RESIDENT_TABLES = 8,
	RESIDENT_THREAD_CACHES = 2,
	RESIDENT_MAPS_BYTES = 4 * 4096,
};

/** What a hooked function does: how its registers are read. Registers 0 to 5 are rdi .. r9. */
enum resident_what {
	RESIDENT_ALLOCATES = 1,           // size (times `times`); returns the block
	RESIDENT_ALLOCATES_AT = 2,        // stores the block at the address in `ptr`, returns 0
	RESIDENT_REALLOCATES = 3,         // ptr, size (times `times`); returns the block
	RESIDENT_FREES = 4,               // ptr
	RESIDENT_ALLOCATES_OR_THROWS = 5, // size; returns the block, or throws an exception
	// size; returns the address `behind` bytes behind the block's. What it allocates and frees
	// meanwhile is recorded; so is the block itself, unless a hooked function it called returned it
	RESIDENT_ALLOCATES_WITHIN = 6,
	RESIDENT_REALLOCATES_OR_THROWS = 7, // as REALLOCATES, or throws an exception
	RESIDENT_REALLOCATES_AT = 8, // size times `times`; the block at the address in `ptr`; returns 0
	RESIDENT_CONFINES = 9, // prctl: its option in `ptr`, the value in `size`. It allocates nothing,
						   // but may name a range
	// The functions of mappings.def. Their registers are the table's operands
	RESIDENT_MAPS = 10,
	RESIDENT_UNMAPS = 11,
	RESIDENT_REMAPS = 12,
	RESIDENT_PROTECTS = 13,
	RESIDENT_ATTACHES = 14,
	RESIDENT_DETACHES = 15,
	RESIDENT_ADVISES = 16,
	RESIDENT_LOCKS = 17,
	RESIDENT_UNLOCKS = 18,
	RESIDENT_CREATES = 19,
	RESIDENT_BREAKS = 20,
	RESIDENT_CALLS = 21,
	RESIDENT_EXECS = 22, // the program becomes another one, unless the call fails
	RESIDENT_ENDS = 23,  // the program ends
	RESIDENT_FORKS = 24, // it returns twice, 0 in the copy
};
enum {
	RESIDENT_NO_REGISTER = 0xff,
	RESIDENT_NIM_STRING = 0xfe, // no register: the returned string has its size
	RESIDENT_TEXT = 0xfd,       // no register: the returned text, its zero included
};

struct resident_hook {
	uint64_t moved;   // its first instructions and a jump to the rest: the real function
	uint64_t address; // of the patch, in the process
	// What is called: `moved`, or where that throws its twin that returns NULL, as no exception may
	// pass our frame. Once our frame is gone, `moved` is jumped to, and throws
	uint64_t called;
	uint8_t what;             // enum resident_what
	uint8_t ptr, size, times; // registers
	uint8_t n_bytes;          // of the patch
	uint8_t is_patched;       // set before the patch is written, cleared after it is taken back
	uint8_t behind; // the block begins so many bytes before the address in `ptr`, or returned
	uint8_t reserved;
	uint8_t original[RESIDENT_PATCH_MAX];
	uint8_t patch[RESIDENT_PATCH_MAX];
};
_Static_assert(sizeof(struct resident_hook) == 64, "layout");

enum { RESIDENT_THREADS_LOG2 = 14, RESIDENT_THREAD_PROBES = 64 };
#define RESIDENT_KEY_IS_TID (1ull << 63)

/** The first of the RESIDENT_THREAD_PROBES places where a thread may be. */
static inline unsigned resident_thread_place(uint64_t key) {
	return (unsigned)(key * 0x9E3779B97F4A7C15ull >> (64 - RESIDENT_THREADS_LOG2));
}

/** What the recorder keeps for a thread (preload/host.h: struct thread_words), and more. */
struct resident_thread {
	struct thread_slot *slot;
	uint32_t n_refused, n_until_search;
	// FS base, or RESIDENT_KEY_IS_TID | tid. 0: free. Written by compare-and-swap, never changed
	_Atomic uint64_t key;
	uint32_t tid;            // as its gettid() says
	uint32_t tid_at;         // its distance from the FS base in the C library's data; 0: unknown
	_Atomic uint64_t inside; // calls of hooked functions that the recorder began and has not ended
	uint64_t last_block;     // recorded within the RESIDENT_ALLOCATES_WITHIN in progress; 0: none
	uint64_t unused[2];      // to fill a line of its own
};
_Static_assert(sizeof(struct resident_thread) == 64, "layout");

struct resident_range {
	uint64_t at, bytes; // bytes 0: free
};

enum resident_state {
	RESIDENT_EMPTY = 0,    // nothing is patched, the recorder's data are as new
	RESIDENT_ATTACHED = 1, // hooks are, or may be, patched
	RESIDENT_USED = 2,     // nothing is patched, but threads may still be inside the recorder
};

struct resident {
	uint64_t magic;
	uint32_t version;
	uint32_t state;                           // enum resident_state
	uint64_t at;                              // address of the guard page
	uint64_t bytes;                           // of the whole, from the guard page on
	uint8_t image_id[32];                     // which recorder: only the same is used again
	uint64_t image_data_at, image_data_bytes; // writable part, to be made anew; addresses
	uint64_t text_at, text_bytes;             // code
	uint64_t threads_at, n_threads;           // struct resident_thread
	uint64_t has_tids_at; // of a word: not 0 if threads are known by tid instead of FS base
	uint64_t errand_code; // where errands begin
	uint64_t pointer_at;  // of the recorder's pointer to this struct; NULL: it records nothing
	uint64_t frames_at;   // unwind tables of the code
	// Behind the image: unwind tables made for code without any. 0 bytes: none
	struct resident_range made_tables;
	uint64_t tables[RESIDENT_TABLES]; // unwind tables of modules that do not say where theirs are
	uint64_t header_at;   // the segment's header as mapped there; 0: none. Written by the recorder
	int32_t pid;          // its getpid() when we attached: a forked child finds its parent's
	int32_t fd;           // of the segment; closed by the recorder
	uint64_t find_object; // address of _dl_find_object, or 0
	uint64_t in_loader;   // an address in glibc's loader, or 0
	uint64_t clock;       // of the vdso's clock_gettime, or 0: by system call
	uint64_t stack_end;   // of the main thread's stack
	// In each C library, code that frees what the program freed before; 0 bytes: none
	struct resident_range thread_caches[RESIDENT_THREAD_CACHES];
	uint32_t n_hooks; // entries of `hooks` in use; those of earlier attaches stay
	uint32_t n_islands;
	// Who attached, until it is clean: heaptrack's helper, and when that began. 0: nobody
	int64_t guardian;
	uint64_t guardian_ticks;
	// In a tree of processes, the token by which the recorder asks for its segment; or ""
	char token[RESIDENT_TOKEN];
	// For a process without /proc: the lines of /proc/PID/maps where a file begins, ended by a 0
	char maps[RESIDENT_MAPS_BYTES];
	struct resident_hook hooks[RESIDENT_HOOKS];
	struct resident_range islands[RESIDENT_ISLANDS];
	struct wire_range mappings[RESIDENT_MAPPINGS]; // made by the recorder, to be unmapped
	// Calls that fork, in progress; in a copy, it is about to ask for its segment. The recorder's
	_Atomic uint32_t n_forks;
};
_Static_assert(sizeof(struct resident) <= RESIDENT_BYTES, "fits its pages");
