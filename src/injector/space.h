// SPDX-License-Identifier: MIT
#pragma once
/**
 * The address space of another process, with the ELF files behind its mappings.
 *
 * Files are opened through the process itself (/proc/PID/map_files, /proc/PID/root), so it may live
 * in other namespaces, and its files may be deleted.
 */

#include "elf/image.h"
#include "sys/smaps.h"

struct process_space {
	struct smaps mappings; // what is mapped alone
	uint64_t brk_start;    // where the heap begins, or will; 0: unknown
	uint64_t stack_start;
};

/** Read it. If the process runs, it may be out of date at once. */
bool process_space_read(struct process_space *s, pid_t pid, struct err *err);
void process_space_finish(struct process_space *s);

const struct smaps_area *process_space_at(const struct process_space *s, uint64_t address);

/** A file with code that is mapped in a process. */
struct module_code {
	const char *name;
	uint64_t start, end; // of its mappings
	uint64_t inode;
	uint64_t bias; // address = bias + address in the file
	struct elf_image image;
	void *file; // mapped here
	size_t file_bytes;
};

struct modules_code {
	VEC(struct module_code);
};

/** Open all of `space`. What cannot be opened, or is no ELF file, is left out. */
bool modules_code_open(struct modules_code *m, const struct process_space *space, pid_t pid,
		struct err *err);
void modules_code_close(struct modules_code *m);

/** The bytes of the file for `n` bytes at `address`, as the file counts; fewer if they end. */
struct slice module_code_bytes(const struct module_code *module, uint64_t address, size_t n);
