// SPDX-License-Identifier: MIT
#include "trace/scan.h"

#include "base/cursor.h"
#include "base/vec.h"
#include "trace/pack.h"

#include <inttypes.h>
#include <stdlib.h>

// A small window over the source: hops are short where frames are small
struct window {
	const struct trace_source *src;
	uint64_t at;
	size_t n;
	uint8_t bytes[4096];
};

// `n` bytes at `at`; fewer at the end of the file
static bool look(struct window *w, uint64_t at, size_t n, struct slice *out, struct err *err) {
	if (at < w->at || at - w->at > w->n || w->n - (at - w->at) < n) {
		size_t got = 0;
		if (!w->src->read(w->src->user, at, w->bytes, sizeof w->bytes, &got, err)) {
			return false;
		}
		w->at = at;
		w->n = got <= sizeof w->bytes ? got : sizeof w->bytes;
	}
	size_t skip = (size_t)(at - w->at);
	size_t left = w->n - skip;
	*out = slice_of(w->bytes + skip, left < n ? left : n);
	return true;
}

// ---- one frame

struct frame {
	uint32_t magic;
	uint64_t at, payload_bytes;
};

// False with err->code 0: no whole tag of a skippable frame is there
static bool look_frame(struct window *w, uint64_t at, struct frame *out, struct err *err) {
	struct slice tag;
	if (!look(w, at, FRAME_TAG_BYTES, &tag, err)) {
		return false;
	}
	struct cursor c = cursor_init(tag);
	out->magic = cursor_u32(&c);
	out->payload_bytes = cursor_u32(&c);
	out->at = at;
	return !c.failed && frame_is_skippable(out->magic);
}

// Is the byte before `end` there?
static bool reaches(struct window *w, uint64_t end, struct err *err) {
	struct slice last;
	return end <= w->src->size || (look(w, end - 1, 1, &last, err) && last.size == 1);
}

static struct scan_blocks *list_of(struct scan *s, uint8_t type) {
	switch (type) {
	case BLOCK_LOG: return &s->log;
	case BLOCK_INFOS: return &s->infos;
	case BLOCK_EVENTS: return &s->events;
	case BLOCK_STATE: return &s->states;
	default: return NULL;
	}
}

/*
 * A block's frame whose header is not whole, or that is not of the size that the header implies,
 * is hopped over as any other frame; then its zstd frame ends the scan, since nobody says how long it is.
 */
static bool add_block(struct scan *s, struct window *w, const struct frame *f, uint64_t *end,
		struct err *err) {
	struct slice payload;
	if (!look(w, f->at + FRAME_TAG_BYTES, FRAME_BLOCK_BYTES, &payload, err)) {
		return false;
	}
	struct frame_block header;
	uint64_t whole;
	if (!frame_get_block(&header, payload) ||
			f->payload_bytes != FRAME_BLOCK_BYTES + frame_block_gap(header.stored_bytes) ||
			__builtin_add_overflow(*end, header.stored_bytes, &whole)) {
		return true;
	}
	if (!reaches(w, whole, err)) {
		s->is_torn = true;
		return err->code == ERR_NONE;
	}
	struct scan_blocks *list = list_of(s, header.type);
	struct scan_block *block = list ? vec_push(list) : NULL;
	if (list && !block) {
		return err_memory(err);
	}
	if (block) {
		*block = (struct scan_block){header, f->at, *end};
	}
	*end = whole;
	return true;
}

static bool add_slot(struct scan *s, struct window *w, const struct frame *f, struct err *err) {
	struct slice payload;
	if (f->payload_bytes < FRAME_SLOT_BYTES) {
		return true;
	}
	if (!look(w, f->at + FRAME_TAG_BYTES, FRAME_SLOT_BYTES, &payload, err)) {
		return false;
	}
	struct frame_slot header;
	uint64_t capacity = f->payload_bytes - FRAME_SLOT_BYTES;
	if (!frame_get_slot(&header, payload) || header.sequence == 0 ||
			header.stored_bytes > capacity) {
		return true;
	}
	struct scan_slot *slot = vec_push(&s->slots);
	if (!slot) {
		return err_memory(err);
	}
	*slot = (struct scan_slot){header, f->at, capacity};
	return true;
}

// ---- the file

static bool read_head(struct scan *s, struct window *w, struct err *err) {
	struct slice start;
	if (!look(w, 0, FRAME_TAG_BYTES + FRAME_HEAD_BYTES, &start, err)) {
		return false;
	}
	if (start.size == 0) {
		return err_set(err, ERR_FORMAT, "the file is empty");
	}
	if (!trace_is_ours(start)) {
		return err_set(err, ERR_FORMAT, "not a recording of heaptrack");
	}
	struct cursor c = cursor_init(start);
	(void)cursor_bytes(&c, FRAME_TAG_BYTES);
	bool is_whole = false;
	if (!frame_get_head(&s->head, &is_whole, cursor_rest(&c))) {
		return err_set(err, ERR_FORMAT, "the file ends within its head");
	}
	if (!is_whole) {
		return err_set(err, ERR_FORMAT, "the head is damaged");
	}
	if (s->head.reader > TRACE_READER_VERSION) {
		return err_set(err, ERR_UNSUPPORTED,
				"written by a newer heaptrack: format version %u, and this one reads up to %u; "
				"please update heaptrack",
				s->head.version, TRACE_READER_VERSION);
	}
	return true;
}

static uint64_t list_bytes(const struct scan *s) {
	return (s->log.capacity + s->infos.capacity + s->events.capacity + s->states.capacity) *
			sizeof(struct scan_block) +
			s->slots.capacity * sizeof(struct scan_slot);
}

static bool add_frame(struct scan *s, struct window *w, const struct frame *f, uint64_t *end,
		struct err *err) {
	switch (f->magic) {
	case FRAME_BLOCK: return add_block(s, w, f, end, err);
	case FRAME_SLOT: return add_slot(s, w, f, err);
	default: return true;
	}
}

// All frames behind the head. s->end stays before the first that is not whole
static bool hop(struct scan *s, struct window *w, uint64_t max_bytes, struct err *err) {
	struct frame f;
	while (!s->is_torn && look_frame(w, s->end, &f, err)) {
		uint64_t end = s->end + FRAME_TAG_BYTES + f.payload_bytes;
		if (!reaches(w, end, err)) {
			break;
		}
		if (!add_frame(s, w, &f, &end, err)) {
			return false;
		}
		if (list_bytes(s) > max_bytes) {
			return err_set(err, ERR_LIMIT, "the list of blocks takes too much memory");
		}
		s->end = s->is_torn ? s->end : end;
	}
	struct slice more;
	if (err->code != ERR_NONE || !look(w, s->end, 1, &more, err)) {
		return false;
	}
	s->is_torn |= more.size > 0;
	return true;
}

bool scan_file(struct scan *out, const struct trace_source *src, uint64_t max_bytes,
		struct err *err) {
	struct window w = {.src = src};
	struct err mine = {0}; // the caller's may be NULL, or hold something
	*out = (struct scan){.end = FRAME_TAG_BYTES + FRAME_HEAD_BYTES};
	if (read_head(out, &w, &mine) && hop(out, &w, max_bytes, &mine)) {
		return true;
	}
	scan_finish(out);
	return err_set(err, mine.code, "%s", mine.text);
}

void scan_finish(struct scan *s) {
	vec_finish(&s->log);
	vec_finish(&s->infos);
	vec_finish(&s->events);
	vec_finish(&s->states);
	vec_finish(&s->slots);
}

// ---- contents

static int by_sequence(const void *a, const void *b) {
	uint64_t x = ((const struct scan_block *)a)->header.sequence;
	uint64_t y = ((const struct scan_block *)b)->header.sequence;
	return (x > y) - (x < y);
}

void scan_sort(struct scan_blocks *blocks) {
	if (blocks->n) {
		qsort(blocks->items, blocks->n, sizeof *blocks->items, by_sequence);
	}
}

bool scan_read(const struct trace_source *src, uint64_t at, uint8_t *out, size_t n,
		struct err *err) {
	size_t got = 0;
	for (size_t done = 0; done < n; done += got) {
		if (!src->read(src->user, at + done, out + done, n - done, &got, err)) {
			return false;
		}
		if (got == 0 || got > n - done) {
			return err_set(err, ERR_FORMAT, "the file ends at byte %" PRIu64, at + done);
		}
	}
	return true;
}

bool scan_unpack(struct buffer *raw, const struct trace_source *src, uint64_t at,
		uint64_t stored_bytes, uint64_t raw_bytes, uint64_t max_bytes, struct err *err) {
	if (stored_bytes > max_bytes || raw_bytes > max_bytes - stored_bytes) {
		return err_set(err, ERR_LIMIT,
				"%" PRIu64 " bytes unpacked are more than the limit of %" PRIu64, raw_bytes,
				max_bytes);
	}
	if (!unpack_is_possible(raw_bytes, stored_bytes)) {
		return err_set(err, ERR_FORMAT, "%" PRIu64 " bytes can't unpack to %" PRIu64, stored_bytes,
				raw_bytes);
	}
	struct buffer stored = {0};
	buffer_clear(raw);
	uint8_t *in = buffer_room(&stored, stored_bytes ? stored_bytes : 1);
	uint8_t *out = buffer_room(raw, raw_bytes ? raw_bytes : 1);
	bool ok = in && out ? scan_read(src, at, in, stored_bytes, err) &&
					unpack(out, raw_bytes, slice_of(in, stored_bytes), err)
						: err_memory(err);
	raw->size = ok ? raw_bytes : 0;
	buffer_finish(&stored);
	return ok;
}
