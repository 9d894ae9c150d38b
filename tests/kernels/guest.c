// SPDX-License-Identifier: MIT

/*
 * What guest.sh records besides the programs of tests/attach:
 *
 *   guest peak      100 blocks of 10,000 bytes, all freed, and 50 that stay: the peak is 1,000,000
 *   guest eat MB    touches so much memory, megabyte by megabyte
 */

#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 100, BYTES = 10000, KEPT = 50, MB = 1 << 20 };
static char *blocks[BLOCKS];

__attribute__((noinline)) char *make_block(size_t n);

char *make_block(size_t n) {
	char *at = malloc(n);
	__asm__ volatile("" : : : "memory"); // no tail call
	return at;
}

int main(int argc, char **argv) {
	if (argc > 2 && strcmp(argv[1], "eat") == 0) {
		for (int i = atoi(argv[2]); i > 0; i--) {
			(void)memset(make_block(MB), 1, MB);
		}
		return 0;
	}
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = make_block(BYTES);
	}
	for (int i = 0; i < BLOCKS; i++) {
		free(blocks[i]);
	}
	for (int i = 0; i < KEPT; i++) {
		blocks[i] = make_block(BYTES);
	}
	return 7;
}
