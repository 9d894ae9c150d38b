// SPDX-License-Identifier: MIT
/*
 * Places in code.
 *
 *   interpreted   offset in bytecode -> source position table of the bytecode
 *   baseline      pc -> table of the bytes of each bytecode's code -> as above
 *   optimized     pc -> source position table of the code, with inlined functions
 *                 or, as Maglev's is empty: pc -> safepoint -> deoptimization exit (see there)
 *
 * A source position table is pairs of increments, in the code and in the source. A position is,
 * from the lowest bit: 1 bit, 30 bits of offset + 1, 16 bits of inlining + 1.
 */
#include "runtimes/v8_parts.h"

enum {
	MAX_BYTECODE = 16 << 20, // bytes of a function
	CHUNK = 256 << 10,       // V8 takes memory for code in such chunks
	BLOCK = 4096,
	WRAPPED = 8, // since 13.6, code has its function in a separate object
};

// ---- positions

static int32_t offset_of(uint64_t position) {
	return (int32_t)(position >> 1 & 0x3fffffff) - 1;
}

/** The index of the inlined call, or -1. */
static int32_t inlining_of(uint64_t position) {
	return (int32_t)(position >> 31 & 0xffff) - 1;
}

static int64_t take_signed(struct cursor *c) {
	uint64_t n = cursor_varint(c);
	return (int64_t)(n >> 1 ^ -(n & 1));
}

/** The last position of a table at or before `offset` in the code, or 0. */
static uint64_t position_at(struct slice table, int64_t offset) {
	int64_t at = -1; // function entry
	uint64_t sum = 0, found = 0;
	for (struct cursor c = cursor_init(table); cursor_left(&c) > 0; found = sum) {
		int64_t code = (int32_t)take_signed(&c);
		at += code >= 0 ? code : -(code + 1); // negative: starts no statement
		sum += (uint64_t)take_signed(&c);
		if (c.failed || at > offset) {
			break;
		}
	}
	return found;
}

int32_t v8_find_position(struct slice table, int64_t offset) {
	return offset_of(position_at(table, offset));
}

bool v8_bytecode_table(struct v8_heap *h, uint64_t bytecode, struct buffer *out) {
	return v8_byte_array(h, v8_word(h, bytecode, h->layout->bytecode_positions), out);
}

int32_t v8_bytecode_position(struct v8_heap *h, uint64_t bytecode, int64_t offset) {
	SCOPED(buffer) table = {0};
	return v8_bytecode_table(h, bytecode, &table) ? v8_find_position(buffer_view(&table), offset)
												  : -1;
}

// ---- code by address

static bool read_code(struct v8_heap *h, uint64_t object, uint64_t pc, struct v8_code *out) {
	const struct v8_layout *l = h->layout;
	*out = (struct v8_code){.object = object};
	if (!v8_is_type(h, &out->object, l->type_code)) {
		return false;
	}
	int32_t bytes = v8_int(h, out->object, l->code_size);
	out->start = l->code_start ? v8_word(h, out->object, l->code_start)
							   : (out->object & ~(uint64_t)3) + (uint64_t)l->code_instructions;
	out->bytes = (uint32_t)bytes;
	out->kind = v8_int(h, out->object, l->code_flags) & l->code_kind_mask;
	return bytes > 0 && pc > out->start && pc - out->start <= out->bytes; // a return address
}

/** Is this word of code the object around `pc`, or its reference to that? */
static bool is_code_word(struct v8_heap *h, uint64_t address, uint64_t word, uint64_t pc,
		struct v8_code *out) {
	if ((word & 7) != 1 || !v8_is_object(word)) {
		return false;
	}
	uint64_t object = h->layout->code_instructions ? address | 1 : word;
	uint64_t map = v8_word(h, object, 0);
	bool ok = (!h->code_map || map == h->code_map) && read_code(h, object, pc, out);
	h->code_map = ok ? map : h->code_map;
	return ok;
}

bool v8_code_at(struct v8_heap *h, uint64_t pc, uint64_t function, struct v8_code *out) {
	uint64_t block[BLOCK / 8];
	if (h->layout->function_code &&
			read_code(h, v8_word(h, function, h->layout->function_code), pc, out)) {
		return true;
	}
	// Downwards from the address, within the chunk of memory that it lies in
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

// ---- baseline

static uint32_t bytecode_bytes(const struct v8_layout *l, const uint8_t *at, size_t left) {
	// 0 and 2 double the size of the operands, 1 and 3 quadruple it
	bool is_prefix = at[0] < 4;
	uint32_t scale = !is_prefix ? 0 : at[0] % 2 == 0 ? 1 : 2;
	uint32_t bytes = is_prefix && left < 2 ? 0 : l->bytecode_bytes[scale][at[is_prefix]];
	return bytes ? bytes + is_prefix : 0;
}

/** The offset of the bytecode whose code, counted from its start, ends at or behind `pc`. */
static int64_t find_bytecode(const struct v8_layout *l, const struct buffer *table,
		const struct buffer *code, uint64_t pc) {
	struct cursor c = cursor_init(buffer_view(table));
	uint64_t end = cursor_varint(&c); // the first entry is that of the prologue
	for (size_t at = 0, step = 1; step != 0 && at < code->size && !c.failed; at += step) {
		end += cursor_varint(&c);
		if (end >= pc && !c.failed) {
			return (int64_t)at;
		}
		step = bytecode_bytes(l, code->data + at, code->size - at);
	}
	return -1;
}

/** The position of a place in baseline code, or -1. */
static int32_t baseline_position(struct v8_heap *h, const struct v8_code *c, uint64_t pc) {
	const struct v8_layout *l = h->layout;
	SCOPED(buffer) table = {0};
	SCOPED(buffer) code = {0};
	uint64_t bytecode = v8_word(h, c->object, l->code_deoptimization);
	if (!v8_is_type(h, &bytecode, l->type_bytecode_array)) {
		bytecode = v8_word(h, bytecode, l->interpreter_data_bytecode);
	}
	int32_t n = v8_number(h, bytecode, l->array_length);
	bool ok = v8_byte_array(h, v8_word(h, c->object, l->code_positions), &table) &&
			v8_is_type(h, &bytecode, l->type_bytecode_array) && n > 0 && n <= MAX_BYTECODE &&
			v8_append(h, (bytecode & ~(uint64_t)3) + (uint64_t)l->bytecode_data, (uint32_t)n,
					&code);
	int64_t offset = ok ? find_bytecode(l, &table, &code, pc - c->start) : -1;
	return offset >= 0 ? v8_bytecode_position(h, bytecode, offset) : -1;
}

// ---- deoptimization exits

/*
 * The frames that a call in optimized code stands for, as V8 itself finds them to print a stack. A
 * table of safepoints follows the code. One with an exit holds, in 1 to 4 bytes each: the return
 * address, the exit's index + 1, the exit's code address + 1. The last is in the exit as well, so
 * the three prove each other wherever they are. An exit names a translation: one-byte operations
 * with numbers, from BEGIN to the next BEGIN: frames and what they hold, outermost first.
 * Operations that repeat those of an earlier translation are only counted.
 */
enum {
	MAX_METADATA = 1 << 20,
	MAX_OPERATIONS = 1 << 14,
	EXIT_WORDS = 3,
	MAX_OPERANDS = 6,
};

static uint32_t number_of(const uint8_t *at, uint32_t bytes) {
	uint32_t n = 0;
	memcpy(&n, at, bytes); // little endian
	return n;
}

/** The exit whose three numbers, of these sizes, begin here. False: they prove nothing. */
static bool is_exit(struct v8_heap *h, uint64_t data, struct slice s, uint32_t at, uint32_t of_pc,
		uint32_t of_index, int32_t *translation) {
	if (s.size < 2 * of_pc + of_index || number_of(s.data, of_pc) != at) {
		return false;
	}
	int64_t index = (int64_t)number_of(s.data + of_pc, of_index) - 1;
	int64_t first = h->layout->first_exit + EXIT_WORDS * index;
	int32_t pc = v8_number_of(v8_element(h, data, first + 2));
	*translation = v8_number_of(v8_element(h, data, first + 1));
	return index >= 0 && *translation >= 0 && pc > 0 &&
			(uint32_t)pc + 1 == number_of(s.data + of_pc + of_index, of_pc);
}

static bool find_exit(struct v8_heap *h, const struct v8_code *c, uint64_t data, uint32_t at,
		int32_t *translation) {
	SCOPED(buffer) metadata = {0};
	int32_t bytes = v8_int(h, c->object, h->layout->code_size + 4);
	return bytes > 0 && bytes <= MAX_METADATA &&
			v8_append(h, c->start + c->bytes, (uint32_t)bytes, &metadata) &&
			ANY(i, metadata.size * 8,
					is_exit(h, data, slice_of(metadata.data + i / 8, metadata.size - i / 8), at,
							(uint32_t)(1 + i % 4), (uint32_t)(1 + i / 4 % 2), translation));
}

struct operation {
	uint32_t opcode;
	int32_t operands[MAX_OPERANDS];
};

static bool is_begin(const struct v8_layout *l, uint32_t opcode) {
	return opcode - (uint32_t)l->opcode_begin < 2;
}

static bool read_operation(const struct v8_layout *l, struct cursor *c, uint32_t opcode,
		struct operation *out) {
	*out = (struct operation){.opcode = opcode};
	if (c->failed || opcode >= l->n_opcodes || l->operands[opcode] > MAX_OPERANDS) {
		return false;
	}
	for (uint32_t i = 0; i < l->operands[opcode]; i++) {
		uint32_t n = (uint32_t)cursor_varint(c), size = n >> 1;
		// only the distance back to the earlier translation has no sign
		out->operands[i] = (int32_t)(is_begin(l, opcode) && i == 0 ? n : n & 1 ? 0 - size : size);
	}
	return !c->failed;
}

/** A translation, and the one whose operations it shares. They are read side by side. */
struct translation {
	const struct v8_layout *layout;
	struct cursor own, earlier;
	uint32_t shared; // operations to come from the earlier one
};

static bool next_of(const struct v8_layout *l, struct cursor *c, struct operation *out) {
	return read_operation(l, c, cursor_u8(c), out);
}

static bool translation_open(struct translation *t, const struct v8_layout *l, struct slice all,
		uint32_t at) {
	struct operation begin = {0};
	if (at >= all.size) {
		return false;
	}
	*t = (struct translation){l, cursor_init(slice_of(all.data + at, all.size - at)), {0}, 0};
	bool is_begun = next_of(l, &t->own, &begin) && is_begin(l, begin.opcode);
	size_t back = (uint32_t)begin.operands[0];
	if (is_begun && back > 0 && back <= at) {
		t->earlier = cursor_init(slice_of(all.data + at - back, all.size - (at - back)));
		is_begun = next_of(l, &t->earlier, &begin);
	}
	return is_begun && back <= at;
}

/** The next operation. False: the translation is over, or invalid. */
static bool translation_next(struct translation *t, struct operation *out) {
	const struct v8_layout *l = t->layout;
	struct operation other;
	bool ok = next_of(l, &t->earlier, &other);
	if (t->shared == 0) {
		uint32_t opcode = cursor_u8(&t->own), n = l->n_opcodes;
		if (opcode < n - 1) {
			return read_operation(l, &t->own, opcode, out) && !is_begin(l, opcode);
		}
		t->shared = opcode >= n ? opcode - n : (uint32_t)cursor_varint(&t->own);
		ok = ok && !t->own.failed && t->shared > 0;
	}
	t->shared--;
	*out = other;
	return ok && !is_begin(l, other.opcode);
}

/** An interpreter's frame: offset in the bytecode, function, bytecode. */
static bool call_of(struct v8_heap *h, uint64_t data, const struct operation *o,
		struct v8_call *out) {
	uint64_t literals = v8_element(h, data, h->layout->inlined_literals);
	uint64_t protected = v8_element(h, data, h->layout->protected_literals);
	uint64_t bytecode = v8_element(h, protected, o->operands[2]);
	*out = (struct v8_call){v8_element(h, literals, o->operands[1]),
			v8_bytecode_position(h, bytecode, o->operands[0])};
	return out->shared != V8_NOTHING;
}

static uint32_t exit_calls(struct v8_heap *h, const struct v8_code *c, uint64_t data, uint32_t at,
		struct v8_call out[V8_MAX_FRAMES]) {
	const struct v8_layout *l = h->layout;
	SCOPED(buffer) all = {0};
	struct translation t;
	struct operation o;
	struct v8_call call;
	uint32_t n = 0;
	int32_t start = 0;
	if (l->first_exit <= 0 || l->n_opcodes <= 2 || !find_exit(h, c, data, at, &start) ||
			!v8_byte_array(h, v8_element(h, data, 0), &all) ||
			!translation_open(&t, l, buffer_view(&all), (uint32_t)start)) {
		return 0;
	}
	for (int i = 0; i < MAX_OPERATIONS && translation_next(&t, &o); i++) {
		if (o.opcode - (uint32_t)l->opcode_frame > 1) {
			continue;
		}
		if (n == V8_MAX_FRAMES || !call_of(h, data, &o, &call)) {
			return 0;
		}
		memmove(out + 1, out, n++ * sizeof *out); // innermost first
		out[0] = call;
	}
	return n;
}

// ---- optimized

/** From an inlined call outwards: 16 bytes each, position and index of the function. */
static uint32_t inlined_calls(struct v8_heap *h, uint64_t data, uint64_t position,
		struct v8_call out[V8_MAX_FRAMES]) {
	struct {
		uint64_t position;
		int32_t function, pad;
	} inlined;
	SCOPED(buffer) table = {0};
	uint32_t n = 0;
	uint64_t literals = v8_element(h, data, h->layout->inlined_literals);
	if (inlining_of(position) >= 0 &&
			!v8_byte_array(h, v8_element(h, data, h->layout->inlined_positions), &table)) {
		return 0;
	}
	for (; inlining_of(position) >= 0 && n + 1 < V8_MAX_FRAMES; n++) {
		size_t at = (size_t)inlining_of(position) * sizeof inlined;
		if (at + sizeof inlined > table.size) {
			return 0;
		}
		memcpy(&inlined, table.data + at, sizeof inlined);
		out[n] = (struct v8_call){.position = offset_of(position)};
		out[n].shared = inlined.function < 0 ? 0 : v8_element(h, literals, inlined.function);
		if (out[n].shared == V8_NOTHING) {
			return 0;
		}
		position = inlined.position;
	}
	uint64_t own = v8_element(h, data, h->layout->inlined_positions - 1);
	own = v8_is_type(h, &own, h->layout->type_shared) ? own : v8_word(h, own, WRAPPED);
	out[n] = (struct v8_call){.position = offset_of(position)};
	out[n].shared = v8_is_type(h, &own, h->layout->type_shared) ? own : 0;
	return n + 1;
}

uint32_t v8_code_calls(struct v8_heap *h, uint64_t pc, uint64_t function,
		struct v8_call out[V8_MAX_FRAMES]) {
	const struct v8_layout *l = h->layout;
	SCOPED(buffer) table = {0};
	struct v8_code c;
	bool is_found = v8_code_at(h, pc, function, &c);
	h->has_failed = false; // words that only look like objects were read, too
	if (is_found && c.kind == l->code_kind_baseline) {
		out[0] = (struct v8_call){.position = baseline_position(h, &c, pc)};
		return 1;
	}
	if (!is_found || c.kind < l->code_kind_baseline) {
		return 0;
	}
	uint64_t data = v8_word(h, c.object, l->code_deoptimization);
	uint32_t n = exit_calls(h, &c, data, (uint32_t)(pc - c.start), out);
	if (n == 0 && v8_byte_array(h, v8_word(h, c.object, l->code_positions), &table)) {
		uint64_t position = position_at(buffer_view(&table), (int64_t)(pc - c.start) - 1);
		n = position != 0 ? inlined_calls(h, data, position, out) : 0;
	}
	return n;
}
