// SPDX-License-Identifier: MIT

/*
 * The trace reader over whole files, by the calls that users make. Each input is read twice: as it
 * is, and with the checksums of its head, blocks and slots put right, so that what they say is
 * looked at.
 */

#include "fuzz_trace.h"

#include "base/slice.h"
#include "trace/file/scan.h"

static void repair_head(uint8_t *payload) {
	struct cursor c = cursor_init(slice_of(payload, FRAME_HEAD_BYTES));
	(void)cursor_bytes(&c, 8);
	uint32_t versions = cursor_u32(&c);
	(void)cursor_u32(&c);
	struct frame_head h = {.version = (uint16_t)versions,
			.reader = (uint16_t)(versions >> 16),
			.finished_bytes = cursor_u64(&c)};
	frame_put_head(payload, &h);
}

static void repair_block(uint8_t *payload) {
	struct cursor c = cursor_init(slice_of(payload, FRAME_BLOCK_BYTES));
	(void)cursor_u32(&c);
	struct frame_block b = {.type = (uint8_t)cursor_u32(&c)};
	b.sequence = cursor_u64(&c);
	b.stored_bytes = cursor_u64(&c);
	b.raw_bytes = cursor_u64(&c);
	b.first = cursor_u64(&c);
	b.n = cursor_u64(&c);
	frame_put_block(payload, &b);
}

static void repair_slot(uint8_t *payload) {
	struct cursor c = cursor_init(slice_of(payload, FRAME_BLOCK_BYTES));
	(void)cursor_u64(&c);
	struct frame_block s = {.sequence = cursor_u64(&c)};
	s.stored_bytes = cursor_u64(&c);
	s.raw_bytes = cursor_u64(&c);
	s.n_log_blocks = cursor_u64(&c);
	frame_put_block(payload, &s);
}

static void repair(struct buffer *file) {
	for (size_t at = 0; at + FRAME_TAG_BYTES + FRAME_HEAD_BYTES <= file->size; at += FRAME_ALIGN) {
		struct cursor c = cursor_init(slice_of(file->data + at, FRAME_TAG_BYTES));
		uint8_t *payload = file->data + at + FRAME_TAG_BYTES;
		switch (cursor_u32(&c)) {
		case FRAME_HEAD: repair_head(payload); break;
		case FRAME_BLOCK: repair_block(payload); break;
		case FRAME_SLOT: repair_slot(payload); break;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	fuzz_read(slice_of(data, size));
	struct buffer file = {0};
	buffer_bytes(&file, data, size);
	repair(&file);
	fuzz_read(buffer_view(&file));
	buffer_finish(&file);
	return 0;
}
