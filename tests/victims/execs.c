// SPDX-License-Identifier: MIT

/*
 * A program that begins itself anew, the environment emptied: with "often" every 20 ms, for ever; else once,
 * at SIGUSR1, and then it says "again" and runs until SIGTERM. Each allocates and frees 100 blocks first. The
 * signal is blocked but for the wait, so that one sent between "ready" and the wait is not lost.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void nothing(int signal) {
	(void)signal;
}

int main(int argc, char **argv) {
	char *empty[] = {NULL};
	char once[] = "once", more[] = "again";
	char *again[] = {argv[0], argc > 1 ? argv[1] : once, more, NULL};
	int is_again = argc > 2;
	sigset_t usr1, others;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, &others);
	signal(SIGUSR1, nothing);
	for (int i = 0; i < 100; i++) {
		free(malloc((size_t)i));
	}
	if (argc > 1 && strcmp(argv[1], "often") == 0) {
		(void)!(is_again || write(1, "ready\n", 6));
		usleep(20000);
	} else {
		(void)!write(1, is_again ? "again\n" : "ready\n", 6);
		do {
			sigsuspend(&others);
		} while (is_again);
	}
	sigprocmask(SIG_SETMASK, &others, NULL);
	execve("/proc/self/exe", again, empty);
	return 1;
}
