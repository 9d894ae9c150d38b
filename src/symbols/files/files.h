// SPDX-License-Identifier: MIT
#pragma once
/**
 * Finds the files with the symbols of a module: the file itself, its separate
 * debug file (by build-id, else by debug link and its checksum), and the shared debug data (dwz) of
 * the file that has the DWARF. docs/symbols.md lists the places in order. A file with another
 * build-id is not used.
 */

#include "symbols/files/mapped.h"
#include "symbols/symbols.h"

struct module_files {
	struct mapped_file image; // without it there may still be `debug`
	struct mapped_file debug;
	struct mapped_file alternate;
	struct slice minidebug; // a decompressed .gnu_debugdata, ours
	struct elf_image minidebug_elf;
	char note[160]; // what is missing, for people
};

/** False: nothing can be read; `note` says why. */
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

// ---- what the libraries behind it do; their files are the only ones that know them

/**
 * Unpack an xz file, such as .gnu_debugdata is. `out` is the caller's to free.
 * False: damaged, larger than a symbol table would be, or no memory.
 */
bool xz_unpack(struct slice packed, struct slice *out);

/**
 * Fetch the debug file of a build-id through libdebuginfod, which heeds DEBUGINFOD_URLS: when the
 * user wants it.
 */
bool debuginfod_open(struct mapped_file *out, struct slice build_id, struct err *err);
