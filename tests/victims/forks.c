// SPDX-License-Identifier: MIT

/*
 * Main waits in epoll_wait, sigtimedwait and read, for some milliseconds each, while a thread forks children that
 * exit at once: SIGCHLD, which is not handled, comes all the time. Until SIGTERM, then says "eintr N": how
 * often a wait was interrupted, which nothing but a tracer does.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;

static void end(int signal) {
	(void)signal;
	is_over = 1;
}

static void *fork_on(void *nothing) {
	sigset_t term;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	while (!is_over) {
		free(malloc(100));
		pid_t child = fork();
		if (child == 0) {
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return nothing;
}

int main(void) {
	int n_interrupted = 0, sockets[2];
	int epoll = epoll_create1(0);
	pthread_t thread;
	sigset_t usr2;
	struct timeval patience = {.tv_usec = 3000};
	struct timespec moment = {.tv_nsec = 3000000};
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigprocmask(SIG_BLOCK, &usr2, NULL);
	socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	signal(SIGTERM, end);
	pthread_create(&thread, NULL, fork_on, NULL);
	(void)!write(1, "ready\n", 6);
	while (!is_over) {
		struct epoll_event event;
		char byte;
		int n[] = {epoll_wait(epoll, &event, 1, 3) < 0 && errno == EINTR,
				sigtimedwait(&usr2, NULL, &moment) < 0 && errno == EINTR,
				recv(sockets[0], &byte, 1, 0) < 0 && errno == EINTR};
		n_interrupted += is_over ? 0 : n[0] + n[1] + n[2];
		free(malloc(100));
	}
	pthread_join(thread, NULL);
	printf("eintr %d\n", n_interrupted);
	return 0;
}
