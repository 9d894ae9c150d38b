// SPDX-License-Identifier: MIT
/**
 * Has blocks before anybody looks: in main's arena, in those of two threads, and with mappings of
 * their own: 3 * 2000 of 40 to 4000 bytes and 20 of 1 MB. At SIGUSR1 it frees every other small one
 * and half of the large ones, moves 100 by realloc, and allocates 500 of 64 bytes that it keeps.
 * Says "blocks BYTES" (usable) before and "freed BLOCKS BYTES" after.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 2000, LARGE = 20, MOVED = 100, NEW = 500 };

static void *small[3][SMALL], *large[LARGE];
void *kept[NEW];
static size_t n_freed, bytes_freed;

static void *fill(void *user) {
	void **blocks = user;
	for (int i = 0; i < SMALL; i++) {
		void *gone = malloc((size_t)(24 + i % 500));
		blocks[i] = malloc((size_t)(40 + i * 7 % 3960));
		memset(blocks[i], i, 40);
		free(gone); // lists of free blocks are full of them
	}
	return NULL;
}

static void give_back(void *block) {
	n_freed++;
	bytes_freed += malloc_usable_size(block);
}

static void free_half(void) {
	for (int t = 0; t < 3; t++) {
		for (int i = 0; i < SMALL; i += 2) {
			give_back(small[t][i]);
			free(small[t][i]);
		}
	}
	for (int i = 0; i < LARGE; i += 2) {
		give_back(large[i]);
		free(large[i]);
	}
	for (int i = 0; i < MOVED; i++) {
		void **at = &small[0][2 * i + 1];
		give_back(*at);
		*at = realloc(*at, 10000);
	}
}

int main(void) {
	sigset_t wanted;
	int got;
	size_t bytes = 0;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	sigaddset(&wanted, SIGTERM);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	mallopt(M_MMAP_THRESHOLD, 1 << 17);
	for (int t = 1; t < 3; t++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, fill, small[t]) != 0) {
			return 1;
		}
		pthread_join(thread, NULL);
	}
	fill(small[0]);
	for (int i = 0; i < LARGE; i++) {
		large[i] = i % 3 == 0 ? memalign(1 << 16, 1 << 20) : malloc(1 << 20);
	}
	for (int t = 0; t < 3; t++) {
		for (int i = 0; i < SMALL; i++) {
			bytes += malloc_usable_size(small[t][i]);
		}
	}
	for (int i = 0; i < LARGE; i++) {
		bytes += malloc_usable_size(large[i]);
	}
	printf("%d %zu\nready\n", 3 * SMALL + LARGE, bytes);
	fflush(stdout);
	sigwait(&wanted, &got);
	free_half();
	for (int i = 0; i < NEW; i++) {
		kept[i] = malloc(64);
	}
	printf("freed %zu %zu\ndone\n", n_freed, bytes_freed);
	fflush(stdout);
	sigwait(&wanted, &got);
	return 0;
}
