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
#include "sys/sys.h"

struct process_space {
	struct smaps mappings; // what is mapped alone
	uint64_t brk_start;    // where the heap begins, or will; 0: unknown
	uint64_t stack_start;
};

/** Read it. If the process runs, it may be out of date at once. */
bool process_space_read(struct process_space *s, pid_t pid, struct err *err);
void process_space_finish(struct process_space *s);

/** A file with code that is mapped in a process. */
struct module_code {
	const char *name;
	uint64_t start, end; // of its mappings
	uint64_t inode;
	uint64_t bias;          // address = bias + address in the file
	struct elf_image image; // of the file, which is mapped here
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

// ---- which files and modules have an allocator of their own, by the names of their functions
//
// Also there in a build without attaching, which tells of such allocators although it cannot hook
// them. Any thread.

/**
 * Does a program define functions that allocate and, if it `must_free`, that free, be it for itself
 * alone? A static program need not free.
 */
bool find_defines_allocator(const struct elf_image *image, bool must_free);

/** Is a file of that name glibc? */
bool find_is_libc(const char *path);

/** Does it contain Boehm's garbage collector, as a library or linked into a program? */
bool find_is_collector(const struct module_code *m);

/**
 * The functions of an allocator that `m` keeps to itself: local ones, and exported ones of which
 * `is_hidden` says that no other module's are called in their place. `names` receives their names
 * with ", " between them, as far as they fit. Returns how many those are; 0: it does not both
 * allocate and free.
 */
uint32_t find_own_allocator(const struct module_code *m,
		bool (*is_hidden)(const void *user, const char *name), const void *user, char *names,
		size_t size);

// ---- the blocks that glibc's malloc has handed out in another process, found from outside
//
// Nothing is called there, and neither symbols nor the version are needed: structures are
// recognized by what must hold in them (glibc 2.27 to 2.41, 64 bits). What does not hold is left
// out and counted. docs/attach.md tells what is looked at.
//
// The memory must not change meanwhile: that of a snapshot (injector/tracee/tracee.h) or of a
// process whose threads are all stopped.

struct heap_walk {
	VEC(struct extent) blocks; // ascending, with usable bytes: what was asked for is not known
	uint64_t bytes;            // of all
	uint32_t n_unsure;         // heaps not walked to their end, or whose free blocks are unsure
};

/** False: no heap of glibc was found, it cannot be read, or no memory. */
bool heap_walk(struct heap_walk *out, pid_t pid);
void heap_walk_finish(struct heap_walk *w);
