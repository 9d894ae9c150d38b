// SPDX-License-Identifier: MIT
#pragma once
/** How an executable will be loaded, according to its ELF file. */

#include "base/base.h"

struct launch_elf {
	bool is_elf;
	bool is_torn; // cut short: not even its header is complete
	bool is_64_bit;
	unsigned machine;      // EM_*
	bool is_ours;          // of the machine and width that we record
	bool has_loader;       // names an interpreter (PT_INTERP): dynamically linked
	bool is_loader;        // is one itself, run as a program
	char loader[256];      // that interpreter
	bool has_allocator;    // defines functions that allocate (and free, if dynamic)
	bool is_go;            // static, of Go alone: nothing in it calls malloc
	const char *sanitizer; // one that cannot be combined with the recorder; NULL: none of these
};

/** Look at an open file. Nothing is trusted; a file that is not ELF is is_elf == false. */
void launch_elf_read(struct launch_elf *out, int fd);

const char *launch_machine_name(unsigned machine);
