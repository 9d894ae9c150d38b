// SPDX-License-Identifier: MIT
#pragma once
/**
 * The recorder's own tiny libc, for memory from the kernel, bytes and text. The core calls nothing
 * else, because functions of libc may be interposed, allocate, take locks, set errno, or not be
 * there at all (in a static target). Any thread, any signal handler. The build's include path
 * selects `syscall.h` and `regs.h` (arch/<machine>) and `host.h` (preload or inject).
 */

#include "host.h"
#include "recorder/core/own.h"
#include "syscall.h"

#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <stdbool.h>
#include <time.h>

/** Is a system call's result a negated error number? */
static inline bool sys_failed(long result) {
	return (unsigned long)result > -4096ul;
}

/** mmap. NULL: it failed. */
static inline void *sys_mmap(void *at, size_t bytes, int protection, int flags, int fd,
		uint64_t offset) {
	long result = syscall_6(__NR_mmap, (long)at, (long)bytes, protection, flags, fd, (long)offset);
	if (sys_failed(result)) {
		return NULL;
	}
	own_mapped((void *)result, bytes);
	return (void *)result;
}

/** Zeroed private memory; pages cost nothing until touched. NULL: there is none. */
static inline void *sys_map(size_t bytes) {
	return sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static inline void sys_munmap(void *at, size_t bytes) {
	own_unmapped(at, bytes);
	(void)syscall_2(__NR_munmap, (long)at, (long)bytes);
}

/** What `*at` points to, or else zeroed memory that the first to come puts there. NULL: none. */
#define SYS_MAP_ONCE(at, bytes)                                                      \
	({                                                                               \
		__auto_type there_ = atomic_load(at);                                        \
		void *fresh_ = there_ == NULL ? sys_map(bytes) : NULL;                       \
		if (fresh_ != NULL && atomic_compare_exchange_strong(at, &there_, fresh_)) { \
			there_ = fresh_;                                                         \
		} else if (fresh_ != NULL) {                                                 \
			sys_munmap(fresh_, bytes);                                               \
		}                                                                            \
		there_;                                                                      \
	})

static inline bool sys_mprotect(void *at, size_t bytes, int protection) {
	return !sys_failed(syscall_3(__NR_mprotect, (long)at, (long)bytes, protection));
}

static inline bool sys_madvise(void *at, size_t bytes, int advice) {
	return !sys_failed(syscall_3(__NR_madvise, (long)at, (long)bytes, advice));
}

/** Open a file for reading, without blocking. Returns the descriptor, or the error. */
static inline long sys_open(const char *path) {
	enum { AT_CWD = -100, READ_ONLY_CLOEXEC_NONBLOCK = 02004000 };
	return syscall_4(__NR_openat, AT_CWD, (long)path, READ_ONLY_CLOEXEC_NONBLOCK, 0);
}

/** The start of a file, cut and zero-terminated. Returns its bytes; 0: there is none. */
static inline size_t sys_read_file(const char *path, char *out, size_t bytes) {
	long n = 0;
	long fd = sys_open(path);
	if (!sys_failed(fd)) {
		n = syscall_3(__NR_read, fd, (long)out, (long)bytes - 1);
		(void)syscall_1(__NR_close, fd);
	}
	n = sys_failed(n) ? 0 : n;
	out[n] = '\0';
	return (size_t)n;
}

/** A link's target, cut and zero-terminated. Returns its bytes; 0: there is none. */
static inline size_t sys_read_link(const char *path, char *out, size_t bytes) {
	enum { AT_CWD = -100 };
	long n = syscall_4(__NR_readlinkat, AT_CWD, (long)path, (long)out, (long)bytes - 1);
	n = sys_failed(n) ? 0 : n;
	out[n] = '\0';
	return (size_t)n;
}

/**
 * May the 8 bytes at `address` be read? Asks the kernel to read a signal set there for an operation
 * that does not exist: it reads first, and answers EFAULT if it cannot. Nothing changes, and every
 * sandbox permits the call. Under 100 ns.
 */
static inline bool sys_is_readable(uint64_t address) {
	enum { NO_SUCH_OPERATION = 0x7ead, FAULT = -14 };
	return address >= MACHINE_PAGE_LEAST && // NULL would mean: no set to read
			syscall_4(__NR_rt_sigprocmask, NO_SUCH_OPERATION, (long)address, 0, 8) != FAULT;
}

// -fno-builtin -fno-tree-loop-distribute-patterns keep these loops from becoming calls of memcpy

static inline void sys_copy(void *to, const void *from, size_t bytes) {
	unsigned char *t = to;
	const unsigned char *f = from;
	for (size_t i = 0; i < bytes; i++) {
		t[i] = f[i];
	}
}

static inline void sys_fill(void *at, unsigned char value, size_t bytes) {
	unsigned char *a = at;
	for (size_t i = 0; i < bytes; i++) {
		a[i] = value;
	}
}

static inline bool sys_equal(const void *a, const void *b, size_t bytes) {
	const unsigned char *x = a;
	const unsigned char *y = b;
	for (size_t i = 0; i < bytes; i++) {
		if (x[i] != y[i]) {
			return false;
		}
	}
	return true;
}

static inline size_t sys_text_length(const char *text) {
	size_t n = 0;
	while (text[n] != '\0') {
		n++;
	}
	return n;
}

/** Skip `prefix` at the start of `text`. NULL: it starts differently. */
static inline const char *sys_after(const char *text, const char *prefix) {
	for (; *prefix != '\0'; text++, prefix++) {
		if (*text != *prefix) {
			return NULL;
		}
	}
	return text;
}

/** Take the decimal digits at the start of a text; also 0 if there are none. */
static inline uint64_t sys_take_number(const char **text) {
	uint64_t n = 0;
	for (; **text >= '0' && **text <= '9'; ++*text) {
		n = n * 10 + (uint64_t)(**text - '0');
	}
	return n;
}

/** The entry of an environment that begins so and has a value, or NULL. */
static inline char **sys_entry(char **environment, const char *name) {
	for (char **e = environment; e != NULL && *e != NULL; e++) {
		const char *value = sys_after(*e, name);
		if (value != NULL && *value != '\0') {
			return e;
		}
	}
	return NULL;
}

/** Write a text, or a non-negative decimal number. Returns the zero at its end. */
static inline char *sys_put_text(char *at, const char *text) {
	size_t n = sys_text_length(text);
	sys_copy(at, text, n + 1);
	return at + n;
}

static inline char *sys_put_number(char *at, long value) {
	char digits[24];
	char *d = digits + sizeof digits - 1;
	*d = '\0';
	do {
		*--d = (char)('0' + value % 10);
		value /= 10;
	} while (value != 0);
	return sys_put_text(at, d);
}
