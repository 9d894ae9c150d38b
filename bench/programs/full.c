// SPDX-License-Identifier: MIT
/** Holds so many MB in blocks of 200 bytes: full MB. Says "ready" and waits for the end of its input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 200 };

int main(int argc, char **argv) {
	size_t n = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000) * 1000000 / BLOCK;
	void **last = NULL;
	for (size_t i = 0; i < n; i++) {
		void **block = malloc(BLOCK);
		if (!block) {
			return 1;
		}
		memset(block, (int)i, BLOCK);
		*block = (void *)last;
		last = block;
	}
	puts("ready");
	fflush(stdout);
	return getchar() == EOF ? 0 : 1;
}
