// SPDX-License-Identifier: MIT
#pragma once

/**
 * System calls without libc: nothing here touches errno, is interposed, or takes a lock. The
 * result is the kernel's own: -1 to -4095 is an error number, negated.
 */

#include <asm/unistd.h>

static inline long syscall_0(long number) {
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
	return result;
}

static inline long syscall_1(long number, long a) {
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a) : "rcx", "r11", "memory");
	return result;
}

static inline long syscall_2(long number, long a, long b) {
	long result;
	__asm__ volatile("syscall"
					 : "=a"(result)
					 : "a"(number), "D"(a), "S"(b)
					 : "rcx", "r11", "memory");
	return result;
}

static inline long syscall_3(long number, long a, long b, long c) {
	long result;
	__asm__ volatile("syscall"
					 : "=a"(result)
					 : "a"(number), "D"(a), "S"(b), "d"(c)
					 : "rcx", "r11", "memory");
	return result;
}

static inline long syscall_4(long number, long a, long b, long c, long d) {
	long result;
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall"
					 : "=a"(result)
					 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
					 : "rcx", "r11", "memory");
	return result;
}

static inline long syscall_6(long number, long a, long b, long c, long d, long e, long f) {
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
					 : "=a"(result)
					 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
					 : "rcx", "r11", "memory");
	return result;
}
