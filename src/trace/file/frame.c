// SPDX-License-Identifier: MIT
/* Encodes, decodes and checks the headers of frames. */
#include "trace/file/scan.h"

static const uint8_t magic[8] = {'h', 'e', 'a', 'p', 't', 'r', 'k', 1};

// As they lie in the file: little endian, like every machine that this is built for
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are the layouts");
_Static_assert(sizeof(struct frame_head) == FRAME_HEAD_BYTES, "layout");
_Static_assert(sizeof(struct frame_block) == FRAME_BLOCK_BYTES, "layout");
_Static_assert(sizeof(struct frame_slot) == FRAME_SLOT_BYTES, "layout");

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

bool frame_get_head(struct frame_head *out, bool *is_whole, struct slice payload) {
	if (payload.size < sizeof *out || memcmp(payload.data, magic, sizeof magic) != 0) {
		return false;
	}
	memcpy(out, payload.data, sizeof *out);
	*is_whole = out->crc == checksum(out, sizeof *out, offsetof(struct frame_head, crc));
	return true;
}

/** Of blocks and slots, which begin with their checksum. */
static void put_checked(uint8_t *out, const void *header, size_t n) {
	memcpy(out, header, n);
	const uint32_t crc = checksum(out, n, 0);
	memcpy(out, &crc, sizeof crc);
}

static bool get_checked(void *out, size_t n, struct slice payload) {
	uint32_t crc;
	if (payload.size < n) {
		return false;
	}
	memcpy(&crc, payload.data, sizeof crc);
	if (crc != checksum(payload.data, n, 0)) {
		return false;
	}
	memcpy(out, payload.data, n);
	return true;
}

void frame_put_block(uint8_t out[FRAME_BLOCK_BYTES], const struct frame_block *block) {
	put_checked(out, block, sizeof *block);
}

bool frame_get_block(struct frame_block *out, struct slice payload) {
	return get_checked(out, sizeof *out, payload);
}

void frame_put_slot(uint8_t out[FRAME_SLOT_BYTES], const struct frame_slot *slot) {
	put_checked(out, slot, sizeof *slot);
}

bool frame_get_slot(struct frame_slot *out, struct slice payload) {
	return get_checked(out, sizeof *out, payload);
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
