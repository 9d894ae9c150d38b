// SPDX-License-Identifier: MIT

/*
 * What guest.sh records besides the programs of tests/attach:
 *
 *   guest peak          100 blocks of 10,000 bytes, all freed, and 50 that stay: the peak is 1,000,000;
 *                       creates a memfd, and names two pages
 *   guest eat MB        touches so much memory, megabyte by megabyte
 *   guest nibble FILE   joins a control group by its cgroup.procs, and touches as much in blocks as in
 *                       mappings, slowly, until it is killed
 */

#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

enum { BLOCKS = 100, BYTES = 10000, KEPT = 50, MB = 1 << 20, NIBBLE = 100 << 10 };
static char *blocks[BLOCKS];

__attribute__((noinline)) char *make_block(size_t n);
__attribute__((noinline)) char *map_block(size_t n);

char *make_block(size_t n) {
	char *at = malloc(n);
	__asm__ volatile("" : : : "memory"); // no tail call
	return at;
}

char *map_block(size_t n) {
	char *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__asm__ volatile("" : : : "memory"); // no tail call
	return at;
}

static void nibble(const char *group) {
	FILE *f = fopen(group, "w");
	if (!f || fputs("0", f) < 0 || fclose(f) != 0) {
		_exit(1);
	}
	for (;;) {
		(void)memset(make_block(NIBBLE), 1, NIBBLE);
		(void)memset(map_block(NIBBLE), 1, NIBBLE);
		usleep(5000);
	}
}

int main(int argc, char **argv) {
	if (argc > 2 && strcmp(argv[1], "eat") == 0) {
		for (int i = atoi(argv[2]); i > 0; i--) {
			(void)memset(make_block(MB), 1, MB);
		}
		return 0;
	}
	if (argc > 2 && strcmp(argv[1], "nibble") == 0) {
		nibble(argv[2]);
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
	(void)prctl(PR_SET_VMA, 0UL, map_block(8192), 8192UL, "guest"); // older kernels refuse
	return memfd_create("guest", 0) < 0 ? 1 : 7;
}
