// SPDX-License-Identifier: MIT
#pragma once
/** Raw system calls: no errno, lock or interposition. -1 to -4095 is a negated error number. */

#include <asm/unistd.h>

/** The body of a function whose arguments, after the number, are in their registers. */
#define SYSCALL(...)                                                                              \
	long result;                                                                                  \
	__asm__ volatile("syscall" : "=a"(result) : "a"(number)__VA_ARGS__ : "rcx", "r11", "memory"); \
	return result

static inline long syscall_0(long number) {
	SYSCALL();
}

static inline long syscall_1(long number, long a) {
	SYSCALL(, "D"(a));
}

static inline long syscall_2(long number, long a, long b) {
	SYSCALL(, "D"(a), "S"(b));
}

static inline long syscall_3(long number, long a, long b, long c) {
	SYSCALL(, "D"(a), "S"(b), "d"(c));
}

static inline long syscall_4(long number, long a, long b, long c, long d) {
	register long r10 __asm__("r10") = d;
	SYSCALL(, "D"(a), "S"(b), "d"(c), "r"(r10));
}

static inline long syscall_6(long number, long a, long b, long c, long d, long e, long f) {
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	SYSCALL(, "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9));
}

#undef SYSCALL
