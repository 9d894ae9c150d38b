// SPDX-License-Identifier: MIT
#pragma once
/** A frame of V8's, of which all slots are known, and its names by the readers of src/runtimes. */

#include "runtimes/v8_parts.h"

enum v8_kind {
	V8_NONE,        // not V8's, or not known
	V8_INTERNAL,    // a frame of V8 without a function: entry, exit, construct
	V8_WASM,        // WebAssembly
	V8_INTERPRETED, // bytecode
	V8_BUILTIN,     // a function of V8's own, such as Array.prototype.map
	V8_COMPILED,    // baseline or optimized code
};

struct v8_frame {
	uint64_t pc;       // where it goes on
	uint64_t builtin;  // that, if in V8's builtins or a copy, as an address of the image; else 0
	uint64_t marker;   // at layout.frame_marker from the frame pointer
	uint64_t function; // at frame_function
	uint64_t bytecode_array;  // at frame_bytecode_array
	uint64_t bytecode_offset; // at frame_bytecode_offset
};

/** By the code, not by the slots, which may hold what older frames have left there. */
static inline enum v8_kind v8_frame_kind(const struct v8_layout *l, const struct v8_frame *f) {
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

static inline bool v8_shared_of_function(struct v8_heap *h, uint64_t function,
		struct v8_shared *out) {
	enum { N_TYPES = 17 }; // one for each kind of constructor that is built in
	uint32_t type = (uint32_t)(v8_type(h, &function) - h->layout->type_function);
	return type < N_TYPES && v8_shared_of(h, v8_word(h, function, h->layout->function_shared), out);
}

/** The functions that it stands for, the innermost first. 0: it is no frame of a function. */
static inline uint32_t v8_name_frame(struct v8_heap *h, const struct v8_frame *f,
		struct arena *texts, struct v8_named out[V8_MAX_FRAMES]) {
	struct v8_shared own;
	enum v8_kind kind = v8_frame_kind(h->layout, f);
	uint64_t bytecode = f->bytecode_array;
	h->steps = V8_STEPS;
	if (kind < V8_INTERPRETED || !v8_shared_of_function(h, f->function, &own) ||
			(kind == V8_BUILTIN && own.script != 0)) { // a stub, whose slots hold anything
		return 0;
	}
	uint32_t n = v8_name_calls(h, &own, kind == V8_COMPILED ? f->pc : 0, f->function, texts, out);
	int32_t offset = v8_number_of(f->bytecode_offset);
	if (n > 0 && kind == V8_INTERPRETED && offset != V8_NO_NUMBER &&
			v8_is_type(h, &bytecode, h->layout->type_bytecode_array)) {
		int64_t at = (int64_t)offset - (h->layout->bytecode_data - 1);
		out[0].line = v8_script_line(h, out[0].script, v8_bytecode_position(h, bytecode, at));
	}
	return n;
}

/** Is it so of its function, that all it refers to is as it should be? */
static inline bool v8_frame_fits(struct v8_heap *h, const struct v8_frame *f) {
	struct v8_shared shared;
	h->steps = V8_STEPS;
	return v8_shared_of_function(h, f->function, &shared) && v8_fits(h, &shared);
}

/** Where the fields of a layout are, for what is done with each. */
static const size_t v8_field_offsets[] = {
#define FIELD(name, ...) offsetof(struct v8_layout, name),
#include "runtimes/v8_layout.def"
};
enum { V8_N_FIELDS = sizeof v8_field_offsets / sizeof *v8_field_offsets };

static inline int32_t *v8_layout_field(struct v8_layout *l, unsigned index) {
	return index < V8_N_FIELDS ? (int32_t *)((char *)l + v8_field_offsets[index]) : NULL;
}
