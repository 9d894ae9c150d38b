// SPDX-License-Identifier: MIT

/** A statically linked program, which no library gets into: stands_alone MS. Then it returns 7. */

#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
	void *volatile block = malloc(100);
	usleep(argc > 1 ? (unsigned)atoi(argv[1]) * 1000 : 0);
	free(block);
	return 7;
}
