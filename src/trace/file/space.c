// SPDX-License-Identifier: MIT
/*
 * Places blocks in padding; the file is valid after every write. To write into a padding frame:
 *
 *      [tag|...............................]      padding
 *      [tag|rest of the block ][tag|......]      1. all but the first tag: still padding
 *      [TAG|rest of the block ][tag|......]      2. the first tag makes it a block
 *
 * The new frame appears atomically, since a tag never crosses 8 aligned bytes. The file grows by
 * whole pages for the same reason: the kernel moves a file's end once per page.
 */
#include "trace/file/scan.h"

enum { GROW_PAGES = 16 };

static bool write_at(struct space *s, uint64_t at, const void *data, size_t n, struct err *err) {
	return s->sink.write(s->sink.user, at, data, n, err);
}

static bool write_tag(struct space *s, uint64_t at, uint32_t magic, uint64_t frame_bytes,
		struct err *err) {
	uint8_t tag[FRAME_TAG_BYTES];
	frame_put_tag(tag, magic, (uint32_t)(frame_bytes - FRAME_TAG_BYTES));
	return write_at(s, at, tag, sizeof tag, err);
}

bool space_init(struct space *s, struct trace_sink sink, struct err *err) {
	*s = (struct space){.sink = sink, .end = FRAME_PAGE};
	s->tail = (struct place){FRAME_START_BYTES, FRAME_PAGE - FRAME_START_BYTES};
	uint8_t page[FRAME_PAGE] = {0};
	frame_put_start(page, 0);
	frame_put_tag(page + s->tail.at, FRAME_PADDING, (uint32_t)(s->tail.bytes - FRAME_TAG_BYTES));
	return write_at(s, 0, page, sizeof page, err);
}

// Grow the file until the tail has room for `bytes` and another frame
static bool grow_tail(struct space *s, uint64_t bytes, struct err *err) {
	uint64_t need = bytes + FRAME_TAG_BYTES;
	s->tail.bytes = s->is_finished ? bytes : s->tail.bytes;
	if (s->is_finished || s->tail.bytes >= need) {
		return true;
	}
	if (need > INT32_MAX) {
		return err_limit(err, "a single block of more than 2 GiB");
	}
	uint8_t page[FRAME_PAGE] = {0};
	frame_put_tag(page, FRAME_PADDING, FRAME_PAGE - FRAME_TAG_BYTES);
	uint64_t want = s->tail.at + need + (uint64_t)GROW_PAGES * FRAME_PAGE;
	for (; s->end < want; s->end += FRAME_PAGE) {
		if (!write_at(s, s->end, page, sizeof page, err)) {
			return false;
		}
	}
	s->tail.bytes = s->end - s->tail.at;
	return write_tag(s, s->tail.at, FRAME_PADDING, s->tail.bytes, err);
}

// Where `bytes` go: a hole or the tail
static struct place *find_room(struct space *s, uint64_t bytes, bool in_hole, struct err *err) {
	struct place *hole = in_hole ? FIND_IN(h, s->holes, h->bytes >= bytes) : NULL;
	return hole ? hole : grow_tail(s, bytes, err) ? &s->tail : NULL;
}

static void take(struct space *s, struct place *room, uint64_t bytes) {
	room->at += bytes;
	room->bytes -= bytes;
	if (room->bytes == 0 && room != &s->tail) {
		*room = s->holes.items[--s->holes.n];
	}
}

// The two steps above. A file written from front to end gets the tag first
bool space_put_block(struct space *s, const struct frame_block *block, struct slice stored,
		bool in_hole, struct place *out, struct err *err) {
	uint8_t header[FRAME_BLOCK_BYTES + FRAME_ALIGN] = {0}, tag[FRAME_TAG_BYTES];
	const uint64_t header_bytes = FRAME_BLOCK_BYTES + frame_block_gap(stored.size);
	const uint64_t frame_bytes = FRAME_TAG_BYTES + header_bytes;
	struct place *room = find_room(s, frame_block_span(stored.size), in_hole, err);
	if (!room) {
		return false;
	}
	*out = (struct place){room->at, frame_block_span(stored.size)};
	uint64_t left = room->bytes - out->bytes;
	check(room->bytes >= out->bytes && left % FRAME_ALIGN == 0);
	SCOPED(buffer) thing = {0}; // without its first tag
	frame_put_block(header, block);
	buffer_bytes(&thing, header, header_bytes);
	buffer_slice(&thing, stored);
	if (left) {
		frame_put_tag(tag, FRAME_PADDING, (uint32_t)(left - FRAME_TAG_BYTES));
		buffer_bytes(&thing, tag, sizeof tag);
	}
	bool ok = (!s->is_finished || write_tag(s, out->at, FRAME_BLOCK, frame_bytes, err)) &&
			write_at(s, out->at + FRAME_TAG_BYTES, thing.data, thing.size, err) &&
			(s->is_finished || write_tag(s, out->at, FRAME_BLOCK, frame_bytes, err));
	if (ok) {
		take(s, room, out->bytes);
	}
	return ok;
}

bool space_put_slots(struct space *s, size_t n, uint64_t capacity, struct place *at,
		struct err *err) {
	static const uint8_t empty[FRAME_BLOCK_BYTES];
	capacity += -capacity % FRAME_ALIGN;
	uint64_t span = FRAME_TAG_BYTES + FRAME_BLOCK_BYTES + capacity;
	if (!grow_tail(s, n * span, err)) {
		return false;
	}
	uint64_t left = s->tail.bytes - n * span;
	if (!write_tag(s, s->tail.at + n * span, FRAME_PADDING, left, err)) {
		return false;
	}
	// Backwards, since the first tag makes all of them valid
	for (size_t i = n; i-- > 0;) {
		at[i] = (struct place){s->tail.at + i * span, span};
		if (!write_at(s, at[i].at + FRAME_TAG_BYTES, empty, sizeof empty, err) ||
				!write_tag(s, at[i].at, FRAME_SLOT, span, err)) {
			return false;
		}
	}
	take(s, &s->tail, n * span);
	return true;
}

bool space_write_slot(struct space *s, struct place slot, const struct frame_block *header,
		struct slice stored, struct err *err) {
	uint8_t bytes[FRAME_BLOCK_BYTES] = {0};
	uint64_t header_at = slot.at + FRAME_TAG_BYTES;
	check(stored.size <= slot.bytes - FRAME_TAG_BYTES - FRAME_BLOCK_BYTES);
	if (!write_at(s, header_at, bytes, sizeof bytes, err) ||
			!write_at(s, header_at + sizeof bytes, stored.data, stored.size, err)) {
		return false;
	}
	frame_put_block(bytes, header);
	return write_at(s, header_at, bytes, sizeof bytes, err);
}

// Merge adjacent holes into `p`
static void join_holes(struct space *s, struct place *p) {
	for (size_t i = 0; i < s->holes.n;) {
		struct place hole = s->holes.items[i];
		if (hole.at + hole.bytes != p->at && p->at + p->bytes != hole.at) {
			i++;
			continue;
		}
		p->at = hole.at < p->at ? hole.at : p->at;
		p->bytes += hole.bytes;
		s->holes.items[i] = s->holes.items[--s->holes.n];
		i = 0;
	}
}

bool space_drop(struct space *s, struct place p, struct err *err) {
	if (!write_tag(s, p.at, FRAME_PADDING, p.bytes, err)) {
		return false;
	}
	struct place whole = p;
	join_holes(s, &whole);
	(void)vec_add(&s->holes, whole);
	// If this fails, there are two padding frames instead of one, until a block is put there
	return whole.bytes == p.bytes || write_tag(s, whole.at, FRAME_PADDING, whole.bytes, err);
}
