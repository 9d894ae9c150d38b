// SPDX-License-Identifier: MIT
#pragma once
/**
 * The functions of a file without symbols, as its unwind tables bound them, and who refers to whom.
 * Addresses are as the file counts. The file's bytes are borrowed.
 */

#include "elf/image.h"
#include "injector/arch/code.h"

struct code_function {
	uint64_t address, size;
};

struct code_map {
	const struct elf_image *image;
	VEC(struct code_function) functions; // ascending
};

#define CODE_NO_FUNCTION UINT32_MAX

enum { CODE_USERS_MAX = 64 };

/** Functions of a map, by their indexes, each once. */
struct code_users {
	uint32_t items[CODE_USERS_MAX];
	size_t n;
	bool is_whole; // false: there were more
};

/** False: there are no unwind tables that can be read, or no memory. */
bool code_map_init(struct code_map *m, const struct elf_image *image);
void code_map_finish(struct code_map *m);

/** The index of the function that `address` lies in, or CODE_NO_FUNCTION. */
uint32_t code_map_function_at(const struct code_map *m, uint64_t address);

/** Its instructions, of no bytes if they are not in the file. */
struct function_code code_map_code(const struct code_map *m, uint32_t function);

/**
 * Adds who refers to `address`: calls it or jumps there, or makes a pointer to it (relative to the
 * instruction, or as a constant).
 */
void code_map_users(const struct code_map *m, uint64_t address, struct code_users *out);

/** Adds who refers to a text in read-only data, its terminating 0 included. */
void code_map_users_of_text(const struct code_map *m, const char *text, struct code_users *out);

bool code_users_have(const struct code_users *users, uint32_t function);

/** Does another function call it, or jump to it? */
bool code_map_is_called(const struct code_map *m, uint32_t function);

/** Does a function call, jump to or name the beginning of another? */
bool code_map_refers(const struct code_map *m, uint32_t user, uint32_t used);
