// SPDX-License-Identifier: MIT
#pragma once
/**
 * What must be known of a build of V8 to read its frames and objects: offsets, numbers and tables.
 *
 * They come from the build's own data for debuggers (symbols v8dbg_*), its version, and constants
 * by version for what it does not tell (v8_layout.def). A layout is plain data. Whether it fits is
 * only known when objects of the program have been read by it.
 */

#include "elf/image.h"

struct v8_layout {
#define FIELD(name, symbol, how) int32_t name;
#define SINCE(...)
#include "runtimes/v8_layout.def"
#undef FIELD
#undef SINCE
	int32_t of_major, of_minor; // the version whose constants are used: that, or an earlier one

	// Code of the builtins, as addresses of the image
	uint64_t builtins, builtins_bytes;
	uint64_t builtins_pointer; // 0, or where the address is once the image is loaded
	uint64_t interpreter[2];   // where functions in bytecode return to; all to the same place

	uint32_t n_bytecodes;
	uint8_t bytecode_bytes[3][256]; // with operands of 1, 2 and 4 bytes
	uint32_t n_opcodes;
	uint8_t operands[64]; // of the opcodes of frame translations
};

/** Collects what an image, or a test, tells of a build. A zeroed struct is valid and empty. */
struct v8_symbols {
	struct v8_layout layout;  // what is known so far
	bool is_known[256];       // by field
	const char *contradicted; // a symbol whose value differs from an earlier one's
};

/** A symbol, v8dbg_* or a part of the version, and its value. False: it is of no use. */
bool v8_symbols_add(struct v8_symbols *s, const char *symbol, int32_t value);

/** False: something is missing or contradicts the rest; `err` says what. */
bool v8_symbols_layout(const struct v8_symbols *s, struct v8_layout *out, struct err *err);

/** The layout of the V8 in an executable or library. False as well if there is none in it. */
bool v8_layout_of_image(const struct elf_image *e, struct v8_layout *out, struct err *err);

/** A field by its index, for all that is done with each. NULL: there are no more. */
int32_t *v8_layout_field(struct v8_layout *l, unsigned index, const char **name);
