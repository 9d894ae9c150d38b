// SPDX-License-Identifier: MIT

/**
 * Signals at random moments: interrupted MODE SECONDS FILE
 *   handler    a handler allocates and frees
 *   altstack   the same on a signal stack of its own
 *   stack-array   the signal stack is an array on the main stack
 *   jump       every third handler jumps out by siglongjmp, to below the loop that works
 *   reenter    handlers interrupt handlers
 * At the end it writes to FILE: allocations, frees, signals, jumps, and how many of the calls returned
 * at least (a jump may come between the return and its count).
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

static _Atomic uint64_t n_allocations, n_frees, n_signals, n_jumps, n_returned;
static _Atomic uint64_t next_address = 0x100000000000;
static sigjmp_buf back;
static timer_t clock_of_signals;
static volatile sig_atomic_t jumps, is_ready, is_over, reenters;

/** A block that nobody else ever had. */
static void pair(void) {
	uint64_t at = atomic_fetch_add(&next_address, 64);
	n_allocations++;
	heaptrack_report_alloc((void *)at, 48);
	n_returned++;
	n_frees++;
	heaptrack_report_free((void *)at);
	n_returned++;
}

/** The next signal comes 5 to 60 us after this one is done, so that the program gets on. */
static void order_next(void) {
	static uint64_t random = 1;
	random = random * 6364136223846793005u + 1442695040888963407u;
	const struct itimerspec soon = {.it_value.tv_nsec = 5000 + (long)((random >> 40) % 55000)};
	timer_settime(clock_of_signals, 0, is_over ? &(struct itimerspec){0} : &soon, NULL);
}

static void on_signal(int number) {
	n_signals++;
	for (int i = 0; i < 3; i++) {
		pair();
	}
	if (reenters && number == SIGPROF) {
		raise(SIGUSR1);
	}
	if (number == SIGPROF) {
		order_next();
	}
	if (jumps && is_ready && n_signals % 3 == 0) {
		n_jumps++;
		siglongjmp(back, 1);
	}
}

static void catch (int number, int flags) {
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

static void on_time(int number) {
	(void)number;
	jumps = 0;
	is_over = 1;
}

static void work(void) {
	// The mask is not restored by the jump: the next signal would nest in it, and so on
	(void)sigsetjmp(back, 0);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	is_ready = 1;
	for (int i = 0; !is_over; i++) {
		deeper(i % 7);
	}
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
	catch (SIGPROF, flags);
	catch (SIGUSR1, flags);

	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	timer_create(CLOCK_MONOTONIC, &how, &clock_of_signals);
	order_next();
	struct sigaction last = {.sa_handler = on_time};
	sigfillset(&last.sa_mask); // nobody jumps out of this one
	sigaction(SIGALRM, &last, NULL);
	alarm((unsigned)atoi(argv[2]));
	work();
	timer_delete(clock_of_signals);

	FILE *f = fopen(argc > 3 ? argv[3] : "/dev/stdout", "w");
	fprintf(f, "%llu %llu %llu %llu %llu\n", (unsigned long long)n_allocations,
			(unsigned long long)n_frees, (unsigned long long)n_signals, (unsigned long long)n_jumps,
			(unsigned long long)n_returned);
	fclose(f);
	return 0;
}
