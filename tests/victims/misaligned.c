// SPDX-License-Identifier: MIT

/*
 * Calls the C library as hand-written assembly does, with a stack that is eight bytes off, which it stands
 * once it has allocated something. FIRST (malloc, calloc, realloc, free, posix_memalign, aligned_alloc) is
 * called so before all others. Then main and a thread make 100 rounds each, of five blocks, one of which realloc
 * moves; all but one of 640 bytes are freed.
 * With "wait" before FIRST it says "ready" and waits for SIGUSR1; then says "done" and waits for SIGTERM.
 */

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uintptr_t word;

/** function(a, b, c), with the stack off. */
static __attribute__((naked, noinline)) word off(const void *function, word a, word b, word c) {
	(void)function, (void)a, (void)b, (void)c;
	__asm__("push %rbp\n\t"
			"mov %rsp, %rbp\n\t"
			"mov %rdi, %rax\n\t"
			"mov %rsi, %rdi\n\t"
			"mov %rdx, %rsi\n\t"
			"mov %rcx, %rdx\n\t"
			"and $-16, %rsp\n\t"
			"sub $8, %rsp\n\t"
			"call *%rax\n\t"
			"leave\n\t"
			"ret");
}

void *kept[100], *first_block;

static void *rounds(void *nothing) {
	void *at = NULL;
	free(malloc(10)); // a thread's first call is more than glibc stands
	for (int i = 0; i < 100; i++) {
		word a = off(malloc, 100, 0, 0);
		word b = off(calloc, 10, 10, 0);
		a = off(realloc, a, 2000, 0);
		off(posix_memalign, (word)&at, 64, 1000);
		word d = off(aligned_alloc, 64, 640, 0);
		kept[i] = memset((void *)off(malloc, 640, 0, 0), 1, 640);
		const word freed[] = {a, b, (word)at, d};
		for (unsigned k = 0; k < sizeof freed / sizeof *freed; k++) {
			off(free, freed[k], 0, 0);
		}
	}
	return nothing;
}

static word first_of(const char *name) {
	void *at = NULL;
	if (strcmp(name, "malloc") == 0) {
		return off(malloc, 10, 0, 0);
	}
	if (strcmp(name, "calloc") == 0) {
		return off(calloc, 10, 1, 0);
	}
	if (strcmp(name, "realloc") == 0) {
		return off(realloc, 0, 10, 0);
	}
	if (strcmp(name, "posix_memalign") == 0) {
		off(posix_memalign, (word)&at, 16, 10);
		return (word)at;
	}
	if (strcmp(name, "aligned_alloc") == 0) {
		return off(aligned_alloc, 16, 16, 0);
	}
	return (word)first_block; // free
}

static void nothing(int signal) {
	(void)signal;
}

/** Say "ready" and wait for SIGUSR1, blocked but for the wait: one that comes before it is not lost. */
static void wait_for_signal(void) {
	sigset_t usr1, others;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, &others);
	signal(SIGUSR1, nothing);
	(void)!write(1, "ready\n", 6);
	sigsuspend(&others);
	sigprocmask(SIG_SETMASK, &others, NULL);
}

int main(int argc, char **argv) {
	int waits = argc > 2;
	pthread_t thread;
	if (waits) {
		wait_for_signal();
	}
	first_block = malloc(10);
	off(free, first_of(argv[argc - 1]), 0, 0);
	rounds(NULL);
	pthread_create(&thread, NULL, rounds, NULL);
	pthread_join(thread, NULL);
	(void)!write(1, "done\n", 5);
	if (waits) {
		pause();
	}
	return 0;
}
