// SPDX-License-Identifier: MIT
/*
 * Places in code.
 *
 *   interpreted   offset in bytecode -> source position table of the bytecode
 *   baseline      pc -> table of the bytes of each bytecode's code -> as above
 *   optimized     pc -> source position table of the code, with inlined functions
 *                 or, as Maglev's is empty: pc -> safepoint -> deoptimization exit (v8_exits.c)
 */
#include "runtimes/v8_code.h"

#include "base/slice.h"
#include "runtimes/v8_exits.h"

enum {
	MAX_BYTECODE = 16 << 20, // bytes of a function
	CHUNK = 256 << 10,       // V8 takes memory for code in such pieces
	BLOCK = 4096,
};

// ---- code by address

static bool read_code(struct v8_heap *h, uint64_t object, uint64_t pc, struct v8_code *out) {
	const struct v8_layout *l = h->layout;
	int32_t flags, bytes;
	*out = (struct v8_code){.object = object};
	if (!v8_is_type(h, &out->object, l->type_code) ||
			!v8_int(h, out->object, l->code_flags, &flags) ||
			!v8_int(h, out->object, l->code_size, &bytes) || bytes <= 0) {
		return false;
	}
	out->start = (out->object & ~(uint64_t)3) + (uint64_t)l->code_instructions;
	if (l->code_start && !v8_word(h, out->object, l->code_start, &out->start)) {
		return false;
	}
	out->bytes = (uint32_t)bytes;
	out->kind = flags & l->code_kind_mask;
	return pc > out->start && pc - out->start <= out->bytes; // a return address
}

/** Is this word of code the object around `pc`, or its reference to that? */
static bool is_code_word(struct v8_heap *h, uint64_t address, uint64_t word, uint64_t pc,
		struct v8_code *out) {
	uint64_t object = h->layout->code_instructions ? address | 1 : word;
	uint64_t map;
	if ((word & 7) != 1 || !v8_is_object(word) ||
			(h->code_map && (!v8_word(h, object, 0, &map) || map != h->code_map))) {
		return false;
	}
	if (!read_code(h, object, pc, out) || !v8_word(h, object, 0, &map)) {
		return false;
	}
	h->code_map = map;
	return true;
}

/** From the address downwards, not beyond the piece of memory that it lies in. */
static bool search_code(struct v8_heap *h, uint64_t pc, struct v8_code *out) {
	uint64_t block[BLOCK / 8];
	for (uint64_t at = pc & ~(uint64_t)(BLOCK - 1); at >= BLOCK; at -= BLOCK) {
		if (!v8_bytes(h, at, block, BLOCK)) {
			return false;
		}
		for (size_t i = BLOCK / 8; i-- > 0;) {
			if (at + 8 * i < pc && is_code_word(h, at + 8 * i, block[i], pc, out)) {
				return true;
			}
		}
		if (at % CHUNK == 0) {
			return false;
		}
	}
	return false;
}

bool v8_code_at(struct v8_heap *h, uint64_t pc, uint64_t function, struct v8_code *out) {
	uint64_t code;
	if (h->layout->function_code && v8_word(h, function, h->layout->function_code, &code) &&
			read_code(h, code, pc, out)) {
		return true;
	}
	return search_code(h, pc, out);
}

// ---- baseline

static uint32_t bytecode_bytes(const struct v8_layout *l, const uint8_t *at, size_t left) {
	// 0 and 2 double the size of the operands, 1 and 3 make it four times as large
	bool is_prefix = at[0] < 4;
	uint32_t scale = !is_prefix ? 0 : at[0] % 2 == 0 ? 1 : 2;
	uint32_t bytes = is_prefix && left < 2 ? 0 : l->bytecode_bytes[scale][at[is_prefix]];
	return bytes ? bytes + is_prefix : 0;
}

/** The offset of the bytecode whose code ends at or behind `pc`, counted from the code's start. */
static bool find_bytecode(const struct v8_layout *l, struct slice table, struct slice code,
		uint64_t pc, int64_t *offset) {
	struct cursor c = cursor_init(table);
	uint64_t end = cursor_varint(&c); // the first entry is that of the prologue
	for (size_t at = 0, step; at < code.size && !c.failed; at += step) {
		end += cursor_varint(&c);
		if (end >= pc && !c.failed) {
			*offset = (int64_t)at;
			return true;
		}
		step = bytecode_bytes(l, code.data + at, code.size - at);
		if (step == 0) {
			return false;
		}
	}
	return false;
}

/** The bytecode that baseline code was made of. */
static bool baseline_bytecode(struct v8_heap *h, const struct v8_code *c, uint64_t *out) {
	const struct v8_layout *l = h->layout;
	return v8_word(h, c->object, l->code_deoptimization, out) &&
			(v8_is_type(h, out, l->type_bytecode_array) ||
					(v8_word(h, *out, l->interpreter_data_bytecode, out) &&
							v8_is_type(h, out, l->type_bytecode_array)));
}

bool v8_baseline_offset(struct v8_heap *h, const struct v8_code *c, uint64_t pc,
		uint64_t *bytecode_array, int64_t *offset) {
	const struct v8_layout *l = h->layout;
	struct buffer table = {0}, code = {0};
	uint64_t word;
	int32_t n;
	bool ok = c->kind == l->code_kind_baseline && v8_word(h, c->object, l->code_positions, &word) &&
			v8_byte_array(h, word, V8_MAX_TABLE, &table) &&
			baseline_bytecode(h, c, bytecode_array) &&
			v8_number(h, *bytecode_array, l->array_length, &n) && n > 0 && n <= MAX_BYTECODE &&
			v8_append(h, (*bytecode_array & ~(uint64_t)3) + (uint64_t)l->bytecode_data, (uint32_t)n,
					&code) &&
			find_bytecode(l, buffer_view(&table), buffer_view(&code), pc - c->start, offset);
	buffer_finish(&table);
	buffer_finish(&code);
	return ok;
}

// ---- optimized

/** From an inlined call outwards: 16 bytes each, position and index of the function. */
static uint32_t inlined_calls(struct v8_heap *h, uint64_t deoptimization, uint64_t position,
		struct v8_call out[V8_MAX_INLINED]) {
	struct {
		uint64_t position;
		int32_t function, pad;
	} inlined;
	uint64_t literals = 0, array = 0;
	struct buffer table = {0};
	bool ok = v8_position_inlining(position) < 0 ||
			(v8_element(h, deoptimization, h->layout->inlined_literals, &literals) &&
					v8_element(h, deoptimization, h->layout->inlined_positions, &array) &&
					v8_byte_array(h, array, V8_MAX_TABLE, &table));
	uint32_t n = 0;
	for (; ok && v8_position_inlining(position) >= 0 && n + 1 < V8_MAX_INLINED; n++) {
		size_t at = (size_t)v8_position_inlining(position) * sizeof inlined;
		ok = at + sizeof inlined <= table.size;
		if (ok) {
			memcpy(&inlined, table.data + at, sizeof inlined);
			out[n] = (struct v8_call){.position = v8_position_offset(position)};
			ok = inlined.function < 0 || v8_element(h, literals, inlined.function, &out[n].shared);
			position = inlined.position;
		}
	}
	buffer_finish(&table);
	out[n++] = (struct v8_call){.position = v8_position_offset(position)};
	return ok ? n : 0;
}

uint32_t v8_optimized_calls(struct v8_heap *h, const struct v8_code *c, uint64_t pc,
		struct v8_call out[V8_MAX_INLINED]) {
	const struct v8_layout *l = h->layout;
	uint64_t table, deoptimization, position;
	if (c->kind <= l->code_kind_baseline || !v8_word(h, c->object, l->code_positions, &table) ||
			!v8_word(h, c->object, l->code_deoptimization, &deoptimization)) {
		return 0;
	}
	uint64_t at = pc - c->start;
	uint32_t n = v8_exit_calls(h, c, deoptimization, (uint32_t)at, out);
	struct buffer positions = {0};
	if (n == 0 && v8_byte_array(h, table, V8_MAX_TABLE, &positions) &&
			v8_find_position(buffer_view(&positions), (int64_t)at - 1, &position)) {
		n = inlined_calls(h, deoptimization, position, out);
	}
	buffer_finish(&positions);
	return n;
}
