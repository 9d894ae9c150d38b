// SPDX-License-Identifier: MIT
#pragma once
/**
 * An ELF file mapped for reading, its build-id checked before anything else
 * looks at it.
 */

#include "elf/image.h"

#include <sys/types.h>

struct mapped_file {
	struct slice bytes;
	struct elf_image elf;
	char *path;                         // where it was found, or what the program called it
	uint64_t device, inode, changed_ns; // which file that was, and of when
};

/**
 * Map a regular file. `fd` -1: open `path`, else `path` is only its name. Not empty `build_id`:
 * a file with another one, or with none, is refused (ERR_NOT_FOUND).
 */
bool mapped_file_open(struct mapped_file *m, int fd, const char *path, struct slice build_id,
		struct err *err);

/** Would mapping it again (`fd` -1: by its path) give the same file, unchanged? */
bool mapped_file_is_current(const struct mapped_file *m, int fd);

/** Give back the memory that reading took; what is read again comes from the file. */
void mapped_file_relax(const struct mapped_file *m);

/** The CRC-32 of the whole file, as .gnu_debuglink has it. */
uint32_t mapped_file_crc(const struct mapped_file *m);

void mapped_file_close(struct mapped_file *m);
