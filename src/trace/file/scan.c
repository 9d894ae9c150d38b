// SPDX-License-Identifier: MIT
/* Walks from frame to frame, and lists those that are ours. */
#include "trace/file/scan.h"

// ---- the headers of frames, encoded, decoded and checked

static const uint8_t magic[8] = {'h', 'e', 'a', 'p', 't', 'r', 'k', 1};

// As in the file: little endian, like every machine supported
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are the layouts");
_Static_assert(sizeof(struct frame_head) == FRAME_HEAD_BYTES, "layout");
_Static_assert(sizeof(struct frame_block) == FRAME_BLOCK_BYTES, "layout");

static uint32_t tag_of(struct slice frame) {
	uint32_t tag;
	memcpy(&tag, frame.data, sizeof tag);
	return tag;
}

bool trace_is_ours(struct slice head) {
	// The head frame's tag and magic bytes, whatever the version and length
	return head.size >= 16 && tag_of(head) == FRAME_HEAD &&
			memcmp(head.data + FRAME_TAG_BYTES, magic, sizeof magic) == 0;
}

// CRC-32 as in zlib, bit by bit: inputs have some fifty bytes
static uint32_t crc_add(uint32_t crc, uint8_t byte) {
	crc ^= byte;
	for (int i = 0; i < 8; i++) {
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

// Of the whole payload, with the four bytes of the checksum itself as zero
static uint32_t checksum(const void *payload, size_t n, size_t crc_at) {
	const uint8_t *data = payload;
	uint32_t crc = ~0u;
	for (size_t i = 0; i < n; i++) {
		crc = crc_add(crc, i - crc_at < 4 ? 0 : data[i]);
	}
	return ~crc;
}

void frame_put_tag(uint8_t out[FRAME_TAG_BYTES], uint32_t frame_magic, uint32_t size) {
	memcpy(out, &frame_magic, sizeof frame_magic);
	memcpy(out + sizeof frame_magic, &size, sizeof size);
}

void frame_put_head(uint8_t out[FRAME_HEAD_BYTES], const struct frame_head *head) {
	struct frame_head h = *head;
	memcpy(h.magic, magic, sizeof magic);
	h.crc = checksum(&h, sizeof h, offsetof(struct frame_head, crc));
	memcpy(out, &h, sizeof h);
}

void frame_put_block(uint8_t out[FRAME_BLOCK_BYTES], const struct frame_block *block) {
	memcpy(out, block, sizeof *block);
	const uint32_t crc = checksum(out, sizeof *block, 0);
	memcpy(out, &crc, sizeof crc);
}

/** False: too short, or the checksum is wrong. */
static bool frame_get_block(struct frame_block *out, struct slice payload) {
	if (payload.size < sizeof *out) {
		return false;
	}
	memcpy(out, payload.data, sizeof *out);
	return out->crc == checksum(out, sizeof *out, 0);
}

/**
 * The first block of every file. KDE's heaptrack takes any .zst file for its own and would report
 * zeros; this impossible version makes it refuse ours with a message.
 */
static void frame_put_note(uint8_t out[FRAME_NOTE_BYTES]) {
	// A zstd frame with one stored block: "v ffff ffff\n"
	static const uint8_t stored[] = {0x28, 0xb5, 0x2f, 0xfd, 0x24, 12, 0x61, 0, 0, 'v', ' ', 'f',
			'f', 'f', 'f', ' ', 'f', 'f', 'f', 'f', '\n', 0xff, 0x65, 0xd4, 0x75};
	_Static_assert(sizeof stored == 25, "FRAME_NOTE_BYTES is all of it");
	const struct frame_block block = {.type = BLOCK_NOTE,
			.sequence = 1,
			.stored_bytes = sizeof stored,
			.raw_bytes = 12};
	size_t payload = FRAME_BLOCK_BYTES + frame_block_gap(sizeof stored);
	memset(out, 0, FRAME_NOTE_BYTES);
	frame_put_tag(out, FRAME_BLOCK, (uint32_t)payload);
	frame_put_block(out + FRAME_TAG_BYTES, &block);
	memcpy(out + FRAME_TAG_BYTES + payload, stored, sizeof stored);
}

void frame_put_start(uint8_t out[FRAME_START_BYTES], uint64_t finished_bytes) {
	const struct frame_head head = {.version = TRACE_VERSION,
			.reader = TRACE_READER_VERSION,
			.finished_bytes = finished_bytes};
	frame_put_tag(out, FRAME_HEAD, FRAME_HEAD_BYTES);
	frame_put_head(out + FRAME_TAG_BYTES, &head);
	frame_put_note(out + FRAME_TAG_BYTES + FRAME_HEAD_BYTES);
}

// ---- from frame to frame

// A small window over the source: where frames are small, they are close together
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
	size_t skip = (size_t)(at - w->at), left = w->n - skip;
	*out = slice_of(w->bytes + skip, left < n ? left : n);
	return true;
}

// ---- one frame

// A whole skippable frame; a block's with its zstd frame
struct frame {
	uint64_t at, end;
	uint64_t contents_at; // of a block or slot
	bool is_block, is_slot;
	struct frame_block header;
};

// Is the byte before `end` there?
static bool reaches(struct window *w, uint64_t end, struct err *err) {
	struct slice last;
	return end <= w->src->size || (look(w, end - 1, 1, &last, err) && last.size == 1);
}

/* Skips frames with a torn header or a wrong size, and slots that are empty or being written. */
static bool look_header(struct window *w, struct frame *f, uint32_t kind, uint64_t payload_bytes,
		struct err *err) {
	struct slice payload;
	if (!look(w, f->at + FRAME_TAG_BYTES, FRAME_BLOCK_BYTES, &payload, err)) {
		return false;
	}
	const struct frame_block *h = &f->header;
	bool is_whole = frame_get_block(&f->header, payload);
	f->is_block = is_whole && kind == FRAME_BLOCK &&
			payload_bytes == FRAME_BLOCK_BYTES + frame_block_gap(h->stored_bytes);
	f->is_slot = is_whole && kind == FRAME_SLOT && h->sequence != 0 &&
			payload_bytes >= FRAME_BLOCK_BYTES &&
			h->stored_bytes <= payload_bytes - FRAME_BLOCK_BYTES;
	f->contents_at = f->is_slot ? f->at + FRAME_TAG_BYTES + FRAME_BLOCK_BYTES : f->end;
	return !f->is_block || !__builtin_add_overflow(f->end, h->stored_bytes, &f->end);
}

// False with err->code 0: there is no whole frame
static bool look_frame(struct window *w, uint64_t at, struct frame *f, struct err *err) {
	struct slice tag;
	if (!look(w, at, FRAME_TAG_BYTES, &tag, err)) {
		return false;
	}
	struct cursor c = cursor_init(tag);
	uint32_t kind = cursor_u32(&c);
	uint64_t payload_bytes = cursor_u32(&c);
	if (c.failed || (kind & ~15u) != FRAME_HEAD) { // neither ours nor skippable
		return false;
	}
	*f = (struct frame){.at = at, .end = at + FRAME_TAG_BYTES + payload_bytes};
	bool is_plain = kind != FRAME_BLOCK && kind != FRAME_SLOT;
	return (is_plain || look_header(w, f, kind, payload_bytes, err)) && reaches(w, f->end, err);
}

/*
 * The next block or slot with a whole header, at or after *at. A copy made while events were
 * dropped and replaced can have the head of one and the end of another there.
 */
static bool find_frame(struct window *w, uint64_t *at, struct frame *f, struct err *err) {
	for (*at += -*at % FRAME_ALIGN;; *at += FRAME_ALIGN) {
		struct slice tag;
		if (!look(w, *at, FRAME_TAG_BYTES, &tag, err) || tag.size < FRAME_TAG_BYTES) {
			return false;
		}
		if (tag_of(tag) != FRAME_BLOCK && tag_of(tag) != FRAME_SLOT) {
			continue;
		}
		if (look_frame(w, *at, f, err) && (f->is_block || f->is_slot)) {
			return true;
		}
		if (err->code != ERR_NONE) {
			return false;
		}
	}
}

// ---- the file

static void add_frame(struct scan *s, const struct frame *f) {
	const uint8_t type = f->is_slot ? 0 : f->header.type;
	if (f->is_slot || (f->is_block && type > 0 && type <= BLOCK_STATE)) {
		(void)vec_add(&s->lists[type], (struct scan_block){f->header, f->at, f->contents_at});
	}
}

static bool read_head(struct scan *s, struct window *w, struct err *err) {
	struct slice start;
	if (!look(w, 0, FRAME_TAG_BYTES + FRAME_HEAD_BYTES, &start, err)) {
		return false;
	}
	if (start.size == 0) {
		return err_format(err, "the file is empty");
	}
	if (!trace_is_ours(start)) {
		return err_format(err, "not a recording of heaptrack");
	}
	if (start.size < FRAME_TAG_BYTES + FRAME_HEAD_BYTES) {
		return err_format(err, "the file ends within its head");
	}
	memcpy(&s->head, start.data + FRAME_TAG_BYTES, sizeof s->head);
	if (s->head.crc != checksum(&s->head, sizeof s->head, offsetof(struct frame_head, crc))) {
		return err_format(err, "the head is damaged");
	}
	return s->head.reader <= TRACE_READER_VERSION ||
			err_unsupported(err,
					"written by a newer heaptrack: to read it takes one that reads version %u of "
					"the format, and this one reads up to %u; please update heaptrack",
					s->head.reader, TRACE_READER_VERSION);
}

// List all frames after the head; skips anything else. s->end is the end of the last frame
static bool hop(struct scan *s, struct window *w, uint64_t max_bytes, struct err *err) {
	struct frame f;
	for (;;) {
		uint64_t at = s->end;
		bool is_there = look_frame(w, at, &f, err);
		if (!is_there && err->code == ERR_NONE) {
			is_there = find_frame(w, &at, &f, err);
		}
		if (!is_there) {
			break;
		}
		add_frame(s, &f);
		if (SUM(i, N_OF(s->lists), s->lists[i].capacity) * sizeof(struct scan_block) > max_bytes) {
			return err_limit(err, "the list of blocks takes too much memory");
		}
		s->damaged_bytes += at - s->end;
		s->end = f.end;
	}
	struct slice more;
	if (err->code != ERR_NONE || !look(w, s->end, 1, &more, err)) {
		return false;
	}
	s->is_torn = more.size > 0;
	return true;
}

bool scan_file(struct scan *out, const struct trace_source *src, uint64_t max_bytes,
		struct err *err) {
	struct window w = {.src = src};
	struct err mine = {0}; // the caller's may be NULL or in use
	*out = (struct scan){.end = FRAME_TAG_BYTES + FRAME_HEAD_BYTES};
	if (read_head(out, &w, &mine) && hop(out, &w, max_bytes, &mine)) {
		return true;
	}
	scan_finish(out);
	return err_set(err, mine.code, "%s", mine.text);
}

void scan_finish(struct scan *s) {
	CALL_FOR(vec_finish, s, log, infos, events, states, slots);
}

// ---- contents

ORDER_OF(by_sequence, struct scan_block, LOWEST(header.sequence));

void scan_sort(struct scan_blocks *blocks) {
	vec_sort(blocks, by_sequence);
}

bool scan_read(const struct trace_source *src, uint64_t at, uint8_t *out, size_t n,
		struct err *err) {
	size_t got = 0;
	for (size_t done = 0; done < n; done += got) {
		if (!src->read(src->user, at + done, out + done, n - done, &got, err)) {
			return false;
		}
		if (got == 0 || got > n - done) {
			return err_format(err, "the file ends at byte %" PRIu64, at + done);
		}
	}
	return true;
}

/** Check lengths before allocating. */
static bool may_unpack(const struct scan_block *b, uint64_t max_bytes, struct err *err) {
	// zstd's limit: 128 KiB of one byte take four
	enum { BEST_RATIO = 32768, SLACK = 128 << 10 };
	const uint64_t stored_bytes = b->header.stored_bytes, raw_bytes = b->header.raw_bytes;
	if (stored_bytes > max_bytes || raw_bytes > max_bytes - stored_bytes) {
		return err_limit(err, "%" PRIu64 " bytes unpacked are more than the limit of %" PRIu64,
				raw_bytes, max_bytes);
	}
	return raw_bytes <= SLACK || (raw_bytes - SLACK) / BEST_RATIO <= stored_bytes ||
			err_format(err, "%" PRIu64 " bytes can't unpack to %" PRIu64, stored_bytes, raw_bytes);
}

/** `out` may be NULL: it exceeded its arena's max_bytes. */
static bool unpack_to(uint8_t *out, const struct trace_source *src, const struct scan_block *b,
		struct err *err) {
	SCOPED(buffer) stored = {0};
	const uint64_t n = b->header.stored_bytes;
	uint8_t *in = buffer_room(&stored, n ? n : 1);
	return in && out ? scan_read(src, b->stored_at, in, n, err) &&
					unpack(out, b->header.raw_bytes, slice_of(in, n), err)
					 : err_memory(err);
}

bool scan_unpack(struct buffer *raw, const struct trace_source *src, const struct scan_block *b,
		uint64_t max_bytes, struct err *err) {
	const uint64_t n = b->header.raw_bytes;
	buffer_clear(raw);
	bool ok = may_unpack(b, max_bytes, err) && unpack_to(buffer_room(raw, n ? n : 1), src, b, err);
	raw->size = ok ? n : 0;
	return ok;
}

bool scan_unpack_in(struct arena *memory, struct slice *raw, const struct trace_source *src,
		const struct scan_block *b, uint64_t max_bytes, struct err *err) {
	if (!may_unpack(b, max_bytes, err)) {
		return false;
	}
	uint8_t *out = arena_new_unset(memory, uint8_t, b->header.raw_bytes);
	*raw = slice_of(out, b->header.raw_bytes);
	return unpack_to(out, src, b, err);
}
