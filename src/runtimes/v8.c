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

bool v8_layout_fits(struct v8_heap *h, uint64_t function, struct err *err) {
	const struct v8_layout *l = h->layout;
	struct v8_shared shared;
	uint64_t word;
	int32_t number, type;
	const char *what = NULL;
	h->steps = V8_STEPS;
	if (!v8_shared_of_function(h, function, &shared)) {
		what = "functions";
	} else if (!shared.script) {
		what = "scripts of functions";
	} else if (!v8_number(h, shared.script, l->script_id, &number) || number <= 0) {
		what = "numbers of scripts";
	} else if (!v8_word(h, shared.object, l->shared_name, &word) ||
			!(v8_is_number(word, &number) ||
					(v8_type(h, &word, &type) &&
							(type == l->type_scope || type < l->type_first_nonstring)))) {
		what = "names of functions";
	} else if (!v8_word(h, shared.script, l->script_source, &word) || !v8_type(h, &word, &type) ||
			type >= l->type_first_nonstring) {
		what = "sources of scripts";
	}
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
	if (!v8_code_at(h, f->pc, f->function, &code)) {
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
	*out = (struct v8_named){.name_from = v8_function_name(h, s, &text)};
	out->function = keep(texts, &text);
	buffer_clear(&text);
	if (s->script) {
		if (!v8_script_name(h, s->script, &text)) {
			buffer_clear(&text);
		}
		(void)v8_script_line(h, s->script, position, &out->line);
	}
	out->file = keep(texts, &text);
	buffer_finish(&text);
}

uint32_t v8_name_frame(struct v8_heap *h, const struct v8_frame *f, struct arena *texts,
		struct v8_named out[V8_MAX_FRAMES]) {
	struct v8_call calls[V8_MAX_FRAMES] = {{.position = -1}};
	struct v8_shared own, shared;
	enum v8_kind kind = v8_frame_kind(h->layout, f);
	h->steps = V8_STEPS;
	if (kind < V8_INTERPRETED || !v8_shared_of_function(h, f->function, &own) ||
			(kind == V8_BUILTIN && own.script != 0)) { // a stub, whose slots hold anything
		return 0;
	}
	uint32_t n = 1, named = 0;
	if (kind == V8_INTERPRETED) {
		calls[0] = interpreted_call(h, f);
	} else if (kind == V8_COMPILED) {
		n = compiled_calls(h, f, calls);
	}
	for (uint32_t i = 0; i < n && named < V8_MAX_FRAMES; i++) {
		shared = own;
		if (calls[i].shared == 0 || v8_shared_of(h, calls[i].shared, &shared)) {
			name_call(h, &shared, calls[i].position, texts, &out[named++]);
		}
	}
	return kind == V8_BUILTIN && out[0].function.size == 0 ? 0 : named;
}
