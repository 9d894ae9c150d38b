// SPDX-License-Identifier: MIT
#pragma once
/** The registers of x86-64 for the unwinder. arch/<machine>/regs.h define the same names. */

#include <stdint.h>

enum {
	REG_BP = 6,
	REG_SP = 7,
	REG_PC = 16, // the column of the return address
	REG_N = 17,
};

// Bytes from the stack pointer in the signal trampoline to the interrupted registers
// (the kernel's struct ucontext: gregs begin at 40, in the order r8..r15, di, si, bp, bx, ...)
enum {
	SIGNAL_FRAME_BP = 40 + 10 * 8,
	SIGNAL_FRAME_SP = 40 + 15 * 8,
	SIGNAL_FRAME_PC = 40 + 16 * 8,
};

/** mov $15,%rax; syscall: how signal handlers return to the kernel. */
#define SIGNAL_TRAMPOLINE "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
enum { SIGNAL_TRAMPOLINE_BYTES = 9 };

/** The offset of register `number` (DWARF) in a signal frame, or -1. */
static inline int signal_frame_offset(unsigned number) {
	static const int8_t greg[REG_N] = {13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16};
	return number < REG_N ? 40 + greg[number] * 8 : -1;
}

/** The registers that survive calls, and where we are: enough to unwind from here. */
#define REGS_HERE(regs)                          \
	__asm__ volatile("movq %%rbx, 24(%0)\n\t"    \
					 "movq %%rbp, 48(%0)\n\t"    \
					 "movq %%rsp, 56(%0)\n\t"    \
					 "movq %%r12, 96(%0)\n\t"    \
					 "movq %%r13, 104(%0)\n\t"   \
					 "movq %%r14, 112(%0)\n\t"   \
					 "movq %%r15, 120(%0)\n\t"   \
					 "leaq 0f(%%rip), %%rax\n\t" \
					 "movq %%rax, 128(%0)\n"     \
					 "0:"                        \
					 :                           \
					 : "r"(regs)                 \
					 : "rax", "memory")

/** A bit for each register that REGS_HERE fills in. */
#define REGS_HERE_KNOWN (1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12 | 1u << 16)
