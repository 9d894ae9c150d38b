// SPDX-License-Identifier: MIT
#pragma once
/**
 * What recorder and collector tell each other about runtimes: interpreters and compilers with
 * functions of their own, which no program counter identifies.
 *
 *   TABLE_LAYOUTS    WIRE_N_LAYOUTS x struct wire_layout   C: where the runtime has what
 *   TABLE_UNITS      struct wire_unit                      T: its functions, from 1 on
 *   TABLE_EXCERPTS   bytes                                 T: what of its memory names them
 *
 * The recorder decodes none of it: it adds offsets and compares words. A reader of units and
 * excerpts trusts nothing: they are memory of the program. docs/wire.md describes both.
 */

#include "wire/segment.h"

#include <stdbool.h>

/** How to read memory of the program. */
struct program_memory {
	/** All `bytes`, or false. */
	bool (*read)(void *user, uint64_t address, void *out, size_t bytes);
	void *user;
};

enum {
	WIRE_N_LAYOUTS = 16,
	WIRE_N_RANGES = 8,
	WIRE_N_FIELDS = 24,
	WIRE_EXCERPT_MAX = 8 << 10,
};

/** Offsets in bytes of what a runtime keeps. WIRE_NO_FIELD: there is no such field. */
#define WIRE_NO_FIELD UINT32_MAX
enum wire_python_field {
#define F(name, ...) PYTHON_##name,
#include "wire/python.def"
	N_PYTHON_OFFSETS,
	PYTHON_STATE_BYTES = N_PYTHON_OFFSETS, // of the runtime's state
	N_PYTHON_FIELDS,
};
enum {                           // the same in every version
	PYTHON_OWNER_OF_C = 3,       // such a frame marks an end, and belongs to nobody
	PYTHON_NAME_AFTER_FILE = 16, // of a code object's words
	PYTHON_LINES_AFTER_FILE = 24,
	PYTHON_LENGTH = 16, // of texts and bytes
	PYTHON_BYTES_HEAD = 32,
};
_Static_assert((int)N_PYTHON_FIELDS <= (int)WIRE_N_FIELDS, "fits");

enum wire_v8_field {
#define F(name, value) V8_##name,
#include "wire/v8.def"
	N_V8_FIELDS,
};
_Static_assert((int)N_V8_FIELDS <= (int)WIRE_N_FIELDS, "fits");

/** Code of the runtime whose native frames stand for its own. `end` is one past the last. */
struct wire_code_range {
	uint64_t start, end;
};

/** A runtime in the program, and its offsets. Never changed once in force. */
struct wire_layout {
	_Atomic uint32_t is_in_force; // C, written last (release)
	uint32_t image;               // that the runtime belongs to
	uint16_t kind;                // MODULE_PYTHON ...
	uint16_t version;             // 0x030b: 3.11
	uint32_t n_ranges;
	// Python: from where all else is found, and the second word of each function's object
	uint64_t state, code_type;
	uint64_t returns[2]; // V8: where the interpreter's frames go on
	struct wire_code_range ranges[WIRE_N_RANGES];
	uint32_t fields[WIRE_N_FIELDS];
	uint8_t reserved[512 - 48 - WIRE_N_RANGES * 16 - WIRE_N_FIELDS * 4];
};
_Static_assert(sizeof(struct wire_layout) == 512, "layout");

/** A function of a runtime. Its number is its index; unit 0 is never used. */
struct wire_unit {
	// Python: the code object; its qualified name's object, mixed with the ends of its file's name
	// and of its line table; its first line. What replaces an object often lies at the same address
	// V8: numbers of script and function, or V8_UNIQUE_ID; of compiled code where it goes on, and
	// the 8 bytes before that; else 0
	uint64_t identity[3];
	uint64_t object; // where it was first seen; V8: what functions share
	// In TABLE_EXCERPTS. V8 has none: bytecode, or the function of compiled code, as first seen
	uint64_t excerpt_at;
	uint32_t excerpt_bytes;
	uint32_t thread; // V8: the thread's id, as each has an isolate; else 0
	uint16_t kind;   // MODULE_PYTHON ...
	uint16_t layout;
	uint32_t module;           // the virtual one
	_Atomic uint32_t is_whole; // T, written last (release)
	uint32_t reserved;
};
_Static_assert(sizeof(struct wire_unit) == 64, "layout");

enum { WIRE_N_UNITS = 1 << 17 };
#define WIRE_EXCERPTS_BYTES (64ull << 20)

/** `position` 0: anywhere in the unit. */
static inline uint64_t wire_where_of_unit(uint32_t module, uint32_t unit, uint64_t position) {
	return (uint64_t)module << WIRE_MODULE_SHIFT | (uint64_t)unit << WIRE_UNIT_SHIFT |
			(position <= WIRE_POSITION_MAX ? position : 0);
}

static inline uint32_t wire_where_unit(uint64_t where) {
	return (uint32_t)(wire_where_pc(where) >> WIRE_UNIT_SHIFT);
}

static inline uint32_t wire_where_position(uint64_t where) {
	return (uint32_t)where & WIRE_POSITION_MAX;
}
