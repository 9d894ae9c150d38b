// SPDX-License-Identifier: MIT

/**
 * Threads whose every allocation and release has its place in one order, which the program itself
 * establishes. So it knows its peak to the byte, and says it: one line, the bytes of `hold` alive at
 * most. All else is allocated before and after.
 *
 *   ordered lock|atomic|pipe|queue|join|phase|migrate|pin THREADS TURNS [wait|forbid|forbid-wait|forbid-midway|wait-forbid]
 *     lock      each turn: lock; allocate; unlock; yield; lock; release; unlock
 *     atomic    the same with a spin lock
 *     pipe      a token goes round through pipes: who has it allocates, or releases what it has
 *     queue     half of the threads allocate and put into a queue, the others take out and release
 *     join      one thread after the other, each started when the one before has been joined
 *     phase     one thread at a time, each turn some ms long, in which no other has a thing to do: it
 *               releases what the one before has left, allocates and releases, and leaves one block
 *     migrate   as lock, each thread on another processor after each turn
 *     pin       as lock, each thread on a processor of its own
 *   wait: begin at SIGUSR1, after a line that says so
 *   forbid: nobody may read the time stamp counter. forbid-wait: both. forbid-midway: a thread in the
 *   midst of its turns
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MAX_THREADS = 256, MAX_BYTES = 100000, QUEUE = 64 };

static const char *way, *and_also = "";
static unsigned n_threads, n_turns;
static uint64_t live, peak;
static size_t sizes[MAX_THREADS];
static void *blocks[MAX_THREADS];
static uint64_t randoms[MAX_THREADS];
static int pipes[MAX_THREADS][2];
static pthread_barrier_t barrier;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_flag spin = ATOMIC_FLAG_INIT;

static struct {
	void *block;
	size_t size;
} queue[QUEUE];
static unsigned n_queued, n_producing;

static void lock(void) {
	if (strcmp(way, "atomic") != 0) {
		pthread_mutex_lock(&mutex);
		return;
	}
	while (atomic_flag_test_and_set_explicit(&spin, memory_order_acquire)) {
		sched_yield();
	}
}

static void unlock(void) {
	if (strcmp(way, "atomic") != 0) {
		pthread_mutex_unlock(&mutex);
		return;
	}
	atomic_flag_clear_explicit(&spin, memory_order_release);
}

__attribute__((noinline)) static void *hold(unsigned i) {
	randoms[i] = randoms[i] * 6364136223846793005u + 1442695040888963407u;
	sizes[i] = 1 + (randoms[i] >> 33) % MAX_BYTES;
	live += sizes[i];
	peak = live > peak ? live : peak;
	void *volatile block = malloc(sizes[i]);
	return block;
}

static void release(void *block, size_t size) {
	free(block);
	live -= size;
}

static void take_processor(unsigned n) {
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(n % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
	(void)sched_setaffinity(0, sizeof set, &set);
}

static void take_turn(unsigned i) {
	lock();
	blocks[i] = hold(i);
	unlock();
	sched_yield();
	lock();
	release(blocks[i], sizes[i]);
	unlock();
}

static void take_phase(unsigned i) {
	enum { PHASE_TURNS = 10000 };
	lock();
	for (unsigned k = 0; k < PHASE_TURNS; k++) {
		if (queue[0].block != NULL) {
			release(queue[0].block, queue[0].size);
		}
		queue[0].block = hold(i);
		queue[0].size = sizes[i];
	}
	unlock();
	sched_yield();
}

static void pass_token(unsigned i) {
	char token;
	if (read(pipes[i][0], &token, 1) != 1) {
		abort();
	}
	if (blocks[i] != NULL) {
		release(blocks[i], sizes[i]);
		blocks[i] = NULL;
	} else {
		blocks[i] = hold(i);
	}
	if (write(pipes[(i + 1) % n_threads][1], &token, 1) != 1) {
		abort();
	}
}

static void produce(unsigned i) {
	lock();
	while (n_queued == QUEUE) {
		pthread_cond_wait(&changed, &mutex);
	}
	queue[n_queued].block = hold(i);
	queue[n_queued++].size = sizes[i];
	pthread_cond_broadcast(&changed);
	unlock();
}

/** False: there will be no more. */
static bool consume(void) {
	lock();
	while (n_queued == 0 && n_producing > 0) {
		pthread_cond_wait(&changed, &mutex);
	}
	bool has_one = n_queued > 0;
	if (has_one) {
		n_queued--;
		release(queue[n_queued].block, queue[n_queued].size);
		pthread_cond_broadcast(&changed);
	}
	unlock();
	return has_one;
}

static void queue_up(unsigned i) {
	if (i % 2 == 1) {
		while (consume()) {}
		return;
	}
	for (unsigned turn = 0; turn < n_turns; turn++) {
		produce(i);
	}
	lock();
	n_producing--;
	pthread_cond_broadcast(&changed);
	unlock();
}

static void *work(void *argument) {
	unsigned i = (unsigned)(uintptr_t)argument;
	free(malloc(1)); // what a thread's first call allocates for itself
	pthread_barrier_wait(&barrier);
	if (strcmp(way, "queue") == 0) {
		queue_up(i);
	}
	for (unsigned turn = 0; strcmp(way, "queue") != 0 && turn < n_turns; turn++) {
		if (strcmp(way, "pin") == 0 || strcmp(way, "migrate") == 0) {
			take_processor(i + (strcmp(way, "pin") == 0 ? 0 : turn));
		}
		if (i == 0 && turn == n_turns / 2 &&
				(strcmp(and_also, "forbid-midway") == 0 || strcmp(and_also, "wait-forbid") == 0)) {
			(void)prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
		}
		if (strcmp(way, "phase") == 0) {
			take_phase(i);
		} else if (strcmp(way, "pipe") == 0) {
			pass_token(i);
		} else {
			take_turn(i);
		}
	}
	pthread_barrier_wait(&barrier);
	return NULL;
}

/** It holds one more block, and releases that of the one but one before. */
static void *work_alone(void *argument) {
	unsigned i = (unsigned)(uintptr_t)argument;
	unsigned at = i % 3;
	if (blocks[at] != NULL) {
		release(blocks[at], sizes[at]);
	}
	blocks[at] = hold(at);
	return NULL;
}

static void run_one_by_one(void) {
	for (unsigned i = 0; i < n_turns; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, work_alone, (void *)(uintptr_t)i);
		pthread_join(thread, NULL);
	}
}

static void run_all(void) {
	pthread_t threads[MAX_THREADS];
	for (unsigned i = 0; i < n_threads; i++) {
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
	}
	if (write(pipes[0][1], "t", 1) != 1) {
		abort();
	}
	for (unsigned i = 0; i < n_threads; i++) {
		pthread_join(threads[i], NULL);
	}
}

static void wait_for_signal(void) {
	sigset_t set;
	int number;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	(void)puts("ready");
	(void)fflush(stdout);
	(void)sigwait(&set, &number);
}

int main(int argc, char **argv) {
	if (argc < 4) {
		return 2;
	}
	way = argv[1];
	n_threads = (unsigned)atoi(argv[2]);
	n_turns = (unsigned)atoi(argv[3]);
	and_also = argc > 4 ? argv[4] : "";
	n_producing = (n_threads + 1) / 2;
	for (unsigned i = 0; i < n_threads; i++) {
		randoms[i] = i + 1;
		if (pipe(pipes[i]) != 0) {
			return 1;
		}
	}
	pthread_barrier_init(&barrier, NULL, n_threads);
	if (strcmp(and_also, "forbid") == 0 || strcmp(and_also, "forbid-wait") == 0) {
		(void)prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	}
	if (strstr(and_also, "wait")) {
		wait_for_signal();
	}
	if (strcmp(way, "join") == 0) {
		run_one_by_one();
	} else {
		run_all();
	}
	(void)printf("%llu\n", (unsigned long long)peak);
	return 0;
}
