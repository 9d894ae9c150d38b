// SPDX-License-Identifier: MIT
#pragma once
/**
 * Numbers and names of 64-bit x86. Each folder arch/<machine>/ defines the same names, the build
 * picks one. Files there include no header of the injector outside arch/.
 */

#include <elf.h>
#include <linux/audit.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#define MACHINE_NAME "64-bit x86" // for messages

enum {
	MACHINE_ELF = EM_X86_64,
	MACHINE_RELATIVE = R_X86_64_RELATIVE, // relocations that only add where the image lies
	MACHINE_VFORK = SYS_vfork,            // -1: there is no such system call
	MACHINE_RED_ZONE = 128,               // bytes below the stack pointer that code may use
	MACHINE_DWARF_SP = 7,                 // register numbers of unwind tables
	MACHINE_DWARF_BP = 6,
	MACHINE_DWARF_RA = 16,
};

static const uint32_t MACHINE_AUDIT = AUDIT_ARCH_X86_64;    // as seccomp filters see it
static const uint64_t MACHINE_ADDRESS_END = 0x7ffffffff000; // end of what a process can map
static const uint64_t MACHINE_REACH = 0x78000000;           // of a jump, with room to spare
static const uint8_t MACHINE_SYSTEM_CALL[] = {0x0f, 0x05};  // the instruction

/** NULL, or what the machine lacks: the recorder tells threads apart by their FS base. */
static inline const char *machine_lacks(void) {
	enum { HWCAP2_FSGSBASE = 2 };
	return (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) != 0
			? NULL
			: "attaching needs Linux 5.9 and a processor with FSGSBASE";
}
