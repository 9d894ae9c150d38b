// SPDX-License-Identifier: MIT
#pragma once
/**
 * Names frames of JavaScript in the memory of a program that embeds V8, such as node.
 *
 * The caller has found a frame by its frame pointer, and has its slots and return address. Reads
 * through a struct v8_memory; needs no V8, runs nothing in the program, and trusts nothing. One
 * struct v8_heap per program; not for use by several threads at once.
 */

#include "base/arena.h"
#include "runtimes/v8_function.h"

enum v8_kind {
	V8_NONE,        // not V8's, or not known
	V8_INTERNAL,    // a frame of V8 without a function: entry, exit, construct
	V8_WASM,        // WebAssembly
	V8_INTERPRETED, // bytecode
	V8_BUILTIN,     // a function of V8's own, such as Array.prototype.map
	V8_COMPILED,    // baseline or optimized code
};

/** What a frame holds. */
struct v8_frame {
	uint64_t pc;       // where it goes on
	uint64_t builtin;  // that, if in V8's builtins or a copy, as an address of the image; else 0
	uint64_t marker;   // at layout.frame_marker from the frame pointer
	uint64_t function; // at frame_function
	uint64_t bytecode_array;  // at frame_bytecode_array
	uint64_t bytecode_offset; // at frame_bytecode_offset
};

/**
 * The kind of a frame whose pc is in V8's builtins or in memory that V8 has filled with code.
 *
 * It is by the pc, not by the slots: code that was entered from the interpreter in mid-loop keeps
 * the interpreter's slots, and builtins keep in theirs what older frames have left there.
 */
enum v8_kind v8_frame_kind(const struct v8_layout *l, const struct v8_frame *f);

/**
 * The proof of a layout in the program: the function of a frame in bytecode, its script and its
 * name are what they should be. False: `err` says what does not fit.
 */
bool v8_layout_fits(struct v8_heap *h, uint64_t function, struct err *err);

struct v8_named {
	struct slice function, file; // may be empty
	uint32_t line;               // 0: not known
	enum v8_name_from name_from;
};

enum { V8_MAX_FRAMES = 32, V8_STEPS = 100000 };

/**
 * The functions that a frame stands for, the innermost first: one, or more if some are inlined.
 * Texts live in `texts`. 0: it is no frame of a function.
 */
uint32_t v8_name_frame(struct v8_heap *h, const struct v8_frame *f, struct arena *texts,
		struct v8_named out[V8_MAX_FRAMES]);
