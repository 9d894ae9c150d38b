// SPDX-License-Identifier: MIT
/*
 * A frame's kind is that of the code it goes on in. Its slots may hold leftovers of older frames,
 * or of the interpreter before its function was compiled in mid-loop.
 *
 *   the interpreter, or a copy of its code   bytecode: function and offset
 *   other code of V8's image                 a function of V8's own, unless it has a source: then
 *                                            the code is a stub in somebody else's frame
 *   code in no module                        compiled: function, address, and the call there, since
 *                                            other code may come to lie at the address
 *
 * Objects move, and their old copies keep all words but the first, so functions are identified by
 * numbers. docs/recorder.md has more.
 */
#include "recorder/core/runtime/v8.h"

#include "recorder/core/runtime/units.h"

enum { CODE_WORD = 8, NUMBER_SHIFT = 32 };

/** A frame whose words are read and noted. */
struct looked_at {
	const struct v8_reader *reader;
	uint64_t pc, frame;
	struct v8_memo *memo;
	uint32_t n; // words noted
};

static uint64_t field(const struct looked_at *l, enum wire_v8_field f) {
	return (uint64_t)(int32_t)l->reader->runtime->layout->fields[f];
}

static bool is_object(uint64_t word) {
	return (word & 3) == 1;
}

/** The word at `at`, if `is_readable`. */
static bool note(struct looked_at *l, uint64_t at, bool is_readable, uint64_t *out) {
	bool ok = is_readable && l->n < V8_WORDS;
	*out = ok ? walk_load(at) : 0;
	if (ok) {
		l->memo->at[l->n] = at;
		l->memo->value[l->n++] = *out;
	}
	return ok;
}

/** A field of an object: what the word that it lies in has from there on. */
static bool load(struct looked_at *l, uint64_t object, enum wire_v8_field f, uint64_t *out) {
	uint64_t at = object - 1 + field(l, f), whole = at & ~7ull;
	bool ok = note(l, whole, is_object(object) && guard_has(l->reader->guard, whole), out);
	*out >>= at % 8 * 8;
	return ok;
}

/** A slot of the frame, on the thread's own stack, as all of V8's frames are. */
static bool slot(struct looked_at *l, enum wire_v8_field f, uint64_t *out) {
	uint64_t at = l->frame + field(l, f);
	return note(l, at, at % 8 == 0 && window_has(l->reader->stack, at), out);
}

/** Does the interpreter's code, or a copy of it, go on at `pc`? */
static bool is_interpreter(const struct wire_layout *l, uint64_t pc) {
	for (unsigned i = 0; i < 2; i++) {
		uint64_t original = l->returns[i];
		if (original != 0 && walk_load(pc - CODE_WORD) == walk_load(original - CODE_WORD) &&
				walk_load(pc) == walk_load(original)) {
			return true;
		}
	}
	return false;
}

/** The numbers that identify a function. False: it has none. */
static bool identify(struct looked_at *l, uint64_t shared, uint64_t *number) {
	bool is_unique = l->reader->runtime->layout->fields[V8_UNIQUE_ID] != WIRE_NO_FIELD;
	uint64_t id, script, script_id = 0;
	bool ok = load(l, shared, is_unique ? V8_UNIQUE_ID : V8_LITERAL_ID, &id) &&
			(is_unique ||
					(load(l, shared, V8_SCRIPT, &script) &&
							load(l, script, V8_SCRIPT_ID, &script_id)));
	*number = ok ? (script_id >> NUMBER_SHIFT) << 32 | (uint32_t)id : 0;
	return ok;
}

/** The frame's function, and the place in it. False: it stands only for its code. */
static bool look(struct looked_at *l, struct unit_key *key, uint64_t *position) {
	const struct wire_layout *layout = l->reader->runtime->layout;
	const struct wire_code_range *own = &layout->ranges[0];
	uint64_t function, offset, code, literal, array = l->frame + field(l, V8_ARRAY);
	*position = 0;
	// A walk by frame pointers may come to what only looks like a frame
	if (!guard_covers(l->reader->guard, (l->pc - CODE_WORD) & ~7ull, 3 * CODE_WORD) ||
			!machine_ends_with_call(walk_load(l->pc - CODE_WORD)) ||
			!slot(l, V8_FUNCTION, &function) || !load(l, function, V8_SHARED, &key->object)) {
		return false;
	}
	if (is_interpreter(layout, l->pc)) {
		bool ok = slot(l, V8_OFFSET, &offset) && (uint32_t)offset == 0 &&
				window_has(l->reader->stack, array);
		key->array = ok ? walk_load(array) : 0;
		*position = (offset >> NUMBER_SHIFT) - field(l, V8_FIRST_OFFSET) + 1;
		return ok && identify(l, key->object, &key->identity[0]);
	}
	key->identity[1] = l->pc;
	if (l->pc - own->start < own->end - own->start) {
		return load(l, key->object, V8_LITERAL_ID, &literal) && (uint32_t)literal == UINT32_MAX;
	}
	key->array = function;
	bool ok = note(l, l->pc - CODE_WORD, true, &code) &&
			identify(l, key->object, &key->identity[0]);
	key->identity[2] = code;
	return ok;
}

uint64_t v8_find_where(const struct v8_reader *r, uint64_t pc, uint64_t frame, struct v8_memo *m) {
	struct looked_at l = {r, pc, frame, m, 0};
	struct unit_key key = {.thread = r->thread};
	uint64_t position, context;
	m->frame = 0; // while it is being filled in
	atomic_signal_fence(memory_order_seq_cst);
	m->where = 0;
	// A number there means that the frame has no function
	bool has_function = slot(&l, V8_CONTEXT, &context) && is_object(context);
	l.n -= has_function; // the same code always has one
	if (has_function && look(&l, &key, &position)) {
		uint32_t unit = units_find(r->runtime, r->guard, &key);
		if (unit == 0) {
			return 0;
		}
		m->where = wire_where_of_unit(r->runtime->module, unit, position);
	}
	for (; l.n < V8_WORDS; l.n++) {
		m->at[l.n] = (uint64_t)&m->value[l.n];
	}
	m->pc = pc;
	m->epoch = r->guard->epoch;
	atomic_signal_fence(memory_order_seq_cst);
	m->frame = frame;
	return m->where;
}
