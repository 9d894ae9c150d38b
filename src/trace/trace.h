// SPDX-License-Identifier: MIT
#pragma once
/**
 * The recording file, from bytes to struct recording and back. The caller provides source and sink
 * of the bytes: this module uses no file descriptors. docs/trace-format.md is the specification. A
 * file is a row of zstd frames, skippable ones included, so `zstd -t` accepts it. While it grows: a
 * head, an append-only log (strings, nodes, names; events on request) and slots for checkpoints of
 * everything that changes. Finished: the same log, compact, and the state at the end. A reader
 * takes the newest whole state whose log is there.
 */

#include "trace/recording.h"

/** Where bytes come from. `read` returns up to `n` bytes at `offset`, fewer only at the end. */
struct trace_source {
	bool (*read)(void *user, uint64_t offset, void *out, size_t n, size_t *got, struct err *err);
	uint64_t size; // when opened; a growing file may be larger by now
	void *user;
};

/** Where bytes go. `write` writes all or fails; offsets are never beyond what was written. */
struct trace_sink {
	bool (*write)(void *user, uint64_t offset, const void *data, size_t n, struct err *err);
	void *user;
};

struct trace_writer;

/**
 * Start a file at offset 0. The sink must outlive the writer. `event_bytes` limits the total size
 * of event blocks; 0: no limit. Beyond it new ones replace the oldest in the file.
 */
struct trace_writer *trace_writer_create(struct trace_sink sink, uint64_t event_bytes,
		struct err *err);

/**
 * Bring the file up to the state of `r`: additions to the append-only tables (strings, nodes,
 * locations, frames) go to the log, everything else into a slot that is not the newest. Returns
 * when all is written. The file is valid after every single write of the sink, and holds the last
 * checkpoint until the new one is there. `r`'s append-only tables must be those of the last call or
 * have grown; a location may gain frames once (n_frames 0 -> n). False: the last checkpoint is
 * still there, and the writer is usable.
 */
bool trace_writer_checkpoint(struct trace_writer *w, const struct recording *r, struct err *err);

/**
 * After a checkpoint that failed because the disk is full: write one without any growth. What the
 * log lacks, and if need be what the slots cannot hold, is removed from `r`; its totals stay.
 * False: the file holds no state yet, or cannot be written at all.
 */
bool trace_writer_narrow(struct trace_writer *w, struct recording *r, struct err *err);

/** An event of an --events recording, as ordered by the collector. 32 bytes. */
struct trace_event {
	uint64_t ptr;
	uint64_t size;
	uint64_t time_ns;
	uint32_t node;
	uint32_t thread : 28; // at most TRACE_THREAD_MAX
	uint32_t kind : 4;    // enum trace_event_kind
};

enum { TRACE_THREAD_MAX = (1 << 28) - 1 };

// The last two only occur in files; aggregate.h has functions for them
enum trace_event_kind {
	TRACE_ALLOC = 1,   // ptr, size, node
	TRACE_FREE = 2,    // ptr
	TRACE_REALLOC = 3, // ptr: the address is free; the block lives until MOVED or STAYED
	TRACE_MOVED =
			4, // ptr, size, node: ends the thread's newest pending REALLOC; both halves happen now
	TRACE_STAYED = 5,       // ptr: the pending REALLOC failed, nothing happened
	TRACE_EXEC = 6,         // the image was replaced: all blocks and threads are gone
	TRACE_THREAD_ENDED = 7, // thread: its pending REALLOCs are undone
};

/** A REALLOC until it ends; `value` belongs to the user. */
struct trace_pending {
	uint32_t thread;
	uint64_t ptr, value;
};

/** Remove the thread's newest; all 0: none. */
struct trace_pendings {
	VEC(struct trace_pending);
};
struct trace_pending trace_take_pending(struct trace_pendings *pending, uint32_t thread);

/** The `ptr` that a reader gets for a block whose allocation was not recorded. */
#define TRACE_UNKNOWN_PTR 1

/**
 * Append any number of events to the file (paired columns, in blocks of 64 Ki events; a checkpoint
 * ends a block, too). `ptr` is used to pair them but not stored: see trace_read_events. False: the
 * events of the unfinished block are lost, and counted as dropped; the writer is usable.
 */
bool trace_writer_events(struct trace_writer *w, const struct trace_event *events, size_t n,
		struct err *err);

/** Events given to the writer that are no longer in the file, for rec_quality. */
uint64_t trace_writer_events_dropped(const struct trace_writer *w);

/**
 * Write all of `r` compactly, as a finished file, to another sink (the collector then renames it
 * over the growing one). `old`: the growing file, to copy events from, or NULL; `w`: its writer,
 * which may have unwritten events, or NULL.
 */
bool trace_write_whole(struct trace_sink sink, const struct recording *r, struct trace_writer *w,
		const struct trace_source *old, struct err *err);

void trace_writer_destroy(struct trace_writer *w);

/** What a reader found out about the file itself. */
struct trace_facts {
	uint32_t version;
	bool is_finished;       // it has its final state
	bool is_torn;           // bytes after the last whole frame, or fewer than the head says
	uint64_t good_bytes;    // up to here, everything but damaged_bytes is whole frames
	uint64_t damaged_bytes; // skipped: a copy of a changing file, or damage
	uint64_t n_event_blocks;
	uint64_t n_events;
	uint64_t first_event; // number of the first event still there
};

/** Do the first bytes belong to our file, of any version? */
bool trace_is_ours(struct slice head);

/**
 * Read a file into `out` (zeroed by the caller). False: unusable; `err` says what and where. Reads
 * no more than the tables need, trusts no count, and uses at most `max_bytes` of memory (0: 16
 * GiB). Refuses newer versions with a message that says so.
 */
bool trace_read(struct recording *out, struct trace_facts *facts, const struct trace_source *src,
		uint64_t max_bytes, struct err *err);

/** Return false to stop reading. */
typedef bool trace_each_events(void *user, const struct trace_event *events, size_t n);

/**
 * Pass all events still in the file to `each`, in order and in batches; true also if `each`
 * stopped. `ptr` is not the address, which the file lacks, but identifies the block as one would:
 * unique among live blocks, a multiple of 16, TRACE_UNKNOWN_PTR for one whose allocation was never
 * seen. A free of a block whose allocation was dropped has a ptr that did not occur before. `size`
 * and `node` are 0 where the kind has none.
 *
 * `r`: the file's recording, by whose table nodes are checked: too new ones in a growing file
 * become 0, in a finished file they are damage. NULL: no check. `thread` is the id from the
 * collector, not an index into r->threads (which merges short ones).
 */
bool trace_read_events(const struct trace_source *src, const struct recording *r,
		trace_each_events *each, void *user, struct err *err);
