// SPDX-License-Identifier: MIT
#pragma once
/** x86-64 for the hooks. arch/<machine>/machine.h define the same names. */

#include <stdint.h>

/**
 * Add to a word that only this thread and its signal handlers write; returns the old value. One
 * instruction, so a signal comes before or after it; unlocked, so it costs a plain add. Releases,
 * as all stores do here. Pairs with the loads of `reserved` in the collector's order/rings.c: a
 * thread that has reserved in the big ring no longer writes to the small one.
 */
static inline uint64_t machine_local_add(_Atomic uint64_t *word, uint64_t n) {
	__asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(*word) : : "memory");
	return n;
}

/** The same without the old value, which would have to be waited for. */
static inline void machine_local_bump(_Atomic uint64_t *word, uint64_t n) {
	__asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(n) : "memory");
}

/** Replace `from` by `to` in a word that only this thread and its signal handlers write. */
static inline void machine_local_replace(uint64_t *word, uint64_t from, uint64_t to) {
	__asm__ volatile("cmpxchgq %2, %1" : "+a"(from), "+m"(*word) : "r"(to) : "memory", "cc");
}

/** The thread control block, on top of the stack that pthread_create made. */
static inline uint64_t machine_thread_pointer(void) {
	uint64_t pointer;
	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/** The FS base: machine_thread_pointer(), or 0 if there is no thread-local storage. Linux 5.9. */
static inline uint64_t machine_fs_base(void) {
	uint64_t base;
	__asm__ volatile("rdfsbase %0" : "=r"(base));
	return base;
}

/**
 * For a function that calls the process's own code. Hand-written assembly may call us with the
 * stack misaligned by eight bytes, which breaks code that saves vector registers on it.
 */
#define MACHINE_ALIGNS_STACK __attribute__((noinline, force_align_arg_pointer))

/** The time stamp counter, read while earlier instructions may still run. */
static inline uint64_t machine_early_stamp(void) {
	uint32_t low;
	uint32_t high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/** The time stamp counter, read after all earlier instructions, even loads of others' writes. */
static inline uint64_t machine_stamp(void) {
	__asm__ volatile("lfence" : : : "memory");
	return machine_early_stamp();
}

/** The address of a pointer, without the tags that other machines keep in its top byte. */
static inline uint64_t machine_untag(uint64_t pointer) {
	return pointer;
}

/** A bit that no address has, and that machine_untag() keeps. */
enum { MACHINE_SPARE_BIT = 62 };

/** Sizes that a page can have. */
enum { MACHINE_PAGE_LEAST = 4096, MACHINE_PAGE_MOST = 4096 };

/** The highest address that code of a program has. */
#define MACHINE_PC_MAX ((1ull << 47) - 1)

/** Do these 8 bytes, the last one the highest, end in a call? */
static inline _Bool machine_ends_with_call(uint64_t code) {
	const unsigned forms = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7; // bytes of call *...
	for (unsigned bytes = 2; bytes < 8; bytes++) {
		uint64_t first = code >> (64 - 8 * bytes);
		if ((forms >> bytes & 1) != 0 && (first & 0x38ff) == 0x10ff) {
			return 1;
		}
	}
	return (code >> 24 & 0xff) == 0xe8;
}

static inline void machine_relax(void) {
	__builtin_ia32_pause();
}

static inline void machine_prefetch_to_write(const void *at) {
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
}

/**
 * The registers of our caller, from inside the hook itself, hence a macro. Asking for the frame
 * address makes the compiler keep a frame pointer: frame[0] is the caller's, frame[1] the return
 * address, and the caller's stack continues behind it.
 */
#define MACHINE_CALLER()                                                       \
	((struct capture_regs){                                                    \
			.pc = ((const uint64_t *)__builtin_frame_address(0))[1],           \
			.sp = (uint64_t)__builtin_frame_address(0) + 2 * sizeof(uint64_t), \
			.bp = ((const uint64_t *)__builtin_frame_address(0))[0],           \
	})
