// SPDX-License-Identifier: MIT
/* From a frame to the calls that it stands for, and from each to its name, file and line. */
#include "runtimes/v8.h"

#include "runtimes/v8_code.h"

_Static_assert((int)V8_MAX_FRAMES == (int)V8_MAX_INLINED, "a frame has the calls of its code");

enum v8_kind v8_frame_kind(const struct v8_layout *l, const struct v8_frame *f) {
	if ((f->marker & 1) == 0) { // a kind of frame instead of a context
		return f->marker >> 1 == (uint64_t)l->frame_type_wasm ? V8_WASM : V8_INTERNAL;
	}
	if (!v8_is_object(f->function)) {
		return V8_NONE;
	}
	if (f->builtin == 0) {
		return V8_COMPILED;
	}
	return f->builtin == l->interpreter[0] || f->builtin == l->interpreter[1] ? V8_INTERPRETED
																			  : V8_BUILTIN;
}

/** What of a function with a source is not as it should be. NULL: it fits. */
static const char *misfit(struct v8_heap *h, const struct v8_shared *s) {
	const struct v8_layout *l = h->layout;
	struct v8_chars source;
	uint64_t word;
	int32_t number, type;
	if (!s->script) {
		return "scripts of functions";
	}
	if (!v8_number(h, s->script, l->script_id, &number) || number <= 0 ||
			!v8_number(h, s->script, l->script_line_offset, &number)) {
		return "numbers of scripts";
	}
	if (!v8_word(h, s->object, l->shared_name, &word) ||
			!(v8_is_number(word, &number) ||
					(v8_type(h, &word, &type) &&
							(type == l->type_scope || type < l->type_first_nonstring)))) {
		return "names of functions";
	}
	if (!v8_word(h, s->script, l->script_source, &word) || !v8_string_chars(h, word, &source) ||
			s->start > (int32_t)source.n) {
		return "sources of scripts";
	}
	return NULL;
}

bool v8_layout_fits(struct v8_heap *h, uint64_t function, struct err *err) {
	const struct v8_layout *l = h->layout;
	struct v8_shared shared;
	h->steps = V8_STEPS;
	const char *what = v8_shared_of_function(h, function, &shared) ? misfit(h, &shared)
																   : "functions";
	return !what ||
			err_set(err, ERR_UNSUPPORTED, "V8 %d.%d: its %s are not as in %d.%d", l->major,
					l->minor, what, l->of_major, l->of_minor);
}

/** The call of a frame in bytecode; without a position if the bytecode is none. */
static struct v8_call interpreted_call(struct v8_heap *h, const struct v8_frame *f) {
	struct v8_call call = {.position = -1};
	uint64_t bytecode = f->bytecode_array;
	int32_t offset;
	if (v8_is_number(f->bytecode_offset, &offset) &&
			v8_is_type(h, &bytecode, h->layout->type_bytecode_array)) {
		// counted from the tagged address of the array
		call.position = v8_bytecode_position(h, bytecode,
				(int64_t)offset - (h->layout->bytecode_data - 1));
	}
	return call;
}

static uint32_t compiled_calls(struct v8_heap *h, const struct v8_frame *f,
		struct v8_call out[V8_MAX_INLINED]) {
	struct v8_code code;
	uint64_t bytecode;
	int64_t offset;
	out[0] = (struct v8_call){.position = -1};
	bool is_found = v8_code_at(h, f->pc, f->function, &code);
	h->has_failed = false; // what only looks like an object was looked at, too
	if (!is_found) {
		return 1;
	}
	if (code.kind < h->layout->code_kind_baseline) { // a function's own copy of the interpreter
		out[0] = interpreted_call(h, f);
		return 1;
	}
	if (v8_baseline_offset(h, &code, f->pc, &bytecode, &offset)) {
		out[0].position = v8_bytecode_position(h, bytecode, offset);
		return 1;
	}
	uint32_t n = v8_optimized_calls(h, &code, f->pc, out);
	if (n == 0) {
		out[0] = (struct v8_call){.position = -1};
	}
	return n ? n : 1;
}

static struct slice keep(struct arena *texts, const struct buffer *text) {
	void *copy = arena_copy(texts, text->data, text->size, 1);
	return slice_of(copy, copy ? text->size : 0);
}

static void name_call(struct v8_heap *h, const struct v8_shared *s, int32_t position,
		struct arena *texts, struct v8_named *out) {
	struct buffer text = {0};
	*out = (struct v8_named){.script = -1, .name_from = v8_function_name(h, s, &text)};
	out->function = keep(texts, &text);
	buffer_clear(&text);
	if (s->script) {
		if (!v8_script_name(h, s->script, &text)) {
			buffer_clear(&text);
		}
		out->is_top_level = s->start == 0;
		out->script = v8_script_of(h, s->script);
		out->line = v8_script_line(h, out->script, position);
	}
	out->file = keep(texts, &text);
	buffer_finish(&text);
}

/** The calls of a frame of `own`'s. */
static uint32_t name_calls(struct v8_heap *h, const struct v8_shared *own, const struct v8_frame *f,
		enum v8_kind kind, struct arena *texts, struct v8_named out[V8_MAX_FRAMES]) {
	struct v8_call calls[V8_MAX_FRAMES] = {{.position = -1}};
	uint32_t n = 1, named = 0;
	if (kind == V8_INTERPRETED) {
		calls[0] = interpreted_call(h, f);
	} else if (kind == V8_COMPILED) {
		n = compiled_calls(h, f, calls);
	}
	for (uint32_t i = 0; i < n && named < V8_MAX_FRAMES; i++) {
		struct v8_shared shared = *own;
		if (calls[i].shared == 0 || v8_shared_of(h, calls[i].shared, &shared)) {
			name_call(h, &shared, calls[i].position, texts, &out[named++]);
		}
	}
	return kind == V8_BUILTIN && out[0].function.size == 0 ? 0 : named;
}

uint32_t v8_name_frame(struct v8_heap *h, const struct v8_frame *f, struct arena *texts,
		struct v8_named out[V8_MAX_FRAMES]) {
	struct v8_shared own;
	enum v8_kind kind = v8_frame_kind(h->layout, f);
	h->steps = V8_STEPS;
	if (kind < V8_INTERPRETED || !v8_shared_of_function(h, f->function, &own) ||
			(kind == V8_BUILTIN && own.script != 0)) { // a stub, whose slots hold anything
		return 0;
	}
	return name_calls(h, &own, f, kind, texts, out);
}

// ---- units

/** Most functions' parameters begin so. Of a wrong layout some 3 in 100 do. */
static bool begins_as_function(struct v8_heap *h, const struct v8_shared *s) {
	struct v8_chars source;
	struct v8_window w = {0};
	uint64_t word;
	uint32_t c;
	return s->script && s->start > 0 && v8_word(h, s->script, h->layout->script_source, &word) &&
			v8_string_chars(h, word, &source) && v8_char(h, &source, &w, (uint32_t)s->start, &c) &&
			c == '(';
}

/** Is it still what the recorder has seen there? */
static bool is_same(struct v8_heap *h, const struct v8_shared *s, const struct wire_unit *u) {
	const struct v8_layout *l = h->layout;
	int32_t literal, unique, script = 0;
	if (!v8_int(h, s->object, l->shared_flags + l->shared_literal_id, &literal)) {
		return false;
	}
	if (u->identity[0] == 0) {
		return literal == -1;
	}
	if (l->shared_unique_id) {
		return v8_int(h, s->object, l->shared_flags + l->shared_unique_id, &unique) &&
				(uint32_t)unique == u->identity[0];
	}
	return v8_number(h, s->script, l->script_id, &script) &&
			u->identity[0] == ((uint64_t)(uint32_t)script << 32 | (uint32_t)literal);
}

/** The table of a function's bytecode. False: it is that of another one, or none. */
static bool read_positions(struct v8_heap *h, const struct v8_shared *s, uint64_t bytecode,
		struct arena *texts, struct slice *out) {
	struct buffer table = {0};
	uint64_t entry;
	bool ok = v8_is_type(h, &bytecode, h->layout->type_bytecode_array) &&
			v8_bytecode_table(h, bytecode, &table);
	*out = keep(texts, &table);
	buffer_finish(&table);
	return ok &&
			(s->end < s->start || !v8_find_position(*out, 0, &entry) ||
					(v8_position_offset(entry) >= s->start && v8_position_offset(entry) <= s->end));
}

bool v8_unit_read(struct v8_heap *h, const struct wire_unit *u, struct arena *texts,
		struct v8_unit *out) {
	const struct v8_frame f = {.pc = u->identity[1], .bytecode_array = u->excerpt_at};
	enum v8_kind kind = f.pc == 0 ? V8_INTERPRETED
			: u->identity[2] == 0 ||
					ANY(c, h->copies.n, f.pc - h->copies.items[c] < h->layout->builtins_bytes)
			? V8_BUILTIN
			: V8_COMPILED;
	struct v8_shared own;
	h->steps = V8_STEPS;
	if (h->isolate != u->thread) {
		h->isolate = u->thread;
		h->code_map = 0;
	}
	h->has_failed = false;
	*out = (struct v8_unit){0};
	if (!v8_shared_of(h, u->object, &own) || !is_same(h, &own, u)) {
		return false;
	}
	if (kind == V8_BUILTIN && own.script != 0) {
		return true; // a stub
	}
	if (kind != V8_BUILTIN && misfit(h, &own)) {
		return false;
	}
	if (kind == V8_INTERPRETED &&
			!read_positions(h, &own, f.bytecode_array, texts, &out->positions)) {
		return false;
	}
	struct v8_named frames[V8_MAX_FRAMES];
	uint32_t n = name_calls(h, &own, &f, kind, texts, frames);
	out->is_proof = begins_as_function(h, &own);
	out->frames = arena_copy(texts, frames, n, sizeof *frames);
	out->n = out->frames ? n : 0;
	return is_same(h, &own, u) && !h->has_failed;
}

uint32_t v8_unit_line(const struct v8_heap *h, const struct v8_unit *u, uint32_t position) {
	uint64_t found;
	return position > 0 && v8_find_position(u->positions, (int64_t)position - 1, &found)
			? v8_script_line(h, u->frames[0].script, v8_position_offset(found))
			: u->frames[0].line;
}

// ---- layouts in a program

void v8_layout_place(struct v8_layout *l, uint64_t bias, const struct v8_memory *memory) {
	l->builtins += bias;
	if (l->builtins_pointer != 0 &&
			!memory->read(memory->context, l->builtins_pointer + bias, &l->builtins,
					sizeof l->builtins)) {
		l->builtins = 0;
	}
	for (unsigned i = 0; i < 2; i++) {
		l->interpreter[i] += l->interpreter[i] ? bias : 0;
	}
}

void v8_layout_wire(const struct v8_layout *l, struct wire_layout *out) {
	const int32_t fields[N_V8_FIELDS] = {
			[V8_CONTEXT] = l->frame_marker,
			[V8_FUNCTION] = l->frame_function,
			[V8_ARRAY] = l->frame_bytecode_array,
			[V8_OFFSET] = l->frame_bytecode_offset,
			[V8_SHARED] = l->function_shared,
			[V8_LITERAL_ID] = l->shared_flags + l->shared_literal_id,
			[V8_UNIQUE_ID] = l->shared_unique_id ? l->shared_flags + l->shared_unique_id : -1,
			[V8_SCRIPT] = l->shared_script,
			[V8_SCRIPT_ID] = l->script_id,
			[V8_FIRST_OFFSET] = l->bytecode_data - 1,
	};
	out->kind = MODULE_V8;
	out->version = (uint16_t)(l->major << 8 | l->minor);
	out->n_ranges = 1;
	out->ranges[0] = (struct wire_code_range){l->builtins, l->builtins + l->builtins_bytes};
	for (unsigned i = 0; i < N_V8_FIELDS; i++) {
		out->fields[i] = (uint32_t)fields[i];
	}
	out->returns[0] = l->interpreter[0];
	out->returns[1] = l->interpreter[1];
}
