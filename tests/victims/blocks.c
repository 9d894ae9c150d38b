// SPDX-License-Identifier: MIT

/** Prints where each of many blocks lies and how large it is usable: blocks [ROUNDS]. */

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_LIVE = 64, SIZES = 5000 };

static uint32_t state = 1;

static uint32_t random_below(uint32_t n) {
	state = state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)state * n >> 32);
}

static void *allocate(uint32_t how, size_t size) {
	void *block = NULL;
	switch (how) {
	case 0: return calloc(1, size);
	case 1: return aligned_alloc(64, (size + 63) & ~(size_t)63);
	case 2: return posix_memalign(&block, 4096, size) == 0 ? block : NULL;
	case 3: return memalign(256, size);
	case 4: return realloc(malloc(size / 2 + 1), size);
	default: return malloc(size);
	}
}

int main(int argc, char **argv) {
	static char output[1 << 16];
	static void *live[N_LIVE];
	setvbuf(stdout, output, _IOFBF, sizeof output); // stdio shall not allocate
	int rounds = argc > 1 ? atoi(argv[1]) : 2000;
	for (int i = 0; i < rounds; i++) {
		void **place = &live[random_below(N_LIVE)];
		free(*place);
		*place = allocate(random_below(8), 1 + random_below(SIZES));
		printf("%p %zu\n", *place, malloc_usable_size(*place));
	}
	return 0;
}
