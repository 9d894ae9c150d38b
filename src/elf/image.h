// SPDX-License-Identifier: MIT
#pragma once
/**
 * An ELF file as bytes: sections, segments, symbols, build-id, and where its debug data are.
 * Nothing is copied or owned: all results point into the bytes given to elf_image_init, and live as
 * long as they do. Any bytes are safe to read. 64-bit little-endian files only. Any thread; an
 * image does not change after its init.
 */

#include "base/base.h"

#include <elf.h>

/** The EM_ value of the machine that this is built for, whose programs are recorded. */
extern const uint16_t elf_machine;

struct elf_image {
	struct slice bytes;
	uint16_t type;    // ET_EXEC, ET_DYN...
	uint16_t machine; // EM_X86_64...
	uint64_t entry;
	struct slice sections; // section headers; empty if there are none
	struct slice segments; // program headers; empty if there are none
	uint32_t n_sections, n_segments;
	struct slice section_names;
};

/** False: not an ELF file that we can read. Tables outside the bytes become empty. */
bool elf_image_init(struct elf_image *e, struct slice bytes);

struct elf_section {
	const char *name; // "" if its offset is bad
	uint32_t type, link;
	uint64_t flags, address, offset, size;
	struct slice bytes; // in the file; empty for SHT_NOBITS, or if beyond the file's end
};

bool elf_section_at(const struct elf_image *e, uint32_t index, struct elf_section *out);

/** The first section of that name, or zeros. */
struct elf_section elf_section_named(const struct elf_image *e, const char *name);

/** Did Go link it, whose runtime takes memory from the system? Also if it is stripped. */
bool elf_is_go(const struct elf_image *e);

/** An Elf64_Phdr. */
struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, address, physical_address, file_bytes, memory_bytes, align;
};

/** The first segment of that type (PT_LOAD...), or zeros. */
struct elf_segment elf_segment_of(const struct elf_image *e, uint32_t type);

/** The next segment of that type from index `*next` on, which moves past it. */
bool elf_segment_next(const struct elf_image *e, uint32_t type, uint32_t *next,
		struct elf_segment *out);

/** A segment's bytes; empty if not all are in the file. */
struct slice elf_segment_bytes(const struct elf_image *e, const struct elf_segment *segment);

/** Bytes from `address` to the end of its loaded segment (to segment unless NULL); maybe none. */
struct slice elf_bytes_from(const struct elf_image *e, uint64_t address,
		struct elf_segment *segment);

/** The lowest address of executable code, or 0 if not known. */
uint64_t elf_first_code_address(const struct elf_image *e);

/** The GNU build-id, from segments or sections; empty if there is none. */
struct slice elf_build_id(const struct elf_image *e);

/** The separate debug file: its name and the CRC-32 of its content. */
bool elf_debug_link(const struct elf_image *e, const char **name, uint32_t *crc);

/** The shared debug data (dwz): a path, and the build-id that the file must have. */
bool elf_alternate_link(const struct elf_image *e, const char **path, struct slice *build_id);

struct elf_symbol {
	const char *name;
	uint64_t address, size;
	uint8_t type, binding; // STT_FUNC..., STB_GLOBAL...
	uint16_t section;      // SHN_UNDEF: defined elsewhere
};

struct elf_symbols {
	struct slice table, names;
	size_t n, next;
	const struct elf_image *then; // whose SHT_SYMTAB comes after this table; may be NULL
};

/** Over one table, SHT_SYMTAB or SHT_DYNSYM. `n` is 0 if there is none. */
struct elf_symbols elf_symbols_of(const struct elf_image *e, uint32_t section_type);

/** Over both tables, the dynamic one first. */
struct elf_symbols elf_symbols_all(const struct elf_image *e);

/** The next symbol, in file order. False: there are no more. */
bool elf_symbols_next(struct elf_symbols *s, struct elf_symbol *out);

/** The next symbol with that name that is defined here. False: there is none. */
bool elf_symbols_find(struct elf_symbols *s, const char *name, struct elf_symbol *out);

/**
 * The address that a function returns, or (`is_loaded`) loads its result from, according to its
 * instructions. False: it does anything else, or is for another machine.
 */
bool elf_returned(const struct elf_image *e, uint64_t function, uint64_t *address, bool *is_loaded);

/**
 * The constant text that `function`, named as in the symbol tables, returns, according to its
 * instructions; nothing is called. Points into the image's bytes. False: no such function, it does
 * anything else, is for another machine, or the text is writable.
 */
bool elf_returned_text(const struct elf_image *e, const char *function, struct slice *out);

/** Code with one record in the unwind tables: a function, or part of one. */
struct elf_code {
	uint64_t address;
	struct slice bytes;
};

/**
 * Another part of the function around `address`. False: none is found, as for nearly all. `known`:
 * NULL, or the image's known answers, which this fills.
 */
bool elf_other_part(const struct elf_image *e, struct map *known, uint64_t address,
		struct elf_code *out);
