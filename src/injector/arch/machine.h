// SPDX-License-Identifier: MIT
#pragma once

/**
 * What differs between architectures and is a number or a name.
 *
 * All of arch/ is implemented once per architecture, in arch/<machine>/: CONTRIBUTING.md tells how
 * to add one. No file there includes anything of the injector but these headers.
 */

#include <stdint.h>

enum { MACHINE_INSTRUCTION_MAX = 4 }; // bytes of the longest system call instruction

struct machine {
	const char *name;      // for messages: "64-bit x86"
	uint16_t elf;          // EM_* of its programs
	uint32_t relative;     // R_*: relocations that only add where the image lies
	uint32_t audit;        // AUDIT_ARCH_*, as seccomp filters see it
	long vfork;            // number of the system call; -1: there is none
	unsigned red_zone;     // bytes below the stack pointer that code may use
	uint64_t address_end;  // of what a process can map
	uint64_t reach;        // of a jump in bytes, with room to spare
	uint8_t n_system_call; // bytes of the instruction that makes a system call
	uint8_t system_call[MACHINE_INSTRUCTION_MAX];
	uint8_t dwarf_sp, dwarf_bp, dwarf_ra; // register numbers of unwind tables
};

extern const struct machine machine;

/** NULL, or what this machine lacks for attaching, as a message. */
const char *machine_lacks(void);
