// SPDX-License-Identifier: MIT

/*
 * The trace reader behind its checksums: the input is the contents of four blocks, around which a
 * file is built where all else is right. Four u16 lengths, then log, infos, events and state.
 */

#include "base/slice.h"
#include "fuzz_trace.h"
#include "trace/file/scan.h"

enum { N_PIECES = 4 };

static void add_block(struct buffer *file, uint8_t type, struct slice raw) {
	struct buffer stored = {0};
	pack(&stored, raw, PACK_FAST);
	struct frame_block block = {.type = type,
			.sequence = 1,
			.stored_bytes = stored.size,
			.raw_bytes = raw.size,
			.n = 1};
	uint8_t bytes[FRAME_TAG_BYTES + FRAME_BLOCK_BYTES + FRAME_ALIGN] = {0};
	size_t payload = FRAME_BLOCK_BYTES + frame_block_gap(stored.size);
	frame_put_tag(bytes, FRAME_BLOCK, (uint32_t)payload);
	frame_put_block(bytes + FRAME_TAG_BYTES, &block);
	buffer_bytes(file, bytes, FRAME_TAG_BYTES + payload);
	buffer_slice(file, buffer_view(&stored));
	buffer_finish(&stored);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static const uint8_t types[N_PIECES] = {BLOCK_LOG, BLOCK_INFOS, BLOCK_EVENTS, BLOCK_STATE};
	struct cursor c = cursor_init(slice_of(data, size));
	struct cursor lengths = cursor_init(cursor_bytes(&c, N_PIECES * 2));
	uint8_t head[FRAME_TAG_BYTES + FRAME_HEAD_BYTES] = {0};
	struct buffer file = {0};
	buffer_bytes(&file, head, sizeof head);
	for (size_t i = 0; i < N_PIECES; i++) {
		size_t n = cursor_u8(&lengths);
		n |= (size_t)cursor_u8(&lengths) << 8;
		size_t left = cursor_left(&c);
		add_block(&file, types[i], cursor_bytes(&c, n < left ? n : left));
	}
	frame_put_tag(file.data, FRAME_HEAD, FRAME_HEAD_BYTES);
	struct frame_head h = {.version = TRACE_VERSION,
			.reader = TRACE_READER_VERSION,
			.finished_bytes = file.size};
	frame_put_head(file.data + FRAME_TAG_BYTES, &h);
	fuzz_read(buffer_view(&file));
	buffer_finish(&file);
	return 0;
}
