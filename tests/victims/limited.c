// SPDX-License-Identifier: MIT

/**
 * Limits its own address space to MB megabytes, and then needs half of that: limited MB N. Makes N
 * blocks of 10 bytes.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void *volatile kept;

int main(int argc, char **argv) {
	rlim_t bytes = (rlim_t)atoi(argv[1]) << 20;
	struct rlimit limit = {bytes, bytes};
	if (argc < 3 || setrlimit(RLIMIT_AS, &limit) != 0) {
		perror("RLIMIT_AS");
		return 99;
	}
	struct rlimit now;
	getrlimit(RLIMIT_AS, &now);
	void *half = malloc(bytes / 2);
	if (half == NULL || now.rlim_cur != bytes) {
		perror("half of the address space");
		return 99;
	}
	memset(half, 1, 4096);
	free(half);
	for (int i = atoi(argv[2]); i > 0; i--) {
		kept = malloc(10);
	}
	return 0;
}
