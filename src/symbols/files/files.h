// SPDX-License-Identifier: MIT
#pragma once
/**
 * Finds the files with the symbols of a module: the file itself, its separate debug file (by
 * build-id, else by debug link and checksum), and the shared debug data (dwz) of the file with the
 * DWARF. docs/symbols.md lists the places in order. A file with another build-id is never used.
 */

#include "elf/image.h"
#include "symbols/symbols.h"

#include <sys/stat.h>

// ---- an ELF file mapped for reading, after a check of its build-id

struct mapped_file {
	struct slice bytes;
	struct elf_image elf;
	char *path;        // where it was found, or the program's name for it
	struct stat found; // identity and time of that file
};

/**
 * Map a regular file. `fd` -1: open `path`, else `path` is only its name. A file without
 * `build_id`, unless that is empty, is refused. False: no such file, not ELF, or no memory.
 */
bool mapped_file_open(struct mapped_file *m, int fd, const char *path, struct slice build_id);

/** Would mapping it again (`fd` -1: by its path) give the same, unchanged file? */
bool mapped_file_is_current(const struct mapped_file *m, int fd);

/** Release memory taken by reading; the file is read again on demand. */
void mapped_file_relax(const struct mapped_file *m);

/** The CRC-32 of the whole file, as in .gnu_debuglink. */
uint32_t mapped_file_crc(const struct mapped_file *m);

void mapped_file_close(struct mapped_file *m);

// ---- the files with the symbols of a module

struct module_files {
	struct mapped_file image; // may be missing even if `debug` is there
	struct mapped_file debug;
	struct mapped_file alternate;
	struct slice minidebug; // decompressed .gnu_debugdata, owned
	struct elf_image minidebug_elf;
};

/** False: neither the file nor its debug file was found. */
bool module_files_find(struct module_files *f, const struct symbols_options *options,
		const struct symbols_module *module);

/** The file with the DWARF, or NULL. */
const struct mapped_file *module_files_dwarf(const struct module_files *f);

/**
 * Open a .dwo file. `name` is the skeleton unit's, `folder` its compilation folder; tried there,
 * below the sysroot, beside the module and in the debug paths. False: not found.
 */
bool module_files_open_split(struct mapped_file *out, const struct symbols_options *options,
		const char *module_path, const char *folder, const char *name);

/** Open the package of a module's split units, beside it or in the debug paths. */
bool module_files_open_package(struct mapped_file *out, const struct module_files *f,
		const struct symbols_options *options, const char *module_path);

void module_files_close(struct module_files *f);

// ---- debug sections in an ELF image in memory, for elfutils
//
// For sections that are not in a file of their own: one unit of a package, an address table of
// another file, what elfutils cannot decompress.

struct compose_section {
	const char *name;
	struct slice bytes;   // as in the file
	uint64_t plain_bytes; // decompressed; else the size of `bytes`
	uint32_t packing;     // 0: none, else an ELFCOMPRESS_ value
};

static inline struct compose_section compose_plain(const char *name, struct slice bytes) {
	return (struct compose_section){name, bytes, bytes.size, 0};
}

/** An ELF image in `arena` of these sections, decompressed; zeros if damaged. Empty: too large. */
struct slice compose_image(const struct compose_section *sections, size_t n, struct arena *arena);

/** Are debug sections compressed, so that elfutils needs help? */
bool compose_is_packed(const struct elf_image *image);

/** All that elfutils reads of a file, made by compose_image. */
struct slice compose_unpacked(const struct elf_image *file, struct arena *arena);

/** The bytes of a section, decompressed into `arena` if needed. Empty: missing, damaged. */
struct slice compose_section_bytes(const struct elf_image *image, const char *name,
		struct arena *arena);
