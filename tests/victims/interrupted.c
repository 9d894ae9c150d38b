// SPDX-License-Identifier: MIT

/**
 * Signals at random moments: interrupted MODE SECONDS FILE
 *   handler    a handler allocates and frees
 *   altstack   the same on a signal stack of its own
 *   stack-array   the signal stack is an array on the main stack
 *   jump       every third handler jumps out by siglongjmp, to below the loop that works
 *   reenter    handlers interrupt handlers
 * At the end it writes to FILE: allocations, frees, signals, jumps.
 *
 * glibc's malloc may not be called from a handler that interrupted it, so the handler uses an
 * allocator that may: the program's own names for heaptrack_malloc and heaptrack_free.
 */

#include "heaptrack_api.h"

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t n_allocations, n_frees, n_signals, n_jumps;
static _Atomic uint64_t next_address = 0x100000000000;
static sigjmp_buf back;
static volatile sig_atomic_t jumps, is_ready, reenters;

/** A block that nobody else ever had. */
static void pair(void) {
	uint64_t at = atomic_fetch_add(&next_address, 64);
	n_allocations++;
	heaptrack_report_alloc((void *)at, 48);
	n_frees++;
	heaptrack_report_free((void *)at);
}

static void on_signal(int number) {
	n_signals++;
	for (int i = 0; i < 3; i++) {
		pair();
	}
	if (reenters && number == SIGPROF) {
		raise(SIGUSR1);
	}
	if (jumps && is_ready && n_signals % 3 == 0) {
		n_jumps++;
		siglongjmp(back, 1);
	}
}

static void catch(int number, int flags) {
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
	sigaction(number, &action, NULL);
}

static __attribute__((noinline)) void deeper(int depth) {
	volatile char frame[64];
	frame[0] = (char)depth;
	if (depth > 0) {
		deeper(depth - 1);
	} else {
		pair();
	}
	frame[1] = frame[0];
}

static void work(double seconds) {
	struct timespec start, now;
	clock_gettime(CLOCK_MONOTONIC, &start);
	// The mask is not restored by the jump: the next signal would nest in it, and so on
	(void)sigsetjmp(back, 0);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	is_ready = 1;
	do {
		for (int i = 0; i < 50; i++) {
			deeper(i % 7);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
			seconds);
}

int main(int argc, char **argv) {
	const char *mode = argv[1];
	char on_stack[64 << 10];
	int flags = SA_RESTART;
	stack_t stack = {.ss_size = sizeof on_stack};
	if (strcmp(mode, "altstack") == 0 || strcmp(mode, "stack-array") == 0) {
		stack.ss_sp = strcmp(mode, "altstack") == 0 ? malloc(stack.ss_size) : on_stack;
		sigaltstack(&stack, NULL);
		flags |= SA_ONSTACK;
	}
	jumps = strcmp(mode, "jump") == 0;
	reenters = strcmp(mode, "reenter") == 0;
	catch(SIGPROF, flags);
	catch(SIGUSR1, flags);

	timer_t clock;
	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	struct itimerspec often = {.it_interval = {0, 37000}, .it_value = {0, 37000}};
	timer_create(CLOCK_MONOTONIC, &how, &clock);
	timer_settime(clock, 0, &often, NULL);
	work(atof(argv[2]));
	timer_delete(clock);
	jumps = 0;

	FILE *f = fopen(argc > 3 ? argv[3] : "/dev/stdout", "w");
	fprintf(f, "%llu %llu %llu %llu\n", (unsigned long long)n_allocations,
			(unsigned long long)n_frees, (unsigned long long)n_signals,
			(unsigned long long)n_jumps);
	fclose(f);
	return 0;
}
