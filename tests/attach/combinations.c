// SPDX-License-Identifier: MIT

/*
 * Allocates a known number of blocks in one of the shapes of tests/e2e/combinations.py:
 *
 *   combinations threads|forks [FOLDER]
 *
 * With FOLDER it first takes that for its root. It says "ready", waits for a line, and calls
 * make_block() BLOCKS times for SIZE bytes, of which every other block is freed: in THREADS threads,
 * or in a process with two forked children that make BLOCKS blocks each as well. Then it says "done"
 * and waits for the end of its input. Exit status 7.
 */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 1000, SIZE = 123, THREADS = 4, CHILDREN = 2 };

static void *kept[BLOCKS];

void *make_block(size_t n);

__attribute__((noinline)) void *make_block(size_t n) {
	void *at = malloc(n);
	__asm__ volatile("" : : : "memory"); // no tail call
	return at;
}

static void *make(void *first) {
	size_t n = BLOCKS / THREADS;
	for (size_t i = (size_t)first; i < (size_t)first + n; i++) {
		kept[i] = make_block(SIZE);
	}
	for (size_t i = (size_t)first; i < (size_t)first + n; i += 2) {
		free(kept[i]);
	}
	return NULL;
}

static void make_in_threads(void) {
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++) {
		(void)pthread_create(&threads[i], NULL, make, (void *)(i * (BLOCKS / THREADS)));
	}
	for (size_t i = 0; i < THREADS; i++) {
		(void)pthread_join(threads[i], NULL);
	}
}

static void make_in_processes(void) {
	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0) {
			make_in_threads();
			_exit(0);
		}
	}
	for (size_t i = 0; i < THREADS; i++) {
		(void)make((void *)(i * (BLOCKS / THREADS)));
	}
	while (wait(NULL) > 0) {}
}

static void say(const char *text) {
	(void)!write(1, text, strlen(text));
}

int main(int argc, char **argv) {
	char input;
	if (argc < 2 || (argc > 2 && (chroot(argv[2]) != 0 || chdir("/") != 0))) {
		return 2;
	}
	say("ready\n");
	if (read(0, &input, 1) != 1) {
		return 3;
	}
	if (strcmp(argv[1], "threads") == 0) {
		make_in_threads();
	} else {
		make_in_processes();
	}
	say("done\n");
	while (read(0, &input, 1) == 1) {}
	return 7;
}
