// SPDX-License-Identifier: MIT
#pragma once
/**
 * Puts debug sections into an ELF image in memory, for elfutils to read.
 *
 * They are sections that are not in a file of their own: one unit of a package, an address table
 * that belongs to another file, what elfutils cannot decompress.
 */

#include "elf/image.h"

struct compose_section {
	const char *name;
	struct slice bytes;   // as they lie in the file
	uint64_t plain_bytes; // decompressed; as many as `bytes` if they are not compressed
	uint32_t packing;     // 0: none, else an ELFCOMPRESS_ value
};

/** A section that is not compressed. */
static inline struct compose_section compose_plain(const char *name, struct slice bytes) {
	return (struct compose_section){name, bytes, bytes.size, 0};
}

/**
 * An ELF image in `arena` with these sections, decompressed (zlib, zstd). What is damaged becomes
 * zeros. Empty: no memory, or sizes beyond reason.
 */
struct slice compose_image(const struct compose_section *sections, size_t n, struct arena *arena);

/**
 * The same in two steps, for who unpacks some of it later: how long the image is (0: sizes beyond
 * reason), all of it but the sections' bytes, in zeroed memory, with places[i] where those of
 * section i go; and a section to its place. False: it is damaged, what is there is not to be used.
 */
size_t compose_bytes(const struct compose_section *sections, size_t n);
void compose_lay_out(uint8_t *image, const struct compose_section *sections, size_t n,
		size_t *places);
bool compose_unpack(uint8_t *to, const struct compose_section *s);

/** As it lies in the image, by its name or the old one (".zdebug_x"). False: no bytes. */
bool compose_find(struct compose_section *out, const struct elf_image *image, const char *name);

/** Does elfutils need help: are debug sections compressed? */
bool compose_is_packed(const struct elf_image *image);

/**
 * The bytes of a section, decompressed into `arena` if they are compressed, else as they lie in
 * the image. Empty: not there, damaged, or no memory.
 */
struct slice compose_section_bytes(const struct elf_image *image, const char *name,
		struct arena *arena);
