// SPDX-License-Identifier: MIT
/* Runs the parts of a loop in threads, the first in the calling one. */
#include "base/parallel.h"

#include "base/err.h"

#include <sched.h>
#include <signal.h>

struct part {
	void (*work)(void *user, unsigned part);
	void *user;
	unsigned number;
	bool has_thread;
	pthread_t thread;
};

unsigned parallel_cores(void) {
	cpu_set_t cores;
	return sched_getaffinity(0, sizeof cores, &cores) == 0 ? (unsigned)CPU_COUNT(&cores) : 1;
}

unsigned parallel_parts(uint64_t work, uint64_t least) {
	uint64_t n = work / (least ? least : 1);
	if (n < 2) {
		return 1;
	}
	unsigned n_cores = parallel_cores();
	n = n < n_cores ? n : n_cores;
	return n < PARALLEL_MOST ? (unsigned)n : PARALLEL_MOST;
}

static void *run(void *user) {
	const struct part *p = user;
	p->work(p->user, p->number);
	return NULL;
}

/** Signals are the caller's: the threads block all. */
static void start(struct part *parts, unsigned n) {
	sigset_t all, before;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned i = 0; i < n; i++) {
		parts[i].has_thread = pthread_create(&parts[i].thread, NULL, run, &parts[i]) == 0;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void parallel_run(unsigned n_parts, void (*work)(void *user, unsigned part), void *user) {
	struct part parts[PARALLEL_MOST];
	check(n_parts >= 1 && n_parts <= PARALLEL_MOST);
	unsigned n_others = n_parts - 1;
	for (unsigned i = 0; i < n_others; i++) {
		parts[i] = (struct part){.work = work, .user = user, .number = i};
	}
	if (n_others) {
		start(parts, n_others);
	}
	work(user, n_others);
	for (unsigned i = 0; i < n_others; i++) {
		if (parts[i].has_thread) {
			(void)pthread_join(parts[i].thread, NULL);
		} else {
			work(user, i);
		}
	}
}
