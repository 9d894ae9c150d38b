// SPDX-License-Identifier: MIT
#include <stddef.h>

// clang copies and clears structs by these two whatever it is told, and the recorder calls nothing of
// the C library's that could be the program's own. Linked in where that compiler builds; hidden.

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int byte, size_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
	for (size_t i = 0; i < n; i++) {
		((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
	}
	return to;
}

void *memset(void *to, int byte, size_t n) {
	for (size_t i = 0; i < n; i++) {
		((unsigned char *)to)[i] = (unsigned char)byte;
	}
	return to;
}
