// SPDX-License-Identifier: MIT

/*
 * Makes a known number of blocks, half of them before main:
 *
 *   once [wait]
 *
 * make() is called 50 times with 1000 bytes by a constructor and 50 times with 2000 by main, which
 * frees 40 of the first. With "wait" it then says "ready" and waits for SIGTERM. Exit status 7.
 */

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 100 };
static void *kept[N];

void *make(size_t n);

__attribute__((noinline)) void *make(size_t n) {
	void *at = malloc(n);
	__asm__ volatile("" : : : "memory"); // no tail call
	return at;
}

__attribute__((constructor)) static void early(void) {
	for (int i = 0; i < N / 2; i++) {
		kept[i] = make(1000);
	}
}

static void end(int signal) {
	(void)signal;
	_exit(7);
}

int main(int argc, char **argv) {
	(void)argv;
	for (int i = N / 2; i < N; i++) {
		kept[i] = make(2000);
	}
	for (int i = 0; i < 40; i++) {
		free(kept[i]);
	}
	if (argc > 1) {
		(void)signal(SIGTERM, end);
		(void)!write(1, "ready\n", 6);
		pause();
	}
	return 7;
}
