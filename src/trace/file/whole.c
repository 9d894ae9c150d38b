// SPDX-License-Identifier: MIT
/*
 * Writes the finished file.
 *
 * It has head, note, log, infos, events and state, and nothing between. The head says how long
 * the file is, and is written last: until then the file counts as growing, and has no slots.
 */
#include "trace/file/pack.h"
#include "trace/file/scan.h"
#include "trace/file/writer.h"
#include "trace/tables/payload.h"

struct whole {
	struct trace_sink sink;
	uint64_t end;
	struct buffer raw, stored;
};

static bool append(struct whole *w, const void *data, size_t n, struct err *err) {
	if (!w->sink.write(w->sink.user, w->end, data, n, err)) {
		return false;
	}
	w->end += n;
	return true;
}

static bool write_head(struct whole *w, uint64_t finished_bytes, struct err *err) {
	uint8_t bytes[FRAME_TAG_BYTES + FRAME_HEAD_BYTES];
	struct frame_head head = {.version = TRACE_VERSION,
			.reader = TRACE_READER_VERSION,
			.finished_bytes = finished_bytes};
	frame_put_tag(bytes, FRAME_HEAD, FRAME_HEAD_BYTES);
	frame_put_head(bytes + FRAME_TAG_BYTES, &head);
	return w->sink.write(w->sink.user, 0, bytes, sizeof bytes, err);
}

// A block around what is in `stored`
static bool append_block(struct whole *w, const struct frame_block *block, struct err *err) {
	uint8_t bytes[FRAME_TAG_BYTES + FRAME_BLOCK_BYTES + FRAME_ALIGN] = {0};
	size_t payload = FRAME_BLOCK_BYTES + frame_block_gap(w->stored.size);
	frame_put_tag(bytes, FRAME_BLOCK, (uint32_t)payload);
	frame_put_block(bytes + FRAME_TAG_BYTES, block);
	return append(w, bytes, FRAME_TAG_BYTES + payload, err) &&
			append(w, w->stored.data, w->stored.size, err);
}

static bool pack_block(struct whole *w, uint8_t type, uint64_t sequence, struct err *err) {
	if (w->raw.failed) {
		return err_memory(err);
	}
	if (!pack(&w->stored, buffer_view(&w->raw), PACK_COMPACT, err)) {
		return false;
	}
	struct frame_block block = {.type = type,
			.sequence = sequence,
			.stored_bytes = w->stored.size,
			.raw_bytes = w->raw.size};
	return append_block(w, &block, err);
}

static bool write_log(struct whole *w, const struct recording *r, struct err *err) {
	struct log_marks marks = {0};
	struct log_piece piece = {0};
	bool ok = true;
	for (uint64_t sequence = 1; ok; sequence++) {
		if (!log_encode(&w->raw, &piece, &marks, r) || !log_piece_reserve(&marks, &piece)) {
			ok = err_memory(err);
		} else if (w->raw.size == 0) {
			break;
		} else {
			ok = pack_block(w, BLOCK_LOG, sequence, err);
			log_piece_done(&marks, &piece);
		}
	}
	log_piece_finish(&piece);
	log_marks_finish(&marks);
	return ok;
}

static bool copy_block(struct whole *w, const struct trace_source *old,
		const struct scan_block *block, struct err *err) {
	buffer_clear(&w->stored);
	uint8_t *at = buffer_room(&w->stored, block->header.stored_bytes);
	if (!at) {
		return err_memory(err);
	}
	if (!scan_read(old, block->stored_at, at, block->header.stored_bytes, err)) {
		return err_add(err, "copying events");
	}
	w->stored.size = block->header.stored_bytes;
	return append_block(w, &block->header, err);
}

static bool copy_events(struct whole *w, const struct trace_source *old, struct err *err) {
	struct scan scan;
	if (!scan_file(&scan, old, UINT64_MAX, err)) {
		return err_add(err, "the growing file");
	}
	bool ok = true;
	for (size_t i = 0; ok && i < scan.infos.n; i++) {
		ok = copy_block(w, old, &scan.infos.items[i], err);
	}
	scan_sort(&scan.events);
	for (size_t i = 0; ok && i < scan.events.n; i++) {
		ok = copy_block(w, old, &scan.events.items[i], err);
	}
	scan_finish(&scan);
	return ok;
}

static bool write_all(struct whole *w, const struct recording *r, const struct trace_source *old,
		struct err *err) {
	if (!write_head(w, 0, err)) {
		return false;
	}
	w->end = FRAME_TAG_BYTES + FRAME_HEAD_BYTES;
	uint8_t note[FRAME_NOTE_BYTES];
	frame_put_note(note);
	if (!append(w, note, sizeof note, err) || !write_log(w, r, err) ||
			(old && !copy_events(w, old, err))) {
		return false;
	}
	buffer_clear(&w->raw);
	state_encode(&w->raw, r);
	return pack_block(w, BLOCK_STATE, 1, err) && write_head(w, w->end, err);
}

bool trace_write_whole(struct trace_sink sink, const struct recording *r,
		struct trace_writer *growing, const struct trace_source *old, struct err *err) {
	struct whole w = {.sink = sink};
	if (r->meta.rate_log2) {
		return err_set(err, ERR_UNSUPPORTED, "a sampled recording cannot be written again");
	}
	bool ok = (!growing || !old || writer_cut_events(growing, err)) && write_all(&w, r, old, err);
	buffer_finish(&w.raw);
	buffer_finish(&w.stored);
	return ok;
}
