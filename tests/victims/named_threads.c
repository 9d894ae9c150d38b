// SPDX-License-Identifier: MIT

/*
 * Threads that live for well under a millisecond and have a name before their first allocation: 40 rounds of three,
 * one after the other. "by-prctl-N" and "by-pthread-N" give it to themselves, "by-other-N" is given it by
 * main and waits for that. N, of the round, is 0 to 39. Each allocates N + 1 blocks of 100 bytes and frees all but one.
 * With an argument: waits for SIGUSR1 first, and after it has said "done" for SIGTERM.
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { ROUNDS = 40, BYTES = 100 };

struct order {
	unsigned round;
	enum { BY_PRCTL, BY_PTHREAD, BY_OTHER } way;
	int go[2];
};

void *kept[3 * ROUNDS];

static __attribute__((noinline)) void *one_block(void) {
	return memset(malloc(BYTES), 1, BYTES);
}

static void *work(void *argument) {
	const struct order *order = argument;
	char name[16];
	if (order->way == BY_PRCTL) {
		snprintf(name, sizeof name, "by-prctl-%u", order->round);
		prctl(PR_SET_NAME, name);
	} else if (order->way == BY_PTHREAD) {
		snprintf(name, sizeof name, "by-pthread-%u", order->round);
		pthread_setname_np(pthread_self(), name);
	} else if (read(order->go[0], name, 1) != 1) {
		abort();
	}
	for (unsigned i = 0; i <= order->round; i++) {
		void *block = one_block();
		if (i == 0) {
			kept[3 * order->round + order->way] = block;
		} else {
			free(block);
		}
	}
	return NULL;
}

static void run(struct order *order) {
	pthread_t thread;
	char name[16];
	if (pthread_create(&thread, NULL, work, order) != 0) {
		abort();
	}
	if (order->way == BY_OTHER) {
		snprintf(name, sizeof name, "by-other-%u", order->round);
		pthread_setname_np(thread, name);
		if (write(order->go[1], "", 1) != 1) {
			abort();
		}
	}
	pthread_join(thread, NULL);
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
	struct order order;
	(void)argv;
	if (pipe(order.go) != 0) {
		return 1;
	}
	if (argc > 1) {
		wait_for_signal();
	}
	for (order.round = 0; order.round < ROUNDS; order.round++) {
		for (order.way = BY_PRCTL; order.way <= BY_OTHER; order.way++) {
			run(&order);
		}
	}
	(void)!write(1, "done\n", 5);
	if (argc > 1) {
		pause();
	}
	return 0;
}
