// SPDX-License-Identifier: MIT

/* many THREADS: so many threads live at once, and each allocates once in its life. */

#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t all_are_here;

static void *live(void *unused) {
	void *volatile block = malloc(100);
	(void)pthread_barrier_wait(&all_are_here);
	free(block);
	return unused;
}

int main(int argc, char **argv) {
	enum { MOST = 8000 };
	static pthread_t threads[MOST];
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	pthread_attr_t small;
	(void)pthread_attr_init(&small);
	(void)pthread_attr_setstacksize(&small, 64 << 10);
	(void)pthread_barrier_init(&all_are_here, NULL, n + 1);
	for (unsigned i = 0; i < n; i++) {
		if (i == MOST || pthread_create(&threads[i], &small, live, NULL) != 0) {
			return 1;
		}
	}
	(void)pthread_barrier_wait(&all_are_here);
	for (unsigned i = 0; i < n; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	return 0;
}
