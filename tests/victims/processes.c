// SPDX-License-Identifier: MIT

/**
 * Children and successors: processes MODE [PROGRAM ARGS...]
 *   fork    a child that allocates 1000 blocks, while the parent allocates 10
 *   clone   the same by a raw clone, which no handler of libc sees
 *   vfork   a child of vfork that executes PROGRAM
 *   vfork-first a thread whose child of vfork allocates and frees 500 times before it
 *           allocates 100 blocks
 *   spawn   posix_spawn of PROGRAM
 *   exec    10 blocks, then PROGRAM in this very process
 *   thread-exec   the same from a second thread
 */

#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *volatile kept;

static void allocate(int n) {
	for (int i = 0; i < n; i++) {
		kept = malloc(123);
	}
}

static void fork_by(pid_t pid) {
	if (pid == 0) {
		allocate(1000);
		_exit(0);
	}
	allocate(10);
	waitpid(pid, NULL, 0);
}

static void *execute(void *argv) {
	char **words = argv;
	allocate(10);
	execvp(words[0], words);
	abort();
}

static void *allocate_after_child(void *unused) {
	pid_t pid = vfork();
	if (pid == 0) {
		for (int i = 0; i < 500; i++) {
			kept = malloc(321);
			free(kept);
		}
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	allocate(100);
	return unused;
}

int main(int argc, char **argv) {
	(void)argc;
	const char *mode = argv[1];
	char **words = argv + 2;
	pid_t pid = 0;
	pthread_t thread;
	if (strcmp(mode, "fork") == 0) {
		fork_by(fork());
	} else if (strcmp(mode, "clone") == 0) {
		fork_by((pid_t)syscall(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0));
	} else if (strcmp(mode, "vfork") == 0) {
		pid = vfork();
		if (pid == 0) {
			kept = malloc(321); // in the parent's memory: the parent's
			execvp(words[0], words);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
	} else if (strcmp(mode, "vfork-first") == 0) {
		pthread_create(&thread, NULL, allocate_after_child, NULL);
		pthread_join(thread, NULL);
	} else if (strcmp(mode, "spawn") == 0) {
		posix_spawnp(&pid, words[0], NULL, NULL, words, environ);
		waitpid(pid, NULL, 0);
	} else if (strcmp(mode, "exec") == 0) {
		execute(words);
	} else if (strcmp(mode, "thread-exec") == 0) {
		pthread_create(&thread, NULL, execute, words);
		pthread_join(thread, NULL);
	}
	return 0;
}
