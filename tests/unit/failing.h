// SPDX-License-Identifier: MIT
#pragma once

/** Each allocation may fail: the linker sends all calls of our own libraries here. */

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__real_mremap(void *at, size_t old_size, size_t size, int flags);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mremap(void *at, size_t old_size, size_t size, int flags);

static _Atomic uint64_t n_calls;
static uint64_t failing_call; // 0: none

static bool fails_now(void) {
	return ++n_calls == failing_call;
}

void *__wrap_malloc(size_t n) {
	return fails_now() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size) {
	return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n) {
	return fails_now() ? NULL : __real_realloc(p, n);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
	return fails_now() ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

void *__wrap_mremap(void *at, size_t old_size, size_t size, int flags) {
	return fails_now() ? MAP_FAILED : __real_mremap(at, old_size, size, flags);
}

/** In a process of its own: the lack of what this call asks for ends it. False: there is none. */
static inline bool ends_at(uint64_t call, void (*work)(void)) {
	enum { WENT_ON = 1, ENDED };
	int status = 0;
	const pid_t child = fork();
	if (child == 0) {
		(void)close(STDERR_FILENO);
		memory_must("test", ENDED);
		n_calls = 0;
		failing_call = call;
		work();
		_exit(n_calls < call ? 0 : WENT_ON);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), WENT_ON);
	return WEXITSTATUS(status) == ENDED;
}

/** Gives how many calls there are. */
static inline uint64_t ends_at_each(void (*work)(void)) {
	uint64_t n = 0;
	while (ends_at(n + 1, work)) {
		n++;
	}
	return n;
}
