// SPDX-License-Identifier: MIT
/*
 * The input is a version; how many words of its layout are others, which ones, and what they are;
 * how much of the rest is an excerpt; the excerpt; then memory, which begins at MEMORY and repeats.
 */
#include "runtimes/python.h"

#include <stdlib.h>
#include <string.h>

enum { MEMORY = 0x100000, OLDEST = 0x30b, VERSIONS = 3, POSITIONS = 64 };

static bool read_memory(void *user, uint64_t address, void *out, size_t n) {
	const struct slice *m = user;
	if (m->size == 0 || address < MEMORY || address - MEMORY > 1 << 28) {
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		((uint8_t *)out)[i] = m->data[(address - MEMORY + i) % m->size];
	}
	return true;
}

static uint32_t take(struct slice *s, size_t n) {
	uint32_t value = 0;
	n = n < s->size ? n : s->size;
	if (n > 0) {
		memcpy(&value, s->data, n);
	}
	*s = slice_of(s->data + n, s->size - n);
	return value;
}

/** As a program may change it, in whose memory it lies. */
static void make_layout(struct wire_layout *l, struct slice *s) {
	if (!python_layout_of((uint16_t)(OLDEST + take(s, 1) % VERSIONS), l)) {
		abort();
	}
	l->state = l->code_type = MEMORY;
	for (uint32_t n = take(s, 1) % 16; n > 0; n--) {
		const size_t at = offsetof(struct wire_layout, state) / sizeof(uint32_t);
		uint32_t word = take(s, 1), value = take(s, 4);
		memcpy((uint32_t *)(void *)l + at + word % (sizeof *l / sizeof word - at), &value,
				sizeof value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct slice left = slice_of(data, size);
	struct wire_layout layout;
	make_layout(&layout, &left);
	uint32_t n = take(&left, 2);
	struct slice excerpt = slice_of(left.data, n < left.size ? n : left.size);
	struct slice memory = slice_of(left.data + excerpt.size, left.size - excerpt.size);
	struct arena texts = {0};
	struct python_code code;
	if (python_decode(excerpt, &layout, &code, &texts)) {
		if (code.name.size > 2048 || code.file.size > 4096 || code.line_table.size > 4096) {
			abort();
		}
		for (uint32_t i = 0; i < POSITIONS; i++) {
			(void)python_line(&code, i);
		}
		(void)python_line(&code, UINT32_MAX);
	}
	(void)python_prove(&layout, &(struct program_memory){read_memory, &memory});
	arena_finish(&texts);
	return 0;
}
