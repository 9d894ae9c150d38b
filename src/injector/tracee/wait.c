// SPDX-License-Identifier: MIT

/* Polling: waitpid has no time limit, and a signal to break it off could be lost. */

#include "injector/tracee/wait.h"

#include "sys/clock.h"

#include <sched.h>
#include <sys/wait.h>
#include <time.h>

void tracee_pause(unsigned n) {
	if (n > 50) {
		(void)nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	} else {
		(void)sched_yield();
	}
}

enum tracee_wait tracee_wait_for(pid_t tid, int *status, uint64_t until_ns) {
	for (unsigned n = 0;; n++) {
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);
		if (got < 0 || (got > 0 && (WIFEXITED(*status) || WIFSIGNALED(*status)))) {
			return WAIT_GONE;
		}
		if (got > 0) {
			return WAIT_STOPPED;
		}
		if (clock_now_ns() > until_ns) {
			return WAIT_LATE;
		}
		tracee_pause(n);
	}
}
