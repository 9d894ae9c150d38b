// SPDX-License-Identifier: MIT

/* x86-64: 64-bit programs alone. */

#include "injector/arch/machine.h"

#include <elf.h>
#include <linux/audit.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

const struct machine machine = {
		.name = "64-bit x86",
		.elf = EM_X86_64,
		.relative = R_X86_64_RELATIVE,
		.audit = AUDIT_ARCH_X86_64,
		.vfork = SYS_vfork,
		.red_zone = 128,
		.address_end = 0x7ffffffff000,
		.reach = 0x78000000, // 2 GiB, less some to be safe
		.n_system_call = 2,
		.system_call = {0x0f, 0x05},
		.dwarf_sp = 7,
		.dwarf_bp = 6,
		.dwarf_ra = 16,
};

/** The recorder tells threads apart by their FS base, which it reads without a system call. */
const char *machine_lacks(void) {
	enum { HWCAP2_FSGSBASE = 2 };
	return (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) != 0
			? NULL
			: "attaching needs Linux 5.9 and a processor with FSGSBASE";
}
