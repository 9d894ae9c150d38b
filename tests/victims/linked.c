// SPDX-License-Identifier: MIT

/*
 * What programs do with memory, however they are linked: linked KIND
 *
 *   plain       `plain`: 10 each of malloc, calloc, realloc of nothing, and strdup; 20 are freed
 *   overflow    `overflow`: 10 times calloc, reallocarray of nothing and of a block, which stays, all too large by far;
 *               10 blocks of 30 bytes are never freed
 *   threads     8 threads, each `in_thread`: 50 blocks of 100 bytes, 40 of which it frees; it ends
 *   coroutines  20 coroutines on stacks of their own take turns, in `in_coroutine`: each allocates 10 blocks of 100
 *               bytes at different depths, of which main frees 5 in `end_coroutine`
 *   both        8 threads with 20 coroutines each
 *
 * Says "done".
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COROUTINES = 20, BLOCKS = 10, STACK_BYTES = 64 << 10, THREADS = 8 };

void *kept[16 * THREADS * COROUTINES * BLOCKS];
volatile int n_kept;

static void keep(void *block) {
	kept[__atomic_fetch_add(&n_kept, 1, __ATOMIC_RELAXED)] = block;
}

// ---- without threads

static void plain(void) {
	void *blocks[40];
	for (int i = 0; i < 10; i++) {
		blocks[i] = malloc(20);
		blocks[10 + i] = strdup("nineteen characters");
		blocks[20 + i] = calloc(4, 5);
		blocks[30 + i] = realloc(NULL, 20);
	}
	for (int i = 0; i < 20; i++) {
		free(blocks[i]);
		keep(blocks[20 + i]);
	}
}

static void overflow(void) {
	volatile size_t huge = SIZE_MAX / 2;
	for (int i = 0; i < 10; i++) {
		void *block = malloc(30);
		if (calloc(huge, 3) || reallocarray(NULL, huge, 3) || reallocarray(block, huge, 3)) {
			abort();
		}
		keep(block);
	}
}

// ---- coroutines

struct coroutine {
	void *sp, *caller_sp;
	void **blocks;
	char *stack;
};

/** Keep the callee's registers on the stack that is left, and go on with the other. */
__attribute__((naked, noinline)) static void swap(void **left, void *entered) {
	(void)left, (void)entered;
	__asm__("push %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
			"mov %rsp, (%rdi)\n\t"
			"mov %rsi, %rsp\n\t"
			"pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\t"
			"ret");
}

static __attribute__((noinline)) void *at_depth(int depth) {
	void *block = depth > 0 ? at_depth(depth - 1) : malloc(100);
	__asm__ volatile("" : : : "memory");
	return block;
}

static void in_coroutine(struct coroutine *c) {
	for (int i = 0; i < BLOCKS; i++) {
		c->blocks[i] = at_depth(i);
		swap(&c->sp, c->caller_sp);
	}
}

/** The first that a new stack goes to, with its coroutine in %rbx; nobody called it. */
__attribute__((naked, used)) static void begin_coroutine(void) {
	__asm__(".cfi_undefined %rip\n\t"
			"mov %rbx, %rdi\n\t"
			"call *%rbp\n\t"
			"ud2");
}

static void end_coroutine(struct coroutine *c) {
	for (int i = 0; i < BLOCKS; i++) {
		if (i % 2) {
			free(c->blocks[i]);
		} else {
			keep(c->blocks[i]);
		}
	}
	free(c->stack);
}

static void coroutines(void) {
	struct coroutine all[COROUTINES];
	void *blocks[COROUTINES][BLOCKS];
	for (int i = 0; i < COROUTINES; i++) {
		struct coroutine *c = &all[i];
		c->stack = malloc(STACK_BYTES);
		c->blocks = blocks[i];
		// As swap leaves it: r15 to r12, rbx, rbp, where to go on; aligned as at a function's beginning
		void **sp = (void **)((uintptr_t)(c->stack + STACK_BYTES - 64) & ~(uintptr_t)63);
		*--sp = (void *)begin_coroutine;
		*--sp = (void *)in_coroutine;
		*--sp = c;
		sp -= 4;
		c->sp = sp;
	}
	for (int turn = 0; turn < BLOCKS; turn++) {
		for (int i = 0; i < COROUTINES; i++) {
			swap(&all[i].caller_sp, all[i].sp);
		}
	}
	for (int i = 0; i < COROUTINES; i++) {
		end_coroutine(&all[i]);
	}
}

// ---- threads

static void in_thread(void) {
	void *blocks[50];
	for (int i = 0; i < 50; i++) {
		blocks[i] = malloc(100);
	}
	for (int i = 0; i < 50; i++) {
		if (i < 40) {
			free(blocks[i]);
		} else {
			keep(blocks[i]);
		}
	}
}

static void *run(void *work) {
	((void (*)(void))work)();
	return NULL;
}

static void threads(void (*work)(void)) {
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) {
		pthread_create(&threads[i], NULL, run, (void *)work);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
}

int main(int argc, char **argv) {
	const char *kind = argc > 1 ? argv[1] : "";
	if (strcmp(kind, "plain") == 0) {
		plain();
	} else if (strcmp(kind, "overflow") == 0) {
		overflow();
	} else if (strcmp(kind, "threads") == 0) {
		threads(in_thread);
	} else if (strcmp(kind, "coroutines") == 0) {
		coroutines();
	} else if (strcmp(kind, "both") == 0) {
		threads(coroutines);
	}
	(void)!write(1, "done\n", 5);
	return 0;
}
