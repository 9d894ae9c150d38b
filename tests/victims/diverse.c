// SPDX-License-Identifier: MIT
// Allocates so often below a stack of its own, 45 calls deep: each takes some thirty nodes of the trie.
#include <stdlib.h>
__attribute__((noinline)) static long leaf(void) {
	char *volatile p = malloc(40);
	free(p);
	return 1;
}
static long right(int depth, unsigned long path);
__attribute__((noinline)) static long left(int depth, unsigned long path) {
	return (depth == 0                ? leaf()
						   : path & 1 ? left(depth - 1, path >> 1)
									  : right(depth - 1, path >> 1)) +
			1;
}
__attribute__((noinline)) static long right(int depth, unsigned long path) {
	return (depth == 0                ? leaf()
						   : path & 1 ? left(depth - 1, path >> 1)
									  : right(depth - 1, path >> 1)) +
			2;
}
int main(int argc, char **argv) {
	unsigned long path = 88172645463325252;
	long sum = 0;
	for (int i = 0; i < atoi(argv[argc - 1]); i++) {
		path ^= path << 13;
		path ^= path >> 7;
		path ^= path << 17;
		sum += left(45, path);
	}
	return sum == 0;
}
