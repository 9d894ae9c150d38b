// SPDX-License-Identifier: MIT
#pragma once
/**
 * What V8's files share: words, objects and strings of its heap, code, functions and scripts.
 * Nothing that is read is trusted: it may have moved, or never have been what it seems. All readers
 * are bounded and give up rather than run in circles: a heap spends at most `steps` reads.
 */

#include "runtimes/v8.h"

// ---- layouts

/** Add a symbol, v8dbg_* or a part of the version, and its value to `told`, zeroed at first. */
void v8_symbols_add(struct v8_layout *told, const char *symbol, int32_t value);

/** False: something is missing or contradicts the rest; `err` says what. */
bool v8_symbols_layout(const struct v8_layout *told, struct v8_layout *out, struct err *err);

// ---- the heap

/** Read memory anew from now on, to check what was read against what is there by now. */
void v8_forget(struct v8_heap *h);

/** `n` bytes at an address. False: unreadable, or the steps are used up. */
bool v8_bytes(struct v8_heap *h, uint64_t address, void *out, size_t n);

/** Does the word look like a pointer to an object rather than a number? */
bool v8_is_object(uint64_t word);

/** Stands for an unreadable word, and for a word that is no number. */
enum { V8_NOTHING = 1, V8_NO_NUMBER = INT32_MIN };

/** The number that a word holds, or V8_NO_NUMBER. */
int32_t v8_number_of(uint64_t word);

/** A field of an object: as a word, as a 32-bit number, as the number that a word holds. */
uint64_t v8_word(struct v8_heap *h, uint64_t object, int64_t offset);
int32_t v8_int(struct v8_heap *h, uint64_t object, int64_t offset);
int32_t v8_number(struct v8_heap *h, uint64_t object, int64_t offset);

/** The element of an array, weak or not. V8_NOTHING: beyond its length. */
uint64_t v8_element(struct v8_heap *h, uint64_t array, int64_t index);

/** Append all `n` bytes at an address, or what an array of bytes holds. */
bool v8_append(struct v8_heap *h, uint64_t address, uint32_t n, struct buffer *out);
bool v8_byte_array(struct v8_heap *h, uint64_t array, struct buffer *out);

/** The instance type of an object, or -1. `*object` follows one that has moved to its new place. */
int32_t v8_type(struct v8_heap *h, uint64_t *object);
bool v8_is_type(struct v8_heap *h, uint64_t *object, int32_t type);

/** Characters in one piece. */
struct v8_chars {
	uint64_t at;
	uint32_t n;
	uint32_t width; // 1: Latin-1, 2: UTF-16
};

/** False: no string, or one in several pieces. */
bool v8_string_chars(struct v8_heap *h, uint64_t string, struct v8_chars *out);

/** Read characters from an index on. Returns how many, at most V8_CHARS; 0 also if unreadable. */
enum { V8_CHARS = 512 };
uint32_t v8_take_chars(struct v8_heap *h, const struct v8_chars *c, uint32_t from,
		uint16_t out[V8_CHARS]);

/** The same in UTF-8, up to about `max` bytes. False: unreadable. */
bool v8_put_chars(struct v8_heap *h, const struct v8_chars *c, size_t max, struct buffer *out);

/** A string in UTF-8, up to about `max` bytes. False: it is empty, or no string. */
bool v8_string(struct v8_heap *h, uint64_t string, size_t max, struct buffer *out);

// ---- functions and scripts

struct v8_shared {
	uint64_t object;
	uint64_t script;         // 0: a function without source
	uint64_t name, inferred; // words: its own name, or what it is assigned to
	int32_t start, end;      // of its parameters and body; V8_NO_NUMBER: not known
	uint32_t kind;
};

bool v8_shared_of(struct v8_heap *h, uint64_t object, struct v8_shared *out);

/** The line, from 1, of a position in a script. 0: not known. */
uint32_t v8_script_line(const struct v8_heap *h, int32_t script, int32_t position);

// ---- code

/** The source position of an offset in code, from the code's table, or -1. */
int32_t v8_find_position(struct slice table, int64_t offset);

/** The table of bytecode, and the source position of an offset in it. */
bool v8_bytecode_table(struct v8_heap *h, uint64_t bytecode, struct buffer *out);
int32_t v8_bytecode_position(struct v8_heap *h, uint64_t bytecode, int64_t offset);

struct v8_code {
	uint64_t object, start;
	uint32_t bytes;
	int32_t kind; // compared with layout.code_kind_baseline
};

/**
 * The code around a return address. `function`, whose frame it is, may know it; else it is searched
 * for before the address. False: not found.
 */
bool v8_code_at(struct v8_heap *h, uint64_t pc, uint64_t function, struct v8_code *out);

/** A call that a frame stands for. */
struct v8_call {
	uint64_t shared;  // SharedFunctionInfo; 0: the frame's own
	int32_t position; // or -1
};

/** The calls that a return address in compiled code stands for, innermost first. 0: unknown. */
uint32_t v8_code_calls(struct v8_heap *h, uint64_t pc, uint64_t function,
		struct v8_call out[V8_MAX_FRAMES]);

// ---- names

/** Is what refers to a source as it should be? */
bool v8_fits(struct v8_heap *h, const struct v8_shared *s);

/** Name the calls of a frame of `own`, in compiled code that goes on at `pc` or (0) in bytecode. */
uint32_t v8_name_calls(struct v8_heap *h, const struct v8_shared *own, uint64_t pc,
		uint64_t function, struct arena *texts, struct v8_named out[V8_MAX_FRAMES]);
