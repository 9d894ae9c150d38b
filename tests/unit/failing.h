// SPDX-License-Identifier: MIT
#pragma once

/** Each allocation may fail: the linker sends all calls of our own libraries here. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static uint64_t n_calls;
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
