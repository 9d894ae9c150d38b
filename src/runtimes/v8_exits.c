// SPDX-License-Identifier: MIT
/*
 * The frames that a call in optimized code stands for, as V8 itself finds them when it prints a
 * stack.
 *
 * Behind the code lies a table of safepoints. One with an exit has, as 1 to 4 bytes each: the
 * return address, the index of the exit + 1, the address of the exit's code + 1. The last stands in
 * the exit itself as well, so that the three prove each other wherever they are.
 *
 * An exit names a translation: operations of one byte with numbers, from BEGIN to the next BEGIN,
 * frames with what they hold, the outermost first. Operations that are those of an earlier
 * translation at the same place are not repeated but counted.
 */
#include "runtimes/v8_exits.h"

#include "base/slice.h"

enum {
	MAX_METADATA = 1 << 20,
	MAX_TRANSLATIONS = 1 << 20,
	MAX_OPERATIONS = 1 << 14,
	EXIT_WORDS = 3,
	MAX_OPERANDS = 6,
};

// ---- the exit of a return address

static uint32_t number_of(const uint8_t *at, uint32_t bytes) {
	uint32_t n = 0;
	memcpy(&n, at, bytes); // little endian
	return n;
}

/** The exit whose three numbers begin here, with these sizes. False: they prove nothing. */
static bool is_exit(struct v8_heap *h, uint64_t deoptimization, struct slice s, uint32_t at,
		uint32_t of_pc, uint32_t of_index, int32_t *translation) {
	if (s.size < 2 * of_pc + of_index || number_of(s.data, of_pc) != at) {
		return false;
	}
	int64_t index = (int64_t)number_of(s.data + of_pc, of_index) - 1;
	int64_t first = h->layout->first_exit + EXIT_WORDS * index;
	uint64_t word;
	int32_t pc;
	return index >= 0 && v8_element(h, deoptimization, first + 2, &word) &&
			v8_is_number(word, &pc) && pc > 0 &&
			(uint32_t)pc + 1 == number_of(s.data + of_pc + of_index, of_pc) &&
			v8_element(h, deoptimization, first + 1, &word) && v8_is_number(word, translation);
}

static bool find_exit(struct v8_heap *h, const struct v8_code *c, uint64_t deoptimization,
		uint32_t at, int32_t *translation) {
	struct buffer metadata = {0};
	int32_t bytes;
	bool is_found = false;
	if (v8_int(h, c->object, h->layout->code_size + 4, &bytes) && bytes > 0 &&
			bytes <= MAX_METADATA &&
			v8_append(h, c->start + c->bytes, (uint32_t)bytes, &metadata)) {
		for (size_t i = 0; i < metadata.size && !is_found; i++) {
			struct slice s = slice_of(metadata.data + i, metadata.size - i);
			for (uint32_t sizes = 0; sizes < 8 && !is_found; sizes++) {
				is_found = is_exit(h, deoptimization, s, at, 1 + sizes % 4, 1 + sizes / 4,
						translation);
			}
		}
	}
	buffer_finish(&metadata);
	return is_found;
}

// ---- operations

struct operation {
	uint32_t opcode;
	int32_t operands[MAX_OPERANDS];
};

static int32_t signed_of(uint64_t n) {
	uint32_t size = (uint32_t)(n >> 1);
	return (int32_t)(n & 1 ? 0 - size : size);
}

static bool is_begin(const struct v8_layout *l, uint32_t opcode) {
	return opcode == (uint32_t)l->opcode_begin || opcode == (uint32_t)l->opcode_begin + 1;
}

static bool read_operation(const struct v8_layout *l, struct cursor *c, uint32_t opcode,
		struct operation *out) {
	*out = (struct operation){.opcode = opcode};
	if (opcode >= l->n_opcodes || l->operands[opcode] > MAX_OPERANDS) {
		return false;
	}
	for (uint32_t i = 0; i < l->operands[opcode]; i++) {
		uint64_t n = cursor_varint(c);
		// only how far the earlier translation lies back has no sign
		out->operands[i] = is_begin(l, opcode) && i == 0 ? (int32_t)n : signed_of(n);
	}
	return !c->failed;
}

/** A translation, and the one whose operations it shares. */
struct translation {
	const struct v8_layout *layout;
	struct cursor own, earlier;
	uint32_t shared; // operations to come from the earlier one
	uint32_t behind; // operations of the earlier one that are to be stepped over
};

static bool translation_open(struct translation *t, const struct v8_layout *l, struct slice all,
		int32_t at) {
	if (at < 0 || (uint32_t)at >= all.size) {
		return false;
	}
	*t = (struct translation){.layout = l};
	t->own = cursor_init(slice_of(all.data + at, all.size - (size_t)at));
	struct operation begin;
	if (!read_operation(l, &t->own, cursor_u8(&t->own), &begin) || !is_begin(l, begin.opcode)) {
		return false;
	}
	int32_t back = begin.operands[0];
	if (back > 0 && back <= at) {
		t->earlier = cursor_init(slice_of(all.data + at - back, all.size - (size_t)(at - back)));
		t->behind = 1; // its BEGIN
	}
	return back >= 0 && back <= at;
}

static bool earlier_next(struct translation *t, struct operation *out) {
	return cursor_left(&t->earlier) > 0 &&
			read_operation(t->layout, &t->earlier, cursor_u8(&t->earlier), out);
}

/** The next operation. False: the translation is over, or is none. */
static bool translation_next(struct translation *t, struct operation *out) {
	if (t->shared == 0) {
		if (cursor_left(&t->own) == 0) {
			return false;
		}
		uint32_t opcode = cursor_u8(&t->own), n = t->layout->n_opcodes;
		if (opcode < n - 1) {
			t->behind++;
			return read_operation(t->layout, &t->own, opcode, out) && !is_begin(t->layout, opcode);
		}
		t->shared = opcode >= n ? opcode - n : (uint32_t)cursor_varint(&t->own);
		if (t->shared == 0 || t->shared > MAX_OPERATIONS || t->own.failed) {
			return false;
		}
		for (; t->behind > 0; t->behind--) {
			if (!earlier_next(t, out)) {
				return false;
			}
		}
	}
	t->shared--;
	return earlier_next(t, out) && !is_begin(t->layout, out->opcode);
}

// ---- calls

/** A frame of the interpreter: offset in the bytecode, function, bytecode. */
static bool call_of(struct v8_heap *h, uint64_t deoptimization, const struct operation *o,
		struct v8_call *out) {
	uint64_t literals, bytecode;
	*out = (struct v8_call){.position = -1};
	if (!v8_element(h, deoptimization, h->layout->inlined_literals, &literals) ||
			!v8_element(h, literals, o->operands[1], &out->shared)) {
		return false;
	}
	if (v8_element(h, deoptimization, h->layout->protected_literals, &literals) &&
			v8_element(h, literals, o->operands[2], &bytecode)) {
		out->position = v8_bytecode_position(h, bytecode, o->operands[0]);
	}
	return true;
}

static uint32_t translated_calls(struct v8_heap *h, uint64_t deoptimization, struct slice all,
		int32_t at, struct v8_call out[V8_MAX_INLINED]) {
	struct translation t;
	struct operation o;
	uint32_t n = 0;
	if (!translation_open(&t, h->layout, all, at)) {
		return 0;
	}
	for (int i = 0; i < MAX_OPERATIONS && translation_next(&t, &o); i++) {
		uint32_t frame = (uint32_t)h->layout->opcode_frame;
		if (o.opcode != frame && o.opcode != frame + 1) {
			continue;
		}
		if (n == V8_MAX_INLINED || !call_of(h, deoptimization, &o, &out[n])) {
			return 0;
		}
		n++;
	}
	for (uint32_t i = 0; i < n / 2; i++) { // the innermost first
		struct v8_call outer = out[i];
		out[i] = out[n - 1 - i];
		out[n - 1 - i] = outer;
	}
	return n;
}

uint32_t v8_exit_calls(struct v8_heap *h, const struct v8_code *c, uint64_t deoptimization,
		uint32_t at, struct v8_call out[V8_MAX_INLINED]) {
	const struct v8_layout *l = h->layout;
	uint64_t array;
	uint32_t n = 0;
	int32_t translation;
	struct buffer all = {0};
	if (l->first_exit > 0 && l->n_opcodes > 2 &&
			find_exit(h, c, deoptimization, at, &translation) &&
			v8_element(h, deoptimization, 0, &array) &&
			v8_byte_array(h, array, MAX_TRANSLATIONS, &all)) {
		n = translated_calls(h, deoptimization, buffer_view(&all), translation, out);
	}
	buffer_finish(&all);
	return n;
}
