// SPDX-License-Identifier: MIT

/**
 * A program of which all is known: steady N [STATUS]
 *
 * allocate_blocks makes N blocks of 100 bytes and frees all but every hundredth. Prints "steady"
 * and ends with STATUS.
 */

#include <stdio.h>
#include <stdlib.h>

static void *volatile kept;

static void allocate_blocks(long n) {
	for (long i = 0; i < n; i++) {
		kept = malloc(100);
		if (i % 100) {
			free(kept);
		}
	}
}

int main(int argc, char **argv) {
	allocate_blocks(argc > 1 ? atol(argv[1]) : 1000);
	puts("steady");
	return argc > 2 ? atoi(argv[2]) : 0;
}
