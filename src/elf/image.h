// SPDX-License-Identifier: MIT
#pragma once
/**
 * An ELF file as bytes: sections, segments, symbols, build-id, and where its debug data are.
 *
 * Nothing is copied and nothing is owned: all results point into the bytes that elf_image_init was
 * given, and live as long as they do. Any bytes are safe to read. 64-bit little-endian files only.
 * Any thread; an image is not changed after its init.
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
	struct slice sections; // the table of section headers; empty if there is none
	struct slice segments; // the table of program headers; empty if there is none
	uint32_t n_sections, n_segments;
	struct slice section_names;
};

/** False: not an ELF file that we can read. Tables outside the bytes are empty. */
bool elf_image_init(struct elf_image *e, struct slice bytes);

struct elf_section {
	const char *name; // "" if its place is bad
	uint32_t type, link;
	uint64_t flags, address, offset, size;
	struct slice bytes; // in the file; empty for SHT_NOBITS, and if they are beyond its end
};

/** False: there is no section of that index. */
bool elf_section_at(const struct elf_image *e, uint32_t index, struct elf_section *out);

/** The first of that name; zeros: there is none. */
struct elf_section elf_section_named(const struct elf_image *e, const char *name);

/** As the file has it: an Elf64_Phdr. */
struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, address, physical_address, file_bytes, memory_bytes, align;
};

/** The first of that type (PT_LOAD...); zeros: there is none. */
struct elf_segment elf_segment_of(const struct elf_image *e, uint32_t type);

/** The next of that type from the index `*next` on, which becomes that of the one behind it. */
bool elf_segment_next(const struct elf_image *e, uint32_t type, uint32_t *next,
		struct elf_segment *out);

/** What the file holds of a segment; empty if that is not all in the file. */
struct slice elf_segment_bytes(const struct elf_image *e, const struct elf_segment *segment);

/**
 * What the file holds from `address` on to the end of the loaded segment, which `segment`, unless
 * it is NULL, receives; empty if nothing.
 */
struct slice elf_bytes_from(const struct elf_image *e, uint64_t address,
		struct elf_segment *segment);

/** The lowest address of executable code; 0 if nothing says so. */
uint64_t elf_first_code_address(const struct elf_image *e);

/** The GNU build-id, from segments or sections; empty if there is none. */
struct slice elf_build_id(const struct elf_image *e);

/** Where the separate debug file is: a file name and the CRC-32 of its content. */
bool elf_debug_link(const struct elf_image *e, const char **name, uint32_t *crc);

/** Where the shared debug data (dwz) are: a path, and the build-id that the file must have. */
bool elf_alternate_link(const struct elf_image *e, const char **path, struct slice *build_id);

struct elf_symbol {
	const char *name;
	uint64_t address, size;
	uint8_t type, binding; // STT_FUNC..., STB_GLOBAL...
	uint16_t section;      // SHN_UNDEF: defined elsewhere
};

/** An iterator over symbols. */
struct elf_symbols {
	struct slice table, names;
	size_t n, next;
	const struct elf_image *then; // whose SHT_SYMTAB comes after this table; may be NULL
};

/** Over one table: SHT_SYMTAB or SHT_DYNSYM. `n` is 0 if there is none. */
struct elf_symbols elf_symbols_of(const struct elf_image *e, uint32_t section_type);

/** Over both tables, the dynamic one first. */
struct elf_symbols elf_symbols_all(const struct elf_image *e);

/** The next symbol, in the order of the file. False: that was all. */
bool elf_symbols_next(struct elf_symbols *s, struct elf_symbol *out);

/** The next with that name that is defined here. False: there is none. */
bool elf_symbols_find(struct elf_symbols *s, const char *name, struct elf_symbol *out);

/**
 * The address that the function at an address returns, or, `is_loaded`, from which it loads what it
 * returns, read from its instructions. False: it does anything else, or is not of the machine that
 * this is built for.
 */
bool elf_returned(const struct elf_image *e, uint64_t function, uint64_t *address, bool *is_loaded);

/**
 * The constant text that `function`, a name as in the symbol tables, returns, read from its
 * instructions; nothing is called. It points into the image's bytes. False: no such function, or
 * not of the machine that this is built for, or it does anything else, or the text can be written
 * to.
 */
bool elf_returned_text(const struct elf_image *e, const char *function, struct slice *out);

/** Code with one record in the unwind tables: a function, or a part of one. */
struct elf_code {
	uint64_t address;
	struct slice bytes;
};

/**
 * Another part of the function around `address`. False: none is found, as in nearly all. `known`,
 * unless NULL, has those of the image that were asked for, as this fills it.
 */
bool elf_other_part(const struct elf_image *e, struct map *known, uint64_t address,
		struct elf_code *out);
