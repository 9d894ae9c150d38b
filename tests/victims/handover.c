// SPDX-License-Identifier: MIT

/**
 * Eight threads hand blocks to each other through shared places, free and realloc what others
 * allocated, and lose some on purpose: handover ROUNDS [none|inside|outside]
 *
 *   none      no signals
 *   inside    a timer interrupts threads anywhere, in the middle of malloc too; its handler
 *             allocates and frees. For an allocator that stands it (tests/tools/lifo.c)
 *   outside   the same handler, but between the calls only. For any allocator
 *
 * The truth, on stdout at the end, one line of numbers: allocations, allocated bytes, frees, lost
 * blocks, lost bytes of the threads; the same five of the handler. All of the threads' blocks come
 * from below `trade`, all of the handler's from below `interrupted`. Sizes are drawn afresh
 * for each block, so a block taken for another shows in the bytes.
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { N_THREADS = 8, N_PLACES = 64, LOSE_EVERY = 1000 };

// Each block begins with its own size: whoever gets it knows what it was
struct block {
	uint64_t size;
};

struct truth {
	_Atomic uint64_t allocations, allocated_bytes, frees, lost_blocks, lost_bytes;
};

static _Atomic(struct block *) places[N_PLACES];
static struct truth of_threads, of_handler;
static atomic_bool stops;
static long n_rounds;
static bool signals_inside, signals_outside;
static __thread uint32_t seed __attribute__((tls_model("initial-exec")));

static uint32_t draw(void) {
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

static size_t draw_size(void) {
	return 8 + draw() % 600;
}

static void count_block(struct truth *t, struct block *b, size_t size) {
	b->size = size;
	atomic_fetch_add(&t->allocations, 1);
	atomic_fetch_add(&t->allocated_bytes, size);
}

static void release(struct truth *t, struct block *b) {
	atomic_fetch_add(&t->frees, 1);
	free(b);
}

static void lose(struct truth *t, struct block *b) {
	atomic_fetch_add(&t->lost_blocks, 1);
	atomic_fetch_add(&t->lost_bytes, b->size);
}

static struct block *resize(struct block *b) {
	size_t size = draw_size();
	atomic_fetch_add(&of_threads.frees, 1);
	b = realloc(b, size);
	count_block(&of_threads, b, size);
	return b;
}

static struct block *produce(void) {
	size_t size = draw_size();
	struct block *b = malloc(size);
	count_block(&of_threads, b, size);
	return b;
}

/** A block of one's own against what lies in a place; that is freed, resized and put back, or lost. */
static void exchange_block(long round) {
	struct block *b = atomic_exchange(&places[draw() % N_PLACES], produce());
	if (b && draw() % 2) {
		b = atomic_exchange(&places[draw() % N_PLACES], resize(b));
	}
	if (b && round % LOSE_EVERY == 0) {
		lose(&of_threads, b);
	} else if (b) {
		release(&of_threads, b);
	}
}

static void *trade(void *arg) {
	seed = (uint32_t)(uintptr_t)arg * 7919 + 1;
	for (long i = 1; i <= n_rounds; i++) {
		exchange_block(i);
		if (signals_outside && draw() % 256 == 0) {
			raise(SIGUSR2);
		}
	}
	return NULL;
}

static void interrupted(int signal) {
	(void)signal;
	static _Atomic uint32_t n;
	uint32_t mine = atomic_fetch_add(&n, 1);
	size_t size = 8 + mine % 300;
	struct block *b = malloc(size);
	count_block(&of_handler, b, size);
	if (mine % 16 == 0) {
		lose(&of_handler, b);
	} else {
		release(&of_handler, b);
	}
}

/** Send the signal to all threads in turn, tens of thousands of times per second. */
static void *interrupt_all(void *tids) {
	for (unsigned i = 0; !atomic_load(&stops); i++) {
		pid_t tid = atomic_load(&((_Atomic pid_t *)tids)[i % N_THREADS]);
		syscall(SYS_tgkill, getpid(), tid, SIGUSR2);
		struct timespec pause = {0, 5000 + (long)(i * 2654435761u >> 16)};
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static _Atomic pid_t tids[N_THREADS];
static pthread_barrier_t barrier;

static void *start_trade(void *arg) {
	atomic_store(&tids[(uintptr_t)arg], (pid_t)syscall(SYS_gettid));
	pthread_barrier_wait(&barrier);
	void *result = trade(arg);
	pthread_barrier_wait(&barrier); // the tid stays good for as long as signals come
	return result;
}

static void print(struct truth *t) {
	printf("%lu %lu %lu %lu %lu ", t->allocations, t->allocated_bytes, t->frees, t->lost_blocks,
			t->lost_bytes);
}

int main(int argc, char **argv) {
	n_rounds = argc > 1 ? atol(argv[1]) : 1000;
	signals_inside = argc > 2 && strcmp(argv[2], "inside") == 0;
	signals_outside = argc > 2 && strcmp(argv[2], "outside") == 0;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	struct sigaction action = {.sa_handler = interrupted, .sa_flags = SA_RESTART};
	sigaction(SIGUSR2, &action, NULL);
	pthread_t threads[N_THREADS], interrupter;
	pthread_barrier_init(&barrier, NULL, N_THREADS + 1);
	for (uintptr_t i = 0; i < N_THREADS; i++) {
		pthread_create(&threads[i], NULL, start_trade, (void *)i);
	}
	pthread_barrier_wait(&barrier);
	if (signals_inside) {
		pthread_create(&interrupter, NULL, interrupt_all, (void *)tids);
	}
	pthread_barrier_wait(&barrier);
	atomic_store(&stops, true);
	if (signals_inside) {
		pthread_join(interrupter, NULL);
	}
	for (int i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < N_PLACES; i++) {
		struct block *b = places[i];
		if (b) {
			lose(&of_threads, b);
		}
	}
	print(&of_threads);
	print(&of_handler);
	printf("\n");
	return 0;
}
