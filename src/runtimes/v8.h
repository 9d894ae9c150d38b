// SPDX-License-Identifier: MIT
#pragma once
/**
 * Names functions of JavaScript in a program that embeds V8, such as node. Needs no V8, runs
 * nothing in the program, trusts nothing. One struct v8_heap per program, one thread at a time.
 */

#include "elf/image.h"
#include "wire/runtime.h"

/**
 * What reading frames and objects of a build of V8 takes. It comes from the build's own data for
 * debuggers (symbols v8dbg_*), its version, and constants per version for the rest (v8_layout.def).
 * Whether it fits is known only once objects of the program have been read.
 */
struct v8_layout {
#define FIELD(name, symbol, how) int32_t name;
#include "runtimes/v8_layout.def"
	const char *contradicted;   // a symbol whose value differs from an earlier one's
	int32_t of_major, of_minor; // whose constants are used: this version, or an earlier one

	// Code of the builtins: addresses in the image until it is placed
	uint64_t builtins, builtins_bytes;
	uint64_t builtins_pointer; // 0, or where their address is once the image is loaded
	uint64_t interpreter[2];   // the same, once it is placed: where functions in bytecode return to

	uint32_t n_bytecodes, n_opcodes;
	uint8_t bytecode_bytes[3][256]; // with operands of 1, 2 and 4 bytes
	uint8_t operands[64];           // of the opcodes of frame translations
};

/** The layout of the V8 in an executable or library. ERR_NOT_FOUND: it contains none. */
bool v8_layout_of_image(const struct elf_image *e, struct v8_layout *out, struct err *err);

/** Find builtins and interpreter of the image loaded at `bias`. `out`: what the recorder needs. */
bool v8_layout_place(struct v8_layout *l, const struct elf_image *e, uint64_t bias,
		const struct program_memory *memory, struct wire_layout *out, struct err *err);

/** The ends of a script's lines, as far as its source could be read. */
struct v8_script {
	uint64_t id; // with the isolate's number
	int32_t first_line;
	uint32_t n_read; // characters of the source
	VEC(uint64_t) ends;
};

enum { V8_BLOCK_BYTES = 512, V8_BLOCKS = 32 };

/** Memory as read; address 0: none. It never spans two pages. */
struct v8_block {
	uint64_t at;
	uint8_t bytes[V8_BLOCK_BYTES];
};

/** Freed with v8_heap_finish. */
struct v8_heap {
	const struct v8_layout *layout;
	struct program_memory memory;
	struct v8_block blocks[V8_BLOCKS]; // by address: objects are small, and read word by word
	uint32_t steps;                    // reads left
	bool has_failed;                   // a read has failed since this was last cleared
	uint32_t isolate;                  // whose objects are read; scripts are numbered per isolate
	uint64_t code_map; // the first word of all Code objects, once one was found; else 0
	VEC(struct v8_script) scripts;
	VEC(uint64_t) copies; // where builtins' code has been copied to
};

void v8_heap_finish(struct v8_heap *h);

struct v8_named {
	struct slice function, file; // may be empty
	uint32_t line;               // 0: not known
	int32_t script;              // of v8_script_line; -1: none
	bool is_guess;               // the name, taken from the source before the function
	bool is_top_level;           // of its script
};

enum { V8_MAX_FRAMES = 32, V8_STEPS = 100000 };

/** A unit (wire/runtime.h) as read: the functions it stands for, innermost first. */
struct v8_unit {
	const struct v8_named *frames;
	uint32_t n;             // more than 1 if some are inlined; 0: it is no function's frame
	struct slice positions; // of bytecode: give its one frame a line
	bool is_vague;          // its code was not found: it may be moving
	bool is_proof;          // its source begins as functions do: the layout fits
};

/** Read a unit's objects, soon after it was made; texts and tables go to `texts`. False: gone. */
bool v8_unit_read(struct v8_heap *h, const struct wire_unit *u, struct arena *texts,
		struct v8_unit *out);

/** The line of a position in bytecode, as in wire/segment.h. 0: not known. */
uint32_t v8_unit_line(const struct v8_heap *h, const struct v8_unit *u, uint32_t position);
