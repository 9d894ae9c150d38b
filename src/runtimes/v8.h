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
#include "wire/runtime.h"

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
 * Is it so of the function of a frame in bytecode, its script and its name, that they are what they
 * should be? False: `err` says what does not fit.
 */
bool v8_layout_fits(struct v8_heap *h, uint64_t function, struct err *err);

/** Make its addresses those of the program, where the image is loaded at `bias`. */
void v8_layout_place(struct v8_layout *l, uint64_t bias, const struct v8_memory *memory);

/** What the recorder must know of it. */
void v8_layout_wire(const struct v8_layout *l, struct wire_layout *out);

struct v8_named {
	struct slice function, file; // may be empty
	uint32_t line;               // 0: not known
	int32_t script;              // of v8_script_line; -1: none
	enum v8_name_from name_from;
	bool is_top_level; // of its script
};

enum { V8_MAX_FRAMES = 32, V8_STEPS = 100000 };

/**
 * The functions that a frame stands for, the innermost first: one, or more if some are inlined.
 * Texts live in `texts`. 0: it is no frame of a function.
 */
uint32_t v8_name_frame(struct v8_heap *h, const struct v8_frame *f, struct arena *texts,
		struct v8_named out[V8_MAX_FRAMES]);

/** A unit (wire/runtime.h) that was read. */
struct v8_unit {
	const struct v8_named *frames;
	uint32_t n;
	struct slice positions; // of bytecode, whose one frame has a line by them
	bool is_proof;          // its source begins as functions do: the layout fits
};

/**
 * Read the objects of a unit, soon after it was made: they may move, and die. Texts and tables live
 * in `texts`. False: they are no longer there.
 */
bool v8_unit_read(struct v8_heap *h, const struct wire_unit *u, struct arena *texts,
		struct v8_unit *out);

/** The line of a position of wire/segment.h in bytecode. 0: not known. */
uint32_t v8_unit_line(const struct v8_heap *h, const struct v8_unit *u, uint32_t position);
