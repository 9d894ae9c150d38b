// SPDX-License-Identifier: MIT
/*
 * The input is a layout, frames and memory: first 32-bit numbers for the fields of a layout, a byte
 * each that says by how much it differs from the right one; then a frame; then memory, which begins
 * at MEMORY and repeats.
 */
#include "../runtimes/v8_frame.h"

#include <stdlib.h>

enum { MEMORY = 0x100000 };

struct memory {
	struct slice bytes;
};

static bool read_memory(void *context, uint64_t address, void *out, size_t n) {
	const struct memory *m = context;
	if (m->bytes.size == 0 || address < MEMORY || address - MEMORY > 1 << 28) {
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		((uint8_t *)out)[i] = m->bytes.data[(address - MEMORY + i) % m->bytes.size];
	}
	return true;
}

static struct slice take(struct slice *s, size_t n) {
	struct slice taken = slice_of(s->data, n < s->size ? n : s->size);
	*s = slice_of(s->data + taken.size, s->size - taken.size);
	return taken;
}

/** A layout that is nearly right, so that decoders get far. */
static void make_layout(struct v8_layout *l, struct slice *s) {
	struct v8_layout symbols = {.major = 13, .minor = 6};
	int32_t *field;
	*l = symbols;
	for (unsigned i = 0; (field = v8_layout_field(l, i)) != NULL; i++) {
		struct slice byte = take(s, 1);
		*field = byte.size ? (int8_t)*byte.data : 8;
	}
	l->n_bytecodes = 200;
	for (size_t i = 0; i < 200; i++) {
		l->bytecode_bytes[0][i] = (uint8_t)(1 + i % 5);
		l->bytecode_bytes[1][i] = (uint8_t)(1 + i % 9);
		l->bytecode_bytes[2][i] = (uint8_t)(1 + i % 17);
	}
	l->n_opcodes = 45;
	memset(l->operands, 2, 45);
	l->interpreter[0] = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct slice left = slice_of(data, size);
	struct v8_layout layout;
	make_layout(&layout, &left);
	struct v8_frame frame = {0};
	struct slice words = take(&left, sizeof frame);
	if (words.size > 0) {
		memcpy(&frame, words.data, words.size);
	}
	frame.function |= 1;
	frame.marker |= 1;
	struct memory memory = {left};
	struct v8_heap heap = {.layout = &layout, .memory = {read_memory, &memory}};
	struct arena texts = {0};
	struct v8_named named[V8_MAX_FRAMES];
	uint32_t n = v8_name_frame(&heap, &frame, &texts, named);
	(void)v8_frame_fits(&heap, &frame);
	for (uint32_t i = 0; i < n; i++) {
		if (named[i].function.size > 2048 || named[i].file.size > 8192) {
			abort();
		}
	}
	struct wire_unit unit = {.object = frame.function, .excerpt_at = frame.bytecode_array};
	memcpy(unit.identity, &frame, sizeof unit.identity);
	struct v8_unit read;
	if (v8_unit_read(&heap, &unit, &texts, &read) && read.n > 0) {
		(void)v8_unit_line(&heap, &read, (uint32_t)frame.pc);
	}
	v8_heap_finish(&heap);
	arena_finish(&texts);
	return 0;
}
