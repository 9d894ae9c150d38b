// SPDX-License-Identifier: MIT
/* Encodes, decodes and checks the headers of frames. */
#include "trace/file/frame.h"

#include "base/cursor.h"
#include "trace/trace.h"

static const uint8_t magic[8] = {'h', 'e', 'a', 'p', 't', 'r', 'k', 1};

enum { HEAD_CRC_AT = 12, BLOCK_CRC_AT = 0, SLOT_CRC_AT = 0 };

bool trace_is_ours(struct slice head) {
	// The head frame's tag and the magic bytes, whatever the version and length
	static const uint8_t tag[] = {0x50, 0x2a, 0x4d, 0x18};
	return head.size >= 16 && memcmp(head.data, tag, sizeof tag) == 0 &&
			memcmp(head.data + FRAME_TAG_BYTES, magic, sizeof magic) == 0;
}

// CRC-32 as in zlib, four bits at a time: it only ever sees some fifty bytes
static uint32_t crc_add(uint32_t crc, uint8_t byte) {
	static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190,
			0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
			0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
	crc ^= byte;
	crc = crc >> 4 ^ table[crc & 15];
	return crc >> 4 ^ table[crc & 15];
}

// Over the whole payload, with the four bytes of the checksum itself taken as zero
static uint32_t checksum(const uint8_t *data, size_t n, size_t crc_at) {
	uint32_t crc = ~0u;
	for (size_t i = 0; i < n; i++) {
		crc = crc_add(crc, i - crc_at < 4 ? 0 : data[i]);
	}
	return ~crc;
}

static uint8_t *put(uint8_t *at, uint64_t v, size_t n) {
	for (size_t i = 0; i < n; i++, v >>= 8) {
		*at++ = (uint8_t)v;
	}
	return at;
}

void frame_put_tag(uint8_t out[FRAME_TAG_BYTES], uint32_t frame_magic, uint32_t size) {
	put(put(out, frame_magic, 4), size, 4);
}

void frame_put_head(uint8_t out[FRAME_HEAD_BYTES], const struct frame_head *head) {
	memset(out, 0, FRAME_HEAD_BYTES);
	memcpy(out, magic, sizeof magic);
	put(out + 8, head->version, 2);
	put(out + 10, head->reader, 2);
	put(out + 16, head->finished_bytes, 8);
	put(out + HEAD_CRC_AT, checksum(out, FRAME_HEAD_BYTES, HEAD_CRC_AT), 4);
}

bool frame_get_head(struct frame_head *out, bool *is_whole, struct slice payload) {
	struct cursor c = cursor_init(payload);
	struct slice start = cursor_bytes(&c, sizeof magic);
	struct frame_head h = {0};
	h.version = cursor_u8(&c);
	h.version |= (uint16_t)(cursor_u8(&c) << 8);
	h.reader = cursor_u8(&c);
	h.reader |= (uint16_t)(cursor_u8(&c) << 8);
	uint32_t crc = cursor_u32(&c);
	h.finished_bytes = cursor_u64(&c);
	if (c.failed || payload.size < FRAME_HEAD_BYTES ||
			!slice_equal(start, slice_of(magic, sizeof magic))) {
		return false;
	}
	*is_whole = crc == checksum(payload.data, FRAME_HEAD_BYTES, HEAD_CRC_AT);
	*out = h;
	return true;
}

void frame_put_block(uint8_t out[FRAME_BLOCK_BYTES], const struct frame_block *block) {
	memset(out, 0, FRAME_BLOCK_BYTES);
	out[4] = block->type;
	uint8_t *at = out + 8;
	at = put(at, block->sequence, 8);
	at = put(at, block->stored_bytes, 8);
	at = put(at, block->raw_bytes, 8);
	at = put(at, block->first, 8);
	put(at, block->n, 8);
	put(out + BLOCK_CRC_AT, checksum(out, FRAME_BLOCK_BYTES, BLOCK_CRC_AT), 4);
}

void frame_put_note(uint8_t out[FRAME_NOTE_BYTES]) {
	// zstd's frame of one block that is stored as it is: "v ffff ffff" and the end of the line
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

bool frame_get_block(struct frame_block *out, struct slice payload) {
	struct cursor c = cursor_init(payload);
	struct frame_block b = {0};
	uint32_t crc = cursor_u32(&c);
	b.type = (uint8_t)cursor_u32(&c);
	b.sequence = cursor_u64(&c);
	b.stored_bytes = cursor_u64(&c);
	b.raw_bytes = cursor_u64(&c);
	b.first = cursor_u64(&c);
	b.n = cursor_u64(&c);
	if (c.failed || crc != checksum(payload.data, FRAME_BLOCK_BYTES, BLOCK_CRC_AT)) {
		return false;
	}
	*out = b;
	return true;
}

void frame_put_slot(uint8_t out[FRAME_SLOT_BYTES], const struct frame_slot *slot) {
	memset(out, 0, FRAME_SLOT_BYTES);
	uint8_t *at = out + 8;
	at = put(at, slot->sequence, 8);
	at = put(at, slot->stored_bytes, 8);
	at = put(at, slot->raw_bytes, 8);
	put(at, slot->n_log_blocks, 8);
	put(out + SLOT_CRC_AT, checksum(out, FRAME_SLOT_BYTES, SLOT_CRC_AT), 4);
}

bool frame_get_slot(struct frame_slot *out, struct slice payload) {
	struct cursor c = cursor_init(payload);
	struct frame_slot s = {0};
	uint32_t crc = cursor_u32(&c);
	(void)cursor_u32(&c);
	s.sequence = cursor_u64(&c);
	s.stored_bytes = cursor_u64(&c);
	s.raw_bytes = cursor_u64(&c);
	s.n_log_blocks = cursor_u64(&c);
	(void)cursor_u64(&c);
	if (c.failed || crc != checksum(payload.data, FRAME_SLOT_BYTES, SLOT_CRC_AT)) {
		return false;
	}
	*out = s;
	return true;
}
