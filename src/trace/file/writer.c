// SPDX-License-Identifier: MIT
/*
 * Writes the growing file, and the finished one.
 *
 * A checkpoint of the growing file first brings the log up to date, then writes the state into the
 * slot whose turn it is:
 *
 *      checkpoint  1 2 3 4 5 6 7 8 9 ...
 *      slot        0 1 0 1 0 1 0 2 0 ...
 *
 * So there is always a whole one that is one checkpoint old, and one for readers that take longer
 * than that: copying a slot over a slow line.
 *
 * The finished file has head, note, log, infos, events and state, and nothing between. The head,
 * written last, says how long the file is: until then it counts as growing, and has no slots.
 */
#include "trace/events/events.h"
#include "trace/file/scan.h"

enum { N_SLOTS = 3, SLOW_SLOT = 2, SLOW_TURNS = 8, SLOT_MIN_BYTES = 16 << 10 };

struct event_block {
	struct place place;
	uint32_t n;
};

/** The growing file, or the finished one, which has no slots and no list of blocks. */
struct trace_writer {
	struct space space;
	struct buffer raw, stored; // of the block under construction

	// How much of the log is written
	struct log_marks marks;
	struct log_piece piece;
	uint64_t n_log_blocks;

	struct place slots[N_SLOTS];
	uint64_t slot_bytes; // 0: no slots yet
	uint64_t n_checkpoints;
	bool has_state; // of the last checkpoint

	struct events_encoder events;
	VEC(struct event_block) blocks; // oldest first; those before first_kept were dropped
	size_t first_kept;
	uint64_t n_event_blocks, n_info_blocks; // ever written: their sequence numbers
	uint64_t n_events, n_dropped;
	uint64_t event_bytes, event_budget;
};

static void finish(struct trace_writer *w) {
	CALL_FOR(vec_finish, w, space.holes, marks.named, piece.names, blocks);
	CALL_FOR(buffer_finish, w, raw, stored);
	events_finish(&w->events);
}

// ---- blocks and the log, for both

/** Pack `raw` into `stored`. `block`: gets the lengths. */
static void pack_raw(struct trace_writer *w, struct frame_block *block) {
	pack(&w->stored, buffer_view(&w->raw), w->space.is_finished ? PACK_COMPACT : PACK_FAST);
	block->raw_bytes = w->raw.size;
	block->stored_bytes = w->stored.size;
}

/** Append a block with what is in `stored`. */
static bool put_stored(struct trace_writer *w, const struct frame_block *block, struct err *err) {
	struct place place;
	return space_put_block(&w->space, block, buffer_view(&w->stored), false, &place, err);
}

/** Append a block with what is in `raw`. */
static bool put_raw(struct trace_writer *w, uint8_t type, uint64_t sequence, struct err *err) {
	struct frame_block block = {.type = type, .sequence = sequence};
	pack_raw(w, &block);
	return put_stored(w, &block, err);
}

/** Write what `r` has and the log lacks. */
static bool write_log(struct trace_writer *w, const struct recording *r, struct err *err) {
	for (;;) {
		log_encode(&w->raw, &w->piece, &w->marks, r);
		if (w->raw.size == 0) {
			return true;
		}
		if (!put_raw(w, BLOCK_LOG, w->n_log_blocks + 1, err)) {
			return false;
		}
		w->n_log_blocks++;
		log_piece_done(&w->marks, &w->piece);
	}
}

// ---- the growing file

struct trace_writer *trace_writer_create(struct trace_sink sink, uint64_t event_bytes,
		struct err *err) {
	struct trace_writer *w = memory_new(1, sizeof *w);
	w->event_budget = event_bytes ?: UINT64_MAX;
	if (!space_init(&w->space, sink, err)) {
		trace_writer_destroy(w);
		return NULL;
	}
	return w;
}

void trace_writer_destroy(struct trace_writer *w) {
	if (w) {
		finish(w);
	}
	free(w);
}

// ---- slots

// Make slots for a state of `bytes`. The old ones go once a new one is whole
static bool make_slots(struct trace_writer *w, uint64_t bytes, struct place *old, struct err *err) {
	memcpy(old, w->slots, sizeof w->slots);
	uint64_t want = w->slot_bytes * 2;
	want = want < bytes * 2 ? bytes * 2 : want;
	want = want < SLOT_MIN_BYTES ? SLOT_MIN_BYTES : want;
	if (!space_put_slots(&w->space, N_SLOTS, want, w->slots, err)) {
		memcpy(w->slots, old, sizeof w->slots);
		return false;
	}
	w->slot_bytes = want;
	return true;
}

static void pack_state(struct trace_writer *w, const struct recording *r,
		struct frame_block *header) {
	*header = (struct frame_block){.sequence = w->n_checkpoints + 1,
			.n_log_blocks = w->n_log_blocks};
	buffer_clear(&w->raw);
	state_encode(&w->raw, r);
	pack_raw(w, header);
}

/** Put what is in `stored` into the next slot. */
static bool fill_slot(struct trace_writer *w, const struct frame_block *header, struct err *err) {
	size_t slot = header->sequence % SLOW_TURNS == 0 ? SLOW_SLOT : (header->sequence + 1) % 2;
	bool ok = space_write_slot(&w->space, w->slots[slot], header, buffer_view(&w->stored), err);
	w->n_checkpoints += ok;
	return ok;
}

static bool write_state(struct trace_writer *w, const struct recording *r, struct err *err) {
	struct frame_block header;
	pack_state(w, r, &header);
	struct place old[N_SLOTS] = {0};
	bool is_larger = w->stored.size > w->slot_bytes;
	return (!is_larger || make_slots(w, w->stored.size, old, err)) && fill_slot(w, &header, err) &&
			(!is_larger ||
					ALL(i, N_SLOTS, old[i].bytes == 0 || space_drop(&w->space, old[i], err)));
}

// ---- events

static bool drop_oldest(struct trace_writer *w, struct err *err) {
	struct event_block *oldest = &w->blocks.items[w->first_kept];
	if (!space_drop(&w->space, oldest->place, err)) {
		return false;
	}
	w->event_bytes -= oldest->place.bytes;
	w->n_dropped += oldest->n;
	w->first_kept++;
	// Shrink the list occasionally
	if (w->first_kept > 1024 && w->first_kept > w->blocks.n / 2) {
		w->blocks.n -= w->first_kept;
		memmove(w->blocks.items, w->blocks.items + w->first_kept,
				w->blocks.n * sizeof *w->blocks.items);
		w->first_kept = 0;
	}
	return true;
}

static bool write_infos(struct trace_writer *w, struct err *err) {
	infos_encode(&w->events, &w->raw);
	if (w->raw.size == 0) {
		return true;
	}
	if (!put_raw(w, BLOCK_INFOS, w->n_info_blocks + 1, err)) {
		return false;
	}
	w->n_info_blocks++;
	w->events.n_infos_written += w->events.new_infos.n;
	w->events.new_infos.n = 0;
	return true;
}

static bool write_events(struct trace_writer *w, struct err *err) {
	events_encode(&w->events, &w->raw);
	struct frame_block block = {
			.type = BLOCK_EVENTS,
			.sequence = w->n_event_blocks + 1,
			.first = w->n_events,
			.n = w->events.n,
	};
	struct event_block e = {.n = w->events.n};
	pack_raw(w, &block);
	if (!EVERY(w->first_kept < w->blocks.n &&
						w->event_bytes + frame_block_span(w->stored.size) > w->event_budget,
				drop_oldest(w, err)) ||
			!space_put_block(&w->space, &block, buffer_view(&w->stored), true, &e.place, err)) {
		return false;
	}
	(void)vec_add(&w->blocks, e);
	w->n_event_blocks++;
	w->event_bytes += e.place.bytes;
	return true;
}

/** Write all events given so far. */
static bool cut_events(struct trace_writer *w, struct err *err) {
	if (w->events.n == 0) {
		return true;
	}
	bool ok = write_infos(w, err) && write_events(w, err);
	w->n_dropped += ok ? 0 : w->events.n;
	w->n_events += w->events.n;
	events_next_block(&w->events);
	return ok || err_add(err, "events");
}

bool trace_writer_events(struct trace_writer *w, const struct trace_event *events, size_t n,
		struct err *err) {
	enum { AHEAD = 24 };
	bool ok = true;
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n) {
			map_fetch(&w->events.blocks, events[i + AHEAD].ptr);
		}
		events_add(&w->events, &events[i]);
		if (w->events.n == EVENTS_PER_BLOCK) {
			ok &= cut_events(w, err);
		}
	}
	return ok;
}

uint64_t trace_writer_events_dropped(const struct trace_writer *w) {
	return w->n_dropped;
}

bool trace_writer_checkpoint(struct trace_writer *w, const struct recording *r, struct err *err) {
	w->has_state = false;
	bool has_events = cut_events(w, err);
	if (!write_log(w, r, err)) {
		return err_add(err, "log");
	}
	w->has_state = write_state(w, r, err) || err_add(err, "checkpoint");
	return w->has_state && has_events;
}

bool trace_writer_narrow(struct trace_writer *w, struct recording *r, struct err *err) {
	const struct counts_row *log = &w->marks.counts;
	if (w->has_state) {
		return true; // only the events found no room
	}
	if (w->slot_bytes == 0 || !log->strings || !log->locations || !log->nodes) {
		return err_limit(err, "there is no room for a first checkpoint");
	}
	struct frame_block header;
	for (enum narrow_level level = NARROW_TO_LOG; level < N_NARROW_LEVELS; level++) {
		narrow(r, log, level);
		pack_state(w, r, &header);
		if (w->stored.size <= w->slot_bytes) {
			return fill_slot(w, &header, err);
		}
	}
	return err_limit(err, "there is no room for the totals");
}

// ---- the finished file

static bool write_start(struct trace_writer *w, uint64_t finished_bytes, struct err *err) {
	uint8_t bytes[FRAME_START_BYTES];
	frame_put_start(bytes, finished_bytes);
	return w->space.sink.write(w->space.sink.user, 0, bytes, sizeof bytes, err);
}

static bool copy_block(struct trace_writer *w, const struct trace_source *old,
		const struct scan_block *block, struct err *err) {
	buffer_clear(&w->stored);
	uint8_t *at = buffer_room(&w->stored, block->header.stored_bytes);
	if (!scan_read(old, block->stored_at, at, block->header.stored_bytes, err)) {
		return err_add(err, "copying events");
	}
	w->stored.size = block->header.stored_bytes;
	return put_stored(w, &block->header, err);
}

static bool copy_events(struct trace_writer *w, const struct trace_source *old, struct err *err) {
	SCOPED(scan) scan;
	if (!scan_file(&scan, old, UINT64_MAX, err)) {
		return err_add(err, "the growing file");
	}
	bool ok = ALL(i, scan.infos.n, copy_block(w, old, &scan.infos.items[i], err));
	scan_sort(&scan.events);
	return ok && ALL(i, scan.events.n, copy_block(w, old, &scan.events.items[i], err));
}

static bool write_all(struct trace_writer *w, const struct recording *r,
		const struct trace_source *old, struct err *err) {
	if (!write_start(w, 0, err) || !write_log(w, r, err) || (old && !copy_events(w, old, err))) {
		return false;
	}
	buffer_clear(&w->raw);
	state_encode(&w->raw, r);
	return put_raw(w, BLOCK_STATE, 1, err) && write_start(w, w->space.tail.at, err);
}

bool trace_write_whole(struct trace_sink sink, const struct recording *r,
		struct trace_writer *growing, const struct trace_source *old, struct err *err) {
	struct trace_writer w = {
			.space = {.sink = sink, .tail.at = FRAME_START_BYTES, .is_finished = true}};
	bool ok = (!growing || !old || cut_events(growing, err)) && write_all(&w, r, old, err);
	finish(&w);
	return ok;
}
