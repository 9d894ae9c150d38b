// SPDX-License-Identifier: MIT

/*
 * waiting THREADS: a server without much to do. Each thread allocates a little and waits for a fifth of a
 * millisecond, so that a stop of all is not a wait for the turn of each. Ends with its input.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *serve(void *unused) {
	for (;;) {
		void *volatile at = malloc(100);
		free(at);
		(void)nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
	return unused;
}

int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 8;
	for (int i = 1; i < n; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, serve, NULL) != 0) {
			return 1;
		}
	}
	(void)puts("ready");
	(void)fflush(stdout);
	(void)getchar();
	return 0;
}
