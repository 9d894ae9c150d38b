// SPDX-License-Identifier: MIT
#pragma once
/**
 * The recording file, from bytes to struct recording and back.
 *
 * Source and sink of the bytes are the caller's: this module touches no file descriptor.
 * docs/trace-format.md is the specification.
 *
 * A file is a row of zstd frames, skippable ones included, so `zstd -t` accepts it. While it grows:
 * a head, an append-only log (strings, nodes, names; events if asked for) and slots for checkpoints
 * of everything that changes. Finished: the same log, compact, and the state at the end. A reader
 * takes the newest whole state that the log can carry.
 */

#include "trace/recording.h"

/** Where bytes come from. `read` gives up to `n` bytes at `offset`; short only at the end. */
struct trace_source {
	bool (*read)(void *user, uint64_t offset, void *out, size_t n, size_t *got, struct err *err);
	uint64_t size; // when opened; a growing file may have more by now
	void *user;
};

/** Where bytes go. `write` writes all or fails; no offset lies beyond what was written before. */
struct trace_sink {
	bool (*write)(void *user, uint64_t offset, const void *data, size_t n, struct err *err);
	void *user;
};

struct trace_writer;

/**
 * Start a file at offset 0. The sink must outlive the writer. `event_bytes`: what all event blocks
 * together may take, 0: no bound. Beyond it the oldest are dropped and newer ones take their place
 * in the file.
 */
struct trace_writer *trace_writer_create(struct trace_sink sink, uint64_t event_bytes,
		struct err *err);

/**
 * Bring the file up to the state of `r`: what is new at the end of the append-only tables
 * (strings, nodes, locations, frames) goes to the log, the rest into a slot that is not the newest.
 * Returns only when all is written. The file is whole after every single write of the sink, and
 * holds the last checkpoint until the new one is there. `r`'s append-only tables must be those of
 * the last call or have grown; a location may gain frames once (n_frames 0 -> n). False: what was
 * last written whole is still there, and the writer may be used again.
 */
bool trace_writer_checkpoint(struct trace_writer *w, const struct recording *r, struct err *err);

/**
 * After a checkpoint that failed because the disk is full: the same without any growth. What the
 * log lacks, and if need be what the slots cannot hold, is taken out of `r`; its totals stay.
 * False: the file holds no state yet, or cannot even be written where it is.
 */
bool trace_writer_narrow(struct trace_writer *w, struct recording *r, struct err *err);

/** One event of an --events recording, as ordered by the collector. 32 bytes. */
struct trace_event {
	uint64_t ptr;
	uint64_t size;
	uint64_t time_ns;
	uint32_t node;
	uint32_t thread : 28; // at most TRACE_THREAD_MAX
	uint32_t kind : 4;    // enum trace_event_kind
};

enum { TRACE_THREAD_MAX = (1 << 28) - 1 };

// The last two are for files alone: aggregate.h has calls of its own for them
enum trace_event_kind {
	TRACE_ALLOC = 1,   // ptr, size, node
	TRACE_FREE = 2,    // ptr
	TRACE_REALLOC = 3, // ptr: the address is given back; the block lives on until MOVED or STAYED
	TRACE_MOVED =
			4, // ptr, size, node: ends the thread's newest pending REALLOC; both halves happen now
	TRACE_STAYED = 5,       // ptr: the pending REALLOC failed, nothing happened
	TRACE_EXEC = 6,         // the image was replaced: every block and thread is gone.
	TRACE_THREAD_ENDED = 7, // thread: its pending REALLOCs are undone.
};

/** A REALLOC until it ends, and what the block has with whom follows the events. */
struct trace_pending {
	uint32_t thread;
	uint64_t ptr, value;
};

/** The thread's newest, taken off; all 0: there is none. */
struct trace_pendings {
	VEC(struct trace_pending);
};
struct trace_pending trace_take_pending(struct trace_pendings *pending, uint32_t thread);

/** The `ptr` that a reader gets for a block whose allocation was not recorded: of no block. */
#define TRACE_UNKNOWN_PTR 1

/**
 * Append events to the file (paired columns, blocks of 64 Ki events; a checkpoint cuts one as
 * well). May be called with any number of events. `ptr` is used to pair them and is not kept: see
 * trace_read_events. False: the events of the block in the making are lost, and counted as
 * dropped; the writer goes on.
 */
bool trace_writer_events(struct trace_writer *w, const struct trace_event *events, size_t n,
		struct err *err);

/** Events given to the writer that the file does not hold any more: for rec_quality. */
uint64_t trace_writer_events_dropped(const struct trace_writer *w);

/**
 * Write the whole of `r` compactly, as a finished file, to another sink (the collector then renames
 * it over the growing one). `old`: the growing file, to copy events from, or NULL; `w`: its writer,
 * which may hold events that are not in the file yet, or NULL.
 */
bool trace_write_whole(struct trace_sink sink, const struct recording *r, struct trace_writer *w,
		const struct trace_source *old, struct err *err);

void trace_writer_destroy(struct trace_writer *w);

/** What a reader found out about the file itself, apart from the recording. */
struct trace_facts {
	uint32_t version;
	bool is_finished;       // the index at the end was used
	bool is_torn;           // bytes after the last whole frame, or fewer than the head says
	uint64_t good_bytes;    // up to here all but damaged_bytes are whole frames
	uint64_t damaged_bytes; // stepped over: a copy of a changing file, or damage
	uint64_t n_event_blocks;
	uint64_t n_events;
	uint64_t first_event; // number of the first event that is still there
};

/** True if the first bytes are those of our file, of whatever version. */
bool trace_is_ours(struct slice head);

/**
 * Read a file into `out` (zeroed by the caller). False: nothing usable; `err` says what and where.
 * Never reads more than the tables need, never trusts a count, bounded by `max_bytes` of memory
 * (0: 16 GiB). Versions newer than we know are refused by a sentence that says so.
 */
bool trace_read(struct recording *out, struct trace_facts *facts, const struct trace_source *src,
		uint64_t max_bytes, struct err *err);

/** False: enough, read no further. */
typedef bool trace_each_events(void *user, const struct trace_event *events, size_t n);

/**
 * Hand all events that the file still holds, in order, to `each`, in batches; true also if `each`
 * ended it. `ptr` is not the address (that is not in the file) but names the block as an address
 * would: unique among the blocks alive, a multiple of 16, TRACE_UNKNOWN_PTR for one whose
 * allocation was never seen. A free of a block whose allocation was dropped has a ptr that did not
 * occur. `size` and `node` are 0 where the kind has none.
 *
 * With `r`, the file's recording, nodes are checked against its table: in a growing file those too
 * young for it become 0, in a finished one they are damage. NULL: they are what the file says.
 * `thread` is the id that the collector gave, no index into r->threads (which merges short ones).
 */
bool trace_read_events(const struct trace_source *src, const struct recording *r,
		trace_each_events *each, void *user, struct err *err);
