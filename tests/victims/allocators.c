// SPDX-License-Identifier: MIT

/**
 * Allocators of a program's own, which tell heaptrack: allocators MODE. The test knows what each mode
 * does. Also built by the test: as C++, with the functions looked up, as a library.
 */

#define HEAPTRACK_DEFINE_VALGRIND_MACROS
#include "heaptrack_api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNK = 1 << 16, BLOCK = 64 };

static char *chunk;

static void *block(int i) {
	return chunk + i * BLOCK;
}

/** The first block has the chunk's own address, and goes before it. */
static void nest(void) {
	for (int i = 0; i < 100; i++) {
		heaptrack_report_alloc(block(i), 10);
	}
	for (int i = 0; i < 90; i++) {
		heaptrack_report_free(block(i));
	}
	heaptrack_report_realloc(block(90), 1000, block(200));
	heaptrack_report_realloc(block(91), 500, block(91));
	heaptrack_report_realloc(NULL, 7, block(201));
}

/** 20 pools of 50 blocks, of which 10 go by themselves and come again; the last pool stays. */
static void pool(void) {
	for (int p = 0; p < 20; p++) {
		void *own = chunk + CHUNK + p;
		heaptrack_report_pool_create(own);
		for (int i = 0; i < 50; i++) {
			heaptrack_report_pool_alloc(own, block(p % 3 * 50 + i), 16);
		}
		for (int i = 0; i < 10; i++) {
			heaptrack_report_pool_free(own, block(p % 3 * 50 + i));
			heaptrack_report_pool_alloc(own, block(p % 3 * 50 + i), 32);
		}
		if (p < 19) {
			heaptrack_report_pool_destroy(own);
		}
	}
}

/** As code annotated for valgrind does. */
static void annotate(void) {
	VALGRIND_CREATE_MEMPOOL(chunk, 0, 0);
	for (int i = 0; i < 30; i++) {
		VALGRIND_MEMPOOL_ALLOC(chunk, block(i), 100);
	}
	VALGRIND_MEMPOOL_FREE(chunk, block(3));
	VALGRIND_DESTROY_MEMPOOL(chunk);
	VALGRIND_CREATE_MEMPOOL(chunk, 0, 0);
	VALGRIND_MEMPOOL_ALLOC(chunk, block(0), 5);
}

static void *work(void *label) {
	char name[80];
	(void)snprintf(name, sizeof name, "reader of the network, number %d", (int)(size_t)label);
	heaptrack_report_thread_label(name);
	heaptrack_report_alloc(block(300 + (int)(size_t)label), 11);
	return NULL;
}

static void label(void) {
	pthread_t threads[3];
	for (size_t i = 0; i < 3; i++) {
		(void)pthread_create(&threads[i], NULL, work, (void *)i);
		(void)pthread_join(threads[i], NULL);
	}
}

/** 10 blocks are seen, 10 come while nobody looks, 10 are seen; the first 5 go unlooked at. */
static void halt(void) {
	for (int i = 0; i < 30; i++) {
		if (i == 10) {
			heaptrack_report_pause();
			for (int k = 0; k < 5; k++) {
				heaptrack_report_free(block(k));
			}
		} else if (i == 20) {
			heaptrack_report_resume();
		}
		heaptrack_report_alloc(block(i), 100);
	}
}

static void stop(void) {
	heaptrack_report_alloc(block(0), 100);
	heaptrack_report_stop();
	heaptrack_report_alloc(block(1), 100);
}

static void wait_ms(long ms) {
	const struct timespec nap = {.tv_nsec = ms * 1000000};
	(void)nanosleep(&nap, NULL);
}

/** Three phases, each with blocks of its own size; every second one stays. */
static void phases(void) {
	static const char *const names[] = {"load & index", "serve", "serve"};
	for (int p = 0; p < 3; p++) {
		wait_ms(50);
		heaptrack_report_mark(names[p]);
		for (int i = 0; i < 100; i++) {
			heaptrack_report_alloc(block(p * 100 + i), (size_t)(p + 1) * 1000);
			if (i % 2) {
				heaptrack_report_free(block(p * 100 + i));
			}
		}
	}
	wait_ms(50);
	heaptrack_report_mark("done");
	for (int i = 0; i < 2000; i++) {
		heaptrack_report_mark("too many");
	}
}

/** 10 blocks that nobody sees, 10 in the file "inside", 5 while it pauses, 3 behind its end. */
static void begin(void) {
	for (int i = 0; i < 28; i++) {
		if (i == 10) {
			heaptrack_report_start("inside");
		} else if (i == 15) {
			heaptrack_report_pause();
		} else if (i == 20) {
			heaptrack_report_resume();
		} else if (i == 25) {
			heaptrack_report_stop();
		}
		heaptrack_report_alloc(block(i), 100);
	}
	FILE *file = fopen("inside", "r");
	printf("%s", file ? "there" : "missing");
}

int run(const char *mode);

int run(const char *mode) {
	static const struct {
		const char *name;
		void (*act)(void);
	} modes[] = {{"nest", nest}, {"pool", pool}, {"annotate", annotate}, {"label", label},
			{"halt", halt}, {"stop", stop}, {"phases", phases}, {"begin", begin}};
	chunk = (char *)malloc(2 * CHUNK);
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(mode, modes[i].name) == 0) {
			modes[i].act();
		}
	}
	free(chunk);
	return 0;
}

#ifndef IS_LIBRARY
int main(int argc, char **argv) {
	return run(argc > 1 ? argv[1] : "nest");
}
#endif
