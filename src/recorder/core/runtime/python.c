// SPDX-License-Identifier: MIT
/*
 * CPython keeps its frames in a chain, from the innermost one outwards, for each thread. A call
 * from Python to Python adds a frame and no C frame; a call from C enters the interpreter's loop
 * anew:
 *
 *    C stack                      Python's chain          pieces
 *    malloc                       d  is entry             d
 *    _PyEval_EvalFrameDefault     c                       c b
 *    map_next ...                 b  is entry
 *    _PyEval_EvalFrameDefault     a                       a main
 *    main                         main  is entry
 *
 * Up to 3.11 the outermost frame of a piece says so itself. Since then one that is nobody's follows
 * it. Frames whose function has not begun are not Python's yet.
 */
#include "recorder/core/runtime/chain.h"
#include "recorder/core/runtime/units.h"

enum {
	STEPS_MAX = 1 << 20,
	INTERPRETERS_MAX = 256,
	THREADS_MAX = 1 << 14,
	UNIT_BYTES = 2, // of an instruction
	LENGTH = 16,    // of texts and bytes, in every version
	BYTES_HEAD = 32,
	LENGTH_MAX = 1 << 28,
	FRAME_BYTES = 72, // of which fields are read
};

struct python {
	const struct wire_layout *layout;
	struct guard *guard;
};

static uint64_t at(const struct python *p, uint64_t object, enum wire_python_field field) {
	return object + p->layout->fields[field];
}

static bool has(const struct python *p, enum wire_python_field field) {
	return p->layout->fields[field] != WIRE_NO_FIELD;
}

static bool load(const struct python *p, uint64_t object, enum wire_python_field field,
		uint64_t *value) {
	return guard_load(p->guard, at(p, object, field), value);
}

// ---- the thread

static bool is_this_thread(const struct python *p, uint64_t thread) {
	uint64_t id;
	return load(p, thread, PYTHON_THREAD_ID, &id) && id == host_stack_end();
}

/** Among all threads of all interpreters; 0: not there. They may come and go meanwhile. */
static uint64_t find_thread(const struct python *p) {
	uint64_t interpreter, thread;
	bool ok = load(p, p->layout->state, PYTHON_HEAD, &interpreter);
	for (unsigned i = 0; ok && interpreter != 0 && i < INTERPRETERS_MAX; i++) {
		ok = load(p, interpreter, PYTHON_THREADS, &thread);
		for (unsigned k = 0; ok && thread != 0 && k < THREADS_MAX; k++) {
			if (is_this_thread(p, thread)) {
				return thread;
			}
			ok = load(p, thread, PYTHON_THREAD, &thread);
		}
		ok = ok && load(p, interpreter, PYTHON_INTERPRETER, &interpreter);
	}
	return 0;
}

/**
 * The last one may be gone: a thread of C's that calls Python has a new one each time. The one that
 * may run now is not.
 */
static bool renew_thread(const struct python *p, uint64_t *thread) {
	uint64_t current;
	bool is_current = has(p, PYTHON_CURRENT) &&
			load(p, p->layout->state, PYTHON_CURRENT, &current) && current == *thread;
	if (*thread != 0 && !is_current) {
		guard_renew(p->guard, at(p, *thread, PYTHON_TOP));
		guard_renew(p->guard, at(p, *thread, PYTHON_THREAD_ID));
	}
	if (*thread == 0 || !is_this_thread(p, *thread)) {
		*thread = find_thread(p);
	}
	return *thread != 0;
}

static bool innermost_frame(const struct python *p, uint64_t thread, uint64_t *frame) {
	return load(p, thread, PYTHON_TOP, frame) &&
			(!has(p, PYTHON_TOP_FRAME) || load(p, *frame, PYTHON_TOP_FRAME, frame));
}

// ---- frames

static bool add(struct chain *c, uint64_t where) {
	if (c->n == c->n_max) {
		c->is_full = true;
		return false;
	}
	c->frames[c->n++] = where;
	return true;
}

/** `is_open`: the last frame that was added is of the same piece. */
static bool end_piece(struct chain *c, bool is_open) {
	c->n_pieces++;
	if (!is_open) {
		return add(c, CHAIN_ENDS_PIECE);
	}
	c->frames[c->n - 1] |= CHAIN_ENDS_PIECE;
	return true;
}

/** A word, or a part of one, of what is known to be readable. */
static uint64_t word(const struct python *p, uint64_t object, enum wire_python_field field) {
	return walk_load(at(p, object, field));
}

static uint32_t part(const struct python *p, uint64_t object, enum wire_python_field field) {
	return *(const uint32_t *)at(p, object, field);
}

static uint8_t flag(const struct python *p, uint64_t frame, enum wire_python_field field) {
	return has(p, field) ? *(const uint8_t *)at(p, frame, field) : 0;
}

/** Mix in the length and the end of an object whose `head` bytes are followed by bytes. */
static bool mix_end(const struct python *p, uint64_t object, uint64_t head, uint64_t *mixed) {
	if (!guard_covers(p->guard, object, BYTES_HEAD)) {
		return false;
	}
	uint64_t length = walk_load(object + LENGTH);
	uint64_t end = object + ((head + length) & ~7ull);
	if (length > LENGTH_MAX || !guard_covers(p->guard, end - 8, 16)) {
		return false;
	}
	uint64_t last = walk_load(end) & ((1ull << length % 8 * 8) - 1); // behind it lies anything
	*mixed = (*mixed ^ length ^ walk_load(end - 8)) * 0x9E3779B97F4A7C15ull;
	*mixed = (*mixed ^ *mixed >> 32 ^ last) * 0x9E3779B97F4A7C15ull;
	return true;
}

/**
 * `where` of a frame of the function `code`; 0: it has none yet, or is none of Python's. What is
 * compiled again and again (exec, templates) lies at the addresses of what was compiled before, all
 * of its objects do: their contents tell them apart.
 */
static bool where_of(const struct python *p, const struct runtime *r, uint64_t frame, uint64_t code,
		uint64_t *where) {
	*where = 0;
	if (code == 0 || !guard_covers(p->guard, code, p->layout->fields[PYTHON_INSTRUCTIONS])) {
		return code == 0;
	}
	if (walk_load(code + sizeof(uint64_t)) != p->layout->code_type) {
		return true;
	}
	int64_t offset = (int64_t)(word(p, frame, PYTHON_INSTRUCTION) -
							 at(p, code, PYTHON_INSTRUCTIONS)) /
			UNIT_BYTES;
	if (offset < (int32_t)part(p, code, PYTHON_FIRST_TRACEABLE)) {
		return true;
	}
	uint64_t identity[3] = {code, word(p, code, PYTHON_QUALIFIED_NAME),
			part(p, code, PYTHON_FIRST_LINE)};
	if (!mix_end(p, word(p, code, PYTHON_FILE), p->layout->fields[PYTHON_TEXT], &identity[1]) ||
			!mix_end(p, word(p, code, PYTHON_LINE_TABLE), BYTES_HEAD, &identity[1])) {
		return false;
	}
	uint32_t unit = units_find(r, p->guard, identity, 0);
	*where = unit != 0 ? wire_where_of_unit(r->module, unit, (uint64_t)offset + 1) : 0;
	return unit != 0;
}

bool chain_of_python(struct chain *c, const struct runtime *r, struct guard *guard,
		uint64_t *thread) {
	const struct python p = {r->layout, guard};
	uint64_t frame;
	bool is_open = false;
	guard_begin(guard);
	if (!renew_thread(&p, thread) || !innermost_frame(&p, *thread, &frame)) {
		return false;
	}
	for (uint32_t i = 0; frame != 0; i++) {
		uint64_t where = 0;
		if (i == STEPS_MAX || !guard_covers(guard, frame, FRAME_BYTES)) {
			return false;
		}
		bool is_of_c = flag(&p, frame, PYTHON_OWNER) == PYTHON_OWNER_OF_C;
		if (!is_of_c && !where_of(&p, r, frame, word(&p, frame, PYTHON_CODE) & ~7ull, &where)) {
			return false;
		}
		if (where != 0 && !add(c, where)) {
			return false;
		}
		is_open |= where != 0;
		if (is_of_c || flag(&p, frame, PYTHON_IS_ENTRY) != 0) {
			if (!end_piece(c, is_open)) {
				return false;
			}
			is_open = false;
		}
		frame = word(&p, frame, PYTHON_PREVIOUS);
	}
	return !is_open;
}
