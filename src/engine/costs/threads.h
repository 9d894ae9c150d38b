// SPDX-License-Identifier: MIT
#pragma once
/**
 * Counts what each thread allocated and freed. Each thread that ever existed has an id, with what
 * later frees of its blocks need, and a record of totals. A program can run a hundred thousand
 * threads, so records are shared: ended threads, if many, are merged by name, except those that
 * allocated most. Blocks store only the id. Frees by other threads are counted per pair of records.
 */

#include "trace/recording.h"

enum {
	THREADS_MANY = 2048,     // records before ended ones are merged
	THREADS_KEPT = 512,      // ended ones that stay separate
	THREAD_GROUPS = 512,     // names distinguished among merged ones
	THREADS_MAX = 1 << 28,   // ids: struct trace_event has 28 bits
	HANDOVERS_MAX = 1 << 16, // pairs; further ones count for (from, 0)
	THREAD_NONE = 0,         // id and record of no thread
};

struct thread_id {
	uint64_t allocations; // of this thread alone
	uint32_t record;
	uint32_t pending; // its newest pending realloc
};

struct thread_record {
	uint64_t live_bytes, peak_bytes; // peak_bytes: valid in `epoch`
	uint32_t epoch;
	uint32_t id;                 // whose record it is, or was
	uint64_t merged_allocations; // of a group; a single thread's are with its id
	uint64_t allocated_bytes, frees, temporary, foreign_frees;
	uint64_t first_ns, last_ns;
	uint32_t tid, image, name;
	uint32_t n_merged; // > 0: a group
	bool is_used, has_ended;
};

struct threads {
	VEC(struct thread_id) ids;
	VEC(struct thread_record) records;
	uint32_t n_used;   // records
	uint32_t merge_at; // merge at this many records
	uint32_t n_groups;
	uint32_t unused_hint;               // no record before it is unused
	VEC(struct rec_handover) handovers; // between records
	struct index handover_index;
};

void threads_init(struct threads *t);
void threads_finish(struct threads *t);
uint64_t threads_bytes(const struct threads *t);

/** Add a thread and return its id; THREAD_NONE: there are too many. `epoch`: the current one. */
uint32_t threads_add(struct threads *t, uint32_t tid, uint32_t image, uint64_t now_ns,
		uint32_t epoch);
void threads_end(struct threads *t, uint32_t id, uint64_t now_ns);

static inline struct thread_record *thread_record_of(struct threads *t, uint32_t id) {
	return &t->records.items[t->ids.items[id].record];
}

static inline uint64_t thread_allocations(const struct threads *t, const struct thread_record *r) {
	return r->n_merged ? r->merged_allocations : t->ids.items[r->id].allocations;
}

static inline uint64_t thread_peak_bytes(const struct thread_record *r, uint32_t epoch) {
	return r->epoch == epoch ? r->peak_bytes : r->live_bytes;
}

/** Restart epochs because their number no longer fits: `epoch` becomes 1. */
void threads_restart_epochs(struct threads *t, uint32_t epoch);

void handovers_reserve(struct threads *t, uint32_t more);

/** Count a free of a block of thread `from` by another thread. Requires handovers_reserve. */
void handovers_count(struct threads *t, uint32_t from, uint32_t to, uint64_t bytes);
