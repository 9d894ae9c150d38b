// SPDX-License-Identifier: MIT
/*
 * memcpy and memset, which clang calls to copy and clear structs whatever it is told. The recorder
 * calls no C library function that the program could have replaced. Linked only with clang; hidden.
 */
#include "recorder/core/sys.h"

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int byte, size_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
	sys_copy(to, from, n);
	return to;
}

void *memset(void *to, int byte, size_t n) {
	sys_fill(to, (unsigned char)byte, n);
	return to;
}
