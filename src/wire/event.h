// SPDX-License-Identifier: MIT
#pragma once
/**
 * Events, and the rings that carry them from a thread of the target to the collector.
 *
 * A thread owns a slot of the segment with two rings: a small one for threads that rarely allocate,
 * and a big one, to which it moves for good once the small one is full. The collector drains the
 * small ring before it reads the big one.
 *
 * An entry is 16 bytes. Its `head`, written last with release, has a phase bit that flips with
 * every lap and alone says that the entry is published. Entries may thus be published out of order:
 * a handler that interrupts a hook takes the next entries and publishes them first.
 *
 *      taken            blocked entry       published by a handler      reserved
 *        v                    v                  v     v                    v
 *   ...  #  #  #  #  #  #     .  #  #  .  ...
 *
 * docs/wire.md describes the life of an entry, and how epochs and stamps order events of different
 * threads. The last KIND_EPOCH before an event in its ring states its epoch (none: epoch 0). An
 * event carries the low bits of its stamp; together with the last KIND_STAMP before it in its ring
 * and epoch, less than WIRE_STAMP_REACH away, they make the whole stamp. An event without such a
 * KIND_STAMP has no stamp, and is older than all of its epoch that have one.
 */

#include "wire/segment.h"

enum wire_kind {
	KIND_VOID = 0,    // nothing
	KIND_ALLOC = 1,   // A block exists
	KIND_FREE = 2,    // A block is about to be released
	KIND_REALLOC = 3, // (old block) A realloc is about to release or move a block
	KIND_MOVED = 4,   // (new block) The thread's pending realloc succeeded: its new block
	KIND_STAYED = 5,  // (old block) The pending realloc failed: the old block lives on
					  // (a thread's pending reallocs are a stack, handlers push on it)
	KIND_WIDE = 6,    // prefix: full pointer and size of the very next entry of this ring
	KIND_TIME = 7,    // body: ns since the recording's start, for what follows

	KIND_MAP = 9,      // A mapping exists
	KIND_UNMAP = 10,   // A range is about to be released
	KIND_CHANGED = 11, // The range has changed as stated

	// In a tree. ptr: 16 * the coming fork's number (fork_number); 0: the process is about to end
	KIND_FORK = 12,

	KIND_STAMP = 13, // body: a whole stamp, for what follows
	KIND_EPOCH = 14, // body: an epoch, for what follows
};

/**
 * head:  bit 63 phase | bits 59..62 kind | bits 44..58 stamp (low 15 bits) | bits 0..43 ptr >> 4
 * body:  bits 0..24 node id | bits 25..50 size | bits 51..63 stamp (bits 15..27)
 *
 * A pointer that is not a multiple of 16 or lies above 48 bits, or a size of WIRE_SIZE_WIDE or
 * more, needs a KIND_WIDE entry right before it (both are reserved at once):
 *   wide head: phase | kind | bits 0..58 ptr >> 4      wide body: bits 0..3 ptr & 15 | 4..63 size
 * and the event's own size field is then WIRE_SIZE_WIDE, its ptr bits ignored. Bit 63 of a pointer
 * is lost: no user-space pointer has it.
 *
 * KIND_TIME, KIND_STAMP, KIND_EPOCH: body is the whole value, the rest of head is zero. KIND_FREE,
 * KIND_REALLOC, KIND_STAYED have size 0; node is 0 unless SEGMENT_FREE_STACKS. KIND_MOVED has node
 * and size as an allocation. A realloc(p, 0) that frees is a KIND_FREE.
 *
 * KIND_MAP (after the call), KIND_UNMAP (before it; if it fails, a KIND_MAP of the same range
 * follows) and KIND_CHANGED (after it) have size and stamp as an allocation, KIND_MAP also its
 * node. A KIND_MAP replaces what was mapped in its range. Their addresses are page-aligned, so the
 * low WIRE_MAP_BITS of the event's own ptr field, also behind a KIND_WIDE, hold: protection 3 bits,
 * shared 1, enum wire_map_what 4. A KIND_CHANGED has enum wire_change in place of the last, and,
 * unless that is WIRE_CHANGE_PROTECTION, whether a hooked allocation function made the call in
 * place of shared, and its node.
 */
struct wire_event {
	_Atomic uint64_t head;
	uint64_t body;
};
_Static_assert(sizeof(struct wire_event) == 16, "layout");

enum {
	WIRE_PTR_BITS = 44,
	WIRE_KIND_SHIFT = 59,
	WIRE_STAMP_BITS = 28,
	WIRE_STAMP_LOW = 15,
	WIRE_SIZE_BITS = 26,
	WIRE_NODE_BITS = 25,
	WIRE_MAP_BITS = 8,
};
_Static_assert(WIRE_PTR_BITS + WIRE_STAMP_LOW == WIRE_KIND_SHIFT, "head");
_Static_assert(WIRE_NODE_BITS + WIRE_SIZE_BITS + WIRE_STAMP_BITS - WIRE_STAMP_LOW == 64, "body");
#define WIRE_MAX_NODES   (1u << WIRE_NODE_BITS)
#define WIRE_STAMP_REACH (1ull << (WIRE_STAMP_BITS - 2))
#define WIRE_SIZE_WIDE   ((1u << WIRE_SIZE_BITS) - 1)

enum wire_map_what {
	WIRE_MAP_PLAIN = 0, // anonymous
	WIRE_MAP_FILE = 1,
	WIRE_MAP_BRK = 2,
	WIRE_MAP_SHM = 3, // by shmat. A KIND_UNMAP: all that one call mapped at its address
	WIRE_MAP_STACK = 5,
	WIRE_MAP_HUGETLB = 6,
	WIRE_MAP_INSIDE = 7, // whatever a hooked allocation function maps for itself
	// Protection, shared and what are those of the range that the thread released before
	WIRE_MAP_MOVED = 8, // by mremap
	WIRE_MAP_MOVED_INSIDE = 9,
	WIRE_MAP_BACK = 10, // the call meant to release it failed
};

enum wire_change {
	WIRE_CHANGE_PROTECTION = 0,
	WIRE_CHANGE_GIVES_BACK = 1, // MADV_DONTNEED and the like: its contents are gone
	WIRE_CHANGE_FREES = 2,      // MADV_FREE: gone once the kernel needs memory
	WIRE_CHANGE_LOCKS = 3,
	WIRE_CHANGE_UNLOCKS = 4,
	WIRE_CHANGE_CREATES = 5, // memfd_create: an empty file, at no address
	WIRE_CHANGE_NAMES = 6,   // PR_SET_VMA, even if the kernel keeps no names
	WIRE_CHANGES,
};

enum { RING_SMALL = 0, RING_BIG = 1, N_RINGS = 2 };
enum { RING_SMALL_LOG2 = 10, RING_BIG_LOG2 = 14 };
enum { RING_SMALL_ENTRIES = 1 << RING_SMALL_LOG2, RING_BIG_ENTRIES = 1 << RING_BIG_LOG2 };

enum { WIRE_MAX_SLOTS = 8192 };

// struct thread_slot.state
enum {
	SLOT_FREE = 0,    // may be claimed by CAS to SLOT_CLAIMED
	SLOT_CLAIMED = 1, // being filled in
	SLOT_LIVE = 2,    // in use; the collector frees it once its thread is gone and it is drained
};

/**
 * A thread's place in the segment. Offsets from the slot's start: this struct at 0, the small ring
 * at SLOT_SMALL_RING_AT, the big one at SLOT_BIG_RING_AT, the recorder's private state from
 * SLOT_PRIVATE_AT to slot_bytes. Of that the collector reads only the first word (64 bits, 0 unless
 * a hook is in progress), and it returns the pages once the thread is gone: a new owner finds the
 * slot zeroed, but for `state` and `generation`.
 */
enum {
	SLOT_SMALL_RING_AT = 512, // on the first page: threads that rarely allocate need no more
	SLOT_BIG_RING_AT = WIRE_PAGE_LEAST + RING_SMALL_ENTRIES * 16, // 20480
	SLOT_PRIVATE_AT = SLOT_BIG_RING_AT + RING_BIG_ENTRIES * 16,
};
_Static_assert(SLOT_PRIVATE_AT % WIRE_PAGE_LEAST == 0, "layout");

enum { WIRE_LABEL = 60, WIRE_THREAD_NAME = 16 };

struct wire_ring {
	// written by O: entries ever reserved. Raised by the owner's plain add (signal-atomic)
	_Alignas(64) _Atomic uint64_t reserved;
	// written by C: entries ever consumed. O reads it only when the ring looks full
	_Alignas(64) _Atomic uint64_t taken;
	_Atomic uint32_t room; // futex: C raises it and wakes when O waits for room
	_Atomic uint32_t owner_waits;
};
_Static_assert(sizeof(struct wire_ring) == 128, "layout");

struct thread_slot {
	_Atomic uint32_t state; // T claims, C frees
	uint32_t generation;    // C raises it each time it frees the slot
	// written by O between SLOT_CLAIMED and SLOT_LIVE
	uint32_t tid;   // as the target's gettid() says (its own pid namespace)
	uint32_t image; // 1 .. n_images
	uint32_t pid;   // as the target's getpid() says
	// Where the thread's stack is: an address in it, and the thread pointer, which lies in the same
	// mapping if pthread_create made it
	uint64_t stack_at, thread_area;

	// written by O
	_Alignas(64) _Atomic uint32_t ring; // RING_SMALL, later RING_BIG

	// written by O: plain counters, exact per thread
	_Atomic uint64_t failed;    // allocation calls that returned no block
	_Atomic uint64_t lost;      // events that could not be recorded
	_Atomic uint64_t truncated; // stacks whose outer part could not be found or stored
	_Atomic uint64_t abandoned; // hooks that a longjmp left

	// written by O between SLOT_CLAIMED and SLOT_LIVE: the kernel's name of the thread before its
	// first event. Not zero-terminated at full length; empty: not asked for
	char name[WIRE_THREAD_NAME];

	struct wire_ring rings[N_RINGS];

	// written by O: what the program calls this thread (heaptrack_thread_label)
	_Alignas(64) _Atomic uint32_t label_version; // 0: nothing; odd: it is being written
	char label[WIRE_LABEL];                      // zero terminated
};
_Static_assert(sizeof(struct thread_slot) <= SLOT_SMALL_RING_AT, "layout");

static inline uint32_t wire_ring_log2(unsigned ring) {
	return ring == RING_SMALL ? RING_SMALL_LOG2 : RING_BIG_LOG2;
}

static inline uint32_t wire_ring_entries(unsigned ring) {
	return 1u << wire_ring_log2(ring);
}

static inline uint32_t wire_ring_at(unsigned ring) {
	return ring == RING_SMALL ? SLOT_SMALL_RING_AT : SLOT_BIG_RING_AT;
}

/** The phase bit, in place (bit 63), of a published entry `index` of a ring of 1 << `log2`. */
static inline uint64_t wire_phase(uint64_t index, uint32_t log2) {
	return (~(index >> log2) & 1) << 63;
}

/** Do (ptr, size) need a KIND_WIDE entry? `ptr` carries no tags of the machine. */
static inline int wire_is_wide(uint64_t ptr, uint64_t size) {
	// Rotation puts the low bits on top: one test for both
	return (ptr >> 4 | ptr << 60) >> WIRE_PTR_BITS != 0 || size >= WIRE_SIZE_WIDE;
}

/** `ptr` must not be wide. */
static inline uint64_t wire_head(uint64_t phase, enum wire_kind kind, uint64_t stamp,
		uint64_t ptr) {
	return phase | (uint64_t)kind << WIRE_KIND_SHIFT |
			(stamp & ((1u << WIRE_STAMP_LOW) - 1)) << WIRE_PTR_BITS | ptr >> 4;
}

/** `node` < WIRE_MAX_NODES, `size` <= WIRE_SIZE_WIDE. */
static inline uint64_t wire_body(uint32_t node, uint32_t size, uint64_t stamp) {
	return (uint64_t)node | (uint64_t)size << WIRE_NODE_BITS |
			(stamp >> WIRE_STAMP_LOW) << (WIRE_NODE_BITS + WIRE_SIZE_BITS);
}

static inline enum wire_kind wire_head_kind(uint64_t head) {
	return (enum wire_kind)(head >> WIRE_KIND_SHIFT & 15);
}

static inline uint64_t wire_head_ptr(uint64_t head) {
	return (head & ((1ull << WIRE_PTR_BITS) - 1)) << 4;
}

/** The whole stamp of an event, `base` being that of the last KIND_STAMP. */
static inline uint64_t wire_stamp(uint64_t base, uint64_t head, uint64_t body) {
	uint64_t low = (head >> WIRE_PTR_BITS & ((1u << WIRE_STAMP_LOW) - 1)) |
			body >> (WIRE_NODE_BITS + WIRE_SIZE_BITS) << WIRE_STAMP_LOW;
	// The event may also be a little older than that, see above
	int64_t away = (int64_t)((low - base) << (64 - WIRE_STAMP_BITS)) >> (64 - WIRE_STAMP_BITS);
	return base + (uint64_t)away;
}

static inline uint32_t wire_body_node(uint64_t body) {
	return (uint32_t)body & (WIRE_MAX_NODES - 1);
}

static inline uint32_t wire_body_size(uint64_t body) {
	return (uint32_t)(body >> WIRE_NODE_BITS) & WIRE_SIZE_WIDE;
}

// ---- the two halves of a KIND_WIDE entry

static inline uint64_t wire_wide_head(uint64_t phase, uint64_t ptr) {
	return phase | (uint64_t)KIND_WIDE << WIRE_KIND_SHIFT | ptr << 1 >> 5;
}

static inline uint64_t wire_wide_body(uint64_t ptr, uint64_t size) {
	return (ptr & 15) | size << 4;
}

static inline uint64_t wire_wide_ptr(uint64_t head, uint64_t body) {
	return (head & ((1ull << WIRE_KIND_SHIFT) - 1)) << 4 | (body & 15);
}

static inline uint64_t wire_wide_size(uint64_t body) {
	return body >> 4;
}

// ---- the low bits of a mapping's ptr field

static inline uint32_t wire_map_sort(uint32_t protection, int is_shared, enum wire_map_what what) {
	return (protection & 7) | (uint32_t)(is_shared != 0) << 3 | (uint32_t)what << 4;
}

/** What to add to an address to make the event's pointer. */
static inline uint64_t wire_map_in_ptr(uint32_t sort) {
	return (uint64_t)sort << 4;
}

static inline uint32_t wire_map_sort_of(uint64_t ptr) {
	return (uint32_t)(ptr >> 4) & ((1u << WIRE_MAP_BITS) - 1);
}
