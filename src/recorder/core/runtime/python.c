// SPDX-License-Identifier: MIT
/*
 * CPython chains each thread's frames, from the innermost outwards. A call from Python to Python
 * adds a frame and no C frame; a call from C enters the interpreter's loop again:
 *
 *    C stack                      Python's chain          pieces
 *    malloc                       d  is entry             d
 *    _PyEval_EvalFrameDefault     c                       c b
 *    map_next ...                 b  is entry
 *    _PyEval_EvalFrameDefault     a                       a main
 *    main                         main  is entry
 *
 * Up to 3.11 the outermost frame of a piece says so itself; since then a frame that is nobody's
 * follows it. A frame whose function has not begun does not count yet.
 *
 * A context remembers frames by depth, with all words that it read for them. While these words are
 * the same, so is the frame; nothing else of it is looked at.
 */
#include "recorder/core/runtime/chain.h"
#include "recorder/core/runtime/units.h"

enum {
	FRAMES_MAX = 1 << 20,
	INTERPRETERS_MAX = 256,
	THREADS_MAX = 1 << 14,
	THREADS_YOUNG = 8,
	INSTRUCTION_BYTES = 2,
	LENGTH_MAX = 1 << 28,
	FRAME_BYTES = 80, // that contain all fields read
};

struct python {
	const struct wire_layout *layout;
	struct guard *guard;
	const struct runtime *runtime;
};

static inline uint64_t at(const struct python *p, uint64_t object, enum wire_python_field field) {
	return object + p->layout->fields[field];
}

static inline bool load(const struct python *p, uint64_t object, enum wire_python_field field,
		uint64_t *value) {
	return guard_load(p->guard, at(p, object, field), value);
}

static inline bool has(const struct python *p, enum wire_python_field field) {
	return p->layout->fields[field] != WIRE_NO_FIELD;
}

// ---- the thread

static bool is_this_thread(const struct python *p, uint64_t thread) {
	uint64_t id;
	return load(p, thread, PYTHON_THREAD_ID, &id) && id == host_stack_end();
}

static inline bool innermost_frame(const struct python *p, uint64_t thread, uint64_t *frame) {
	return load(p, thread, PYTHON_TOP, frame) &&
			(!has(p, PYTHON_TOP_FRAME) || load(p, *frame, PYTHON_TOP_FRAME, frame)) && *frame != 0;
}

/**
 * This thread, among the first `n_most` of each interpreter, as one of which it may be waiting; 0:
 * not found. Threads may come and go meanwhile.
 */
static OUTLINE uint64_t find_thread(const struct python *p, unsigned n_most) {
	uint64_t interpreter, thread, frame;
	bool ok = load(p, p->layout->state, PYTHON_HEAD, &interpreter);
	for (unsigned i = 0; ok && interpreter != 0 && i < INTERPRETERS_MAX; i++) {
		ok = load(p, interpreter, PYTHON_THREADS, &thread);
		for (unsigned k = 0; ok && thread != 0 && k < n_most; k++) {
			if (is_this_thread(p, thread) && innermost_frame(p, thread, &frame)) {
				return thread;
			}
			ok = load(p, thread, PYTHON_THREAD, &thread);
		}
		ok = ok && load(p, interpreter, PYTHON_INTERPRETER, &interpreter);
	}
	return 0;
}

/** Is it certainly not freed? The main thread's is part of the runtime's state. */
static inline bool is_kept(const struct python *p, uint64_t thread) {
	uint64_t current;
	return thread - p->layout->state < p->layout->fields[PYTHON_STATE_BYTES] ||
			(has(p, PYTHON_CURRENT) && load(p, p->layout->state, PYTHON_CURRENT, &current) &&
					current == thread);
}

/** The last one may be gone: a C thread that calls Python has a new one each time. */
static inline bool renew_thread(const struct python *p, uint64_t *thread) {
	if (likely(*thread != 0 && is_kept(p, *thread) && is_this_thread(p, *thread))) {
		return true;
	}
	uint64_t young = find_thread(p, THREADS_YOUNG);
	if (young == 0 && *thread != 0) {
		guard_renew(p->guard, at(p, *thread, PYTHON_TOP));
		guard_renew(p->guard, at(p, *thread, PYTHON_THREAD_ID));
		young = is_this_thread(p, *thread) ? *thread : 0;
	}
	*thread = young != 0 ? young : find_thread(p, THREADS_MAX);
	return *thread != 0;
}

// ---- a frame that is known

/** A word, or part of one, that is known to be readable. */
static inline uint64_t word(const struct python *p, uint64_t object, enum wire_python_field field) {
	return walk_load(at(p, object, field));
}

static inline uint32_t part(const struct python *p, uint64_t object, enum wire_python_field field) {
	return *(const uint32_t *)at(p, object, field);
}

static inline uint8_t mark_of(const struct python *p, uint64_t frame) {
	return *(const uint8_t *)at(p, frame, PYTHON_MARK);
}

static inline uint64_t code_of(const struct known_frame *k) {
	return k->code & ~7ull;
}

static inline uint64_t end_differs(uint64_t object, const struct known_end *end) {
	uint64_t at = object + end->at;
	return (walk_load(object + PYTHON_LENGTH) ^ end->bytes) | (walk_load(at) ^ end->words[0]) |
			(walk_load(at + sizeof(uint64_t)) ^ end->words[1]);
}

/** In this order: what belongs to a live object may be read. */
INLINE bool is_same(const struct python *p, const struct known_frame *k, uint64_t frame) {
	if (k->frame != frame || k->round != p->guard->round ||
			((word(p, frame, PYTHON_CODE) ^ k->code) |
					(word(p, frame, PYTHON_PREVIOUS) ^ k->previous) |
					(word(p, frame, PYTHON_INSTRUCTION) ^ k->instruction) |
					(uint64_t)(mark_of(p, frame) ^ k->mark)) != 0) {
		return false;
	}
	uint64_t code = code_of(k), names = at(p, code, PYTHON_FILE);
	return !k->is_code ||
			(((uint64_t)(part(p, code, PYTHON_FIRST_LINE) ^ k->first_line) |
					 (walk_load(names) ^ k->file) |
					 (walk_load(names + PYTHON_NAME_AFTER_FILE) ^ k->qualified_name) |
					 (walk_load(names + PYTHON_LINES_AFTER_FILE) ^ k->line_table)) == 0 &&
					(end_differs(k->file, &k->file_end) |
							end_differs(k->line_table, &k->line_table_end)) == 0);
}

// ---- a frame that is new

static bool read_end(const struct python *p, uint64_t object, uint32_t head,
		struct known_end *end) {
	if (!guard_covers(p->guard, object, PYTHON_BYTES_HEAD)) {
		return false;
	}
	uint64_t length = walk_load(object + PYTHON_LENGTH);
	end->bytes = (uint32_t)length;
	end->at = ((head + end->bytes) & ~7u) - (uint32_t)sizeof(uint64_t);
	if (length > LENGTH_MAX || !guard_covers(p->guard, object + end->at, sizeof end->words)) {
		return false;
	}
	end->words[0] = walk_load(object + end->at);
	end->words[1] = walk_load(object + end->at + sizeof(uint64_t));
	return true;
}

static uint64_t mix_end(uint64_t mixed, const struct known_end *end) {
	uint64_t behind = end->bytes % 8; // of the last word; then anything
	mixed = path_step(mixed ^ end->bytes, end->words[0]);
	return path_step(mixed, end->words[1] & ((1ull << behind * 8) - 1));
}

/**
 * Code that is compiled again and again (exec, templates) comes to lie at the same addresses, with
 * all of its objects: their contents tell one from the other.
 */
static bool read_code(const struct python *p, struct known_frame *k) {
	uint64_t code = code_of(k), names = at(p, code, PYTHON_FILE);
	if (code == 0 || !guard_covers(p->guard, code, p->layout->fields[PYTHON_INSTRUCTIONS])) {
		return code == 0;
	}
	if (walk_load(code + sizeof(uint64_t)) != p->layout->code_type) {
		return true;
	}
	k->is_code = true;
	k->first_line = part(p, code, PYTHON_FIRST_LINE);
	k->file = walk_load(names);
	k->qualified_name = walk_load(names + PYTHON_NAME_AFTER_FILE);
	k->line_table = walk_load(names + PYTHON_LINES_AFTER_FILE);
	if (!read_end(p, k->file, p->layout->fields[PYTHON_TEXT], &k->file_end) ||
			!read_end(p, k->line_table, PYTHON_BYTES_HEAD, &k->line_table_end)) {
		return false;
	}
	int64_t offset = (int64_t)(k->instruction - at(p, code, PYTHON_INSTRUCTIONS)) /
			INSTRUCTION_BYTES;
	if (offset < (int32_t)part(p, code, PYTHON_FIRST_TRACEABLE)) {
		return true;
	}
	const struct unit_key key = {.object = code,
			.identity = {code,
					mix_end(mix_end(k->qualified_name, &k->file_end), &k->line_table_end),
					k->first_line}};
	uint32_t unit = units_find(p->runtime, p->guard, &key);
	k->where = unit != 0 ? wire_where_of_unit(p->runtime->module, unit, (uint64_t)offset + 1) : 0;
	return unit != 0;
}

/** False: it makes no sense, and nothing is known. */
static OUTLINE bool read_frame(const struct python *p, struct known_frame *k, uint64_t frame) {
	k->frame = 0; // a handler may jump out of this
	atomic_signal_fence(memory_order_seq_cst);
	if (!guard_covers(p->guard, frame, FRAME_BYTES)) {
		return false;
	}
	k->code = word(p, frame, PYTHON_CODE);
	k->previous = word(p, frame, PYTHON_PREVIOUS);
	k->instruction = word(p, frame, PYTHON_INSTRUCTION);
	k->mark = mark_of(p, frame);
	k->where = 0;
	k->is_code = false;
	bool is_end = k->mark == p->layout->fields[PYTHON_MARK_OF_END];
	bool is_of_c = is_end && k->mark == PYTHON_OWNER_OF_C;
	if (!is_of_c && !read_code(p, k)) {
		return false;
	}
	k->where |= is_end ? PIECE_BEGINS : 0;
	k->round = p->guard->round;
	atomic_signal_fence(memory_order_seq_cst);
	k->frame = frame;
	return true;
}

// ---- the chain

/** The depth of its stack; 0: it makes no sense. */
static OUTLINE uint32_t count_frames(const struct python *p, uint64_t frame) {
	uint32_t n = 0;
	for (; frame != 0 && n < FRAMES_MAX && guard_covers(p->guard, frame, FRAME_BYTES); n++) {
		frame = word(p, frame, PYTHON_PREVIOUS);
	}
	return frame == 0 ? n : 0;
}

/** Its depth when it was seen, if the stack was about as deep the last time; else 0. */
static inline uint32_t known_depth(const struct known_python *known, uint64_t frame) {
	enum { NEAR = 3 };
	const uint32_t last = known->n < known->n_max ? known->n : known->n_max;
	for (uint32_t n = last; n > 0 && n + NEAR > last; n--) {
		if (known->frames[n - 1].frame == frame) {
			return n;
		}
	}
	for (uint32_t n = last + 1; n <= last + NEAR && n <= known->n_max; n++) {
		if (known->frames[n - 1].frame == frame) {
			return n;
		}
	}
	return 0;
}

/** Skip frames that are unchanged: returns how many are left of `n` from `*frame` on. */
static OUTLINE uint32_t walk_same(const struct python *p, const struct known_frame *frames,
		uint32_t n, uint64_t *frame, uint64_t *path) {
	uint64_t f = *frame, mixed = *path;
	for (const struct known_frame *k = frames + n - 1; n > 0 && is_same(p, k, f); n--, k--) {
		mixed = path_step(mixed, k->where);
		f = k->previous;
	}
	*frame = f;
	*path = mixed;
	return n;
}

/** From `frame`, at depth `n`, outwards. False: it makes no sense, or a guessed `n` was wrong. */
static bool walk(const struct python *p, struct known_frame *frames, uint64_t frame, uint32_t n,
		bool is_counted, uint64_t *path) {
	uint64_t mixed = *path;
	while ((n = walk_same(p, frames, n, &frame, &mixed)) > 0 && frame != 0) {
		struct known_frame *k = &frames[--n];
		if ((k->frame != frame && !is_counted) || !read_frame(p, k, frame)) {
			return false;
		}
		mixed = path_step(mixed, k->where);
		frame = k->previous;
	}
	*path = mixed;
	return n == 0 && frame == 0;
}

bool chain_of_python(struct known_python *known, const struct runtime *r, struct guard *guard,
		uint64_t *path) {
	const struct python p = {r->layout, guard, r};
	uint64_t frame;
	guard_begin(guard);
	if (!renew_thread(&p, &known->thread) || !innermost_frame(&p, known->thread, &frame)) {
		known->n = 0;
		return false;
	}
	uint32_t n = known_depth(known, frame);
	if (n > 0 && walk(&p, known->frames, frame, n, false, path)) {
		known->n = n;
		return true;
	}
	known->n = count_frames(&p, frame);
	return known->n <= known->n_max && walk(&p, known->frames, frame, known->n, true, path);
}
