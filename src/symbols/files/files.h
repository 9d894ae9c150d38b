// SPDX-License-Identifier: MIT
#pragma once
/**
 * Finds the files with the symbols of a module: the file itself, its separate
 * debug file (by build-id, else by debug link and its checksum), and the shared debug data (dwz) of
 * the file that has the DWARF. docs/symbols.md lists the places in order. A file with another
 * build-id is not used.
 */

#include "elf/image.h"
#include "symbols/symbols.h"

#include <sys/stat.h>

// ---- an ELF file mapped for reading, its build-id checked before anything else looks at it

struct mapped_file {
	struct slice bytes;
	struct elf_image elf;
	char *path;        // where it was found, or what the program called it
	struct stat found; // which file that was, and of when
};

/**
 * Map a regular file. `fd` -1: open `path`, else `path` is only its name. Not empty `build_id`:
 * a file with another one, or with none, is refused. False: no such file, not ELF, or no memory.
 */
bool mapped_file_open(struct mapped_file *m, int fd, const char *path, struct slice build_id);

/** Would mapping it again (`fd` -1: by its path) give the same file, unchanged? */
bool mapped_file_is_current(const struct mapped_file *m, int fd);

/** Give back the memory that reading took; what is read again comes from the file. */
void mapped_file_relax(const struct mapped_file *m);

/** The CRC-32 of the whole file, as .gnu_debuglink has it. */
uint32_t mapped_file_crc(const struct mapped_file *m);

void mapped_file_close(struct mapped_file *m);

// ---- finds the files with the symbols of a module

struct module_files {
	struct mapped_file image; // without it there may still be `debug`
	struct mapped_file debug;
	struct mapped_file alternate;
	struct slice minidebug; // a decompressed .gnu_debugdata, ours
	struct elf_image minidebug_elf;
};

/** False: there is neither the file itself nor its debug file. */
bool module_files_find(struct module_files *f, const struct symbols_options *options,
		const struct symbols_module *module);

/** The file that has the DWARF, or NULL. */
const struct mapped_file *module_files_dwarf(const struct module_files *f);

/**
 * A file of split DWARF. `name` as in the skeleton unit, `folder` its compilation folder; tried
 * there, below the sysroot, beside the module and in the debug paths. False: there is none.
 */
bool module_files_open_split(struct mapped_file *out, const struct symbols_options *options,
		const char *module_path, const char *folder, const char *name);

/** The package of all split units of a module: beside it, or in the debug paths. */
bool module_files_open_package(struct mapped_file *out, const struct module_files *f,
		const struct symbols_options *options, const char *module_path);

void module_files_close(struct module_files *f);

// ---- debug sections put into an ELF image in memory, for elfutils to read
//
// They are sections that are not in a file of their own: one unit of a package, an address table
// that belongs to another file, what elfutils cannot decompress.

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

/** Does elfutils need help: are debug sections compressed? */
bool compose_is_packed(const struct elf_image *image);

/** All that elfutils reads of a file, as compose_image has it. */
struct slice compose_unpacked(const struct elf_image *file, struct arena *arena);

/**
 * The bytes of a section, decompressed into `arena` if they are compressed, else as they lie in
 * the image. Empty: not there, damaged, or no memory.
 */
struct slice compose_section_bytes(const struct elf_image *image, const char *name,
		struct arena *arena);
