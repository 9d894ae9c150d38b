// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

int plain_c(int n);
int _Zebra(int n);

static inline int step(int n, int k) {
	return n * 31 + k;
}

static int walk(const char *text, int n) {
	int hash = n;
	for (const char *p = text; *p; p++) {
		hash = step(hash, *p);
	}
	return hash;
}

static __attribute__((noinline)) int rarely(int n) {
	if (__builtin_expect(n > 100, 0)) {
		abort();
	}
	return walk("rarely", n);
}

int plain_c(int n) {
	char *text = malloc((size_t)n + 16);
	if (!text) {
		return 0;
	}
	memset(text, 'x', (size_t)n);
	text[n] = 0;
	int hash = walk(text, n) + rarely(n);
	free(text);
	return hash;
}

/* Looks like a mangled name and is none */
int _Zebra(int n) {
	return step(n, 7);
}
