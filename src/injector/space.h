// SPDX-License-Identifier: MIT
#pragma once
/**
 * The address space of another process, with the ELF files behind its mappings. Files are opened by
 * /proc/PID/map_files and root: they may be deleted, or in another namespace.
 */

#include "elf/image.h"
#include "sys/smaps.h"
#include "sys/sys.h"

struct process_space {
	struct smaps mappings; // what is mapped, without figures
	uint64_t brk_start;    // where the heap begins, or will; 0: unknown
	uint64_t stack_start;
};

/** Of a running process, it may be out of date at once. */
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

/** Open all of `space`, without what cannot be opened or is not ELF. */
bool modules_code_open(struct modules_code *m, const struct process_space *space, pid_t pid,
		struct err *err);
void modules_code_close(struct modules_code *m);

/** The file's bytes for `n` bytes at `address`, as the file counts; fewer at its end. */
struct slice module_code_bytes(const struct module_code *module, uint64_t address, size_t n);

// ---- which files and modules have their own allocator, by the names of functions
//
// Any thread. Also in a build without attaching, which names such allocators but cannot hook them.

/** Does it define functions, even local ones, that allocate and, if `must_free`, that free? */
bool find_defines_allocator(const struct elf_image *image, bool must_free);

/** Is a file of that name glibc? */
bool find_is_libc(const char *path);

/** Does it contain Boehm's garbage collector, as a library or linked into a program? */
bool find_is_collector(const struct module_code *m);

/**
 * The functions of an allocator that `m` keeps to itself: local ones, and exported ones that
 * `is_hidden` says no other module's replace. `names` receives as many as fit, separated by ", ".
 * Returns their number; 0: not an allocator that both allocates and frees.
 */
uint32_t find_own_allocator(const struct module_code *m,
		bool (*is_hidden)(const void *user, const char *name), const void *user, char *names,
		size_t size);

// ---- the blocks that glibc's malloc handed out in another process, found from outside
//
// Nothing is called there. Structures are recognized without symbols or version by what must hold
// in them (glibc 2.27 to 2.41, 64 bits); what does not hold is left out and counted. See
// docs/attach.md. The memory must not change meanwhile: a snapshot's (injector/tracee/tracee.h) or
// that of a process whose threads are all stopped.

struct heap_walk {
	VEC(struct extent) blocks; // ascending, with usable sizes: requested ones are unknown
	uint64_t bytes;            // of all
	uint32_t n_unsure;         // heaps not walked to their end, or whose free blocks are unsure
};

/** False: no heap of glibc found, it is unreadable, or no memory. */
bool heap_walk(struct heap_walk *out, pid_t pid);
void heap_walk_finish(struct heap_walk *w);
