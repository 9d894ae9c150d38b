// SPDX-License-Identifier: MIT

/*
 * paced tight|churn|tree: about a million events each time that a line comes in; then it says what CPU time
 * an event took, in ns. For costs in one process with and without a recorder.
 *
 *   tight   pairs of malloc and free at a depth of 10
 *   churn   4096 blocks of all sizes, one after the other freed and allocated anew, from places of all depths
 *   tree    binary trees built and torn down by recursion
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void descend(unsigned depth, void (*work)(void)) {
	if (depth > 0) {
		descend(depth - 1, work);
	} else {
		work();
	}
	__asm__ volatile("" : : : "memory"); // no tail call: each level is a frame
}

enum { PAIRS = 500000, DEPTH = 10 };

static void pairs(void) {
	for (unsigned i = 0; i < PAIRS; i++) {
		void *volatile at = malloc(64);
		free(at);
	}
}

static unsigned long tight(void) {
	descend(DEPTH, pairs);
	return 2 * PAIRS;
}

enum { BLOCKS = 4096, DEPTH_MAX = 15, AT_A_PLACE = 32 };
static void *blocks[BLOCKS];
static unsigned seed = 1;

static unsigned draw(void) {
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static void replace_some(void) {
	for (unsigned i = 0; i < AT_A_PLACE; i++) {
		void **block = &blocks[draw() % BLOCKS];
		free(*block);
		*block = malloc(16 + draw() % 1000);
	}
}

static unsigned long churn(void) {
	const unsigned n = PAIRS / AT_A_PLACE;
	for (unsigned i = 0; i < n; i++) {
		descend(draw() % DEPTH_MAX, replace_some);
	}
	return 2ul * n * AT_A_PLACE;
}

struct node {
	struct node *left, *right;
};

static struct node *build(unsigned depth) {
	struct node *n = malloc(sizeof *n);
	if (n) {
		n->left = depth > 0 ? build(depth - 1) : NULL;
		n->right = depth > 0 ? build(depth - 1) : NULL;
	}
	return n;
}

static void tear_down(struct node *n) {
	if (n) {
		tear_down(n->left);
		tear_down(n->right);
		free(n);
	}
}

static unsigned long tree(void) {
	enum { TREES = 30, LEVELS = 14 };
	for (unsigned i = 0; i < TREES; i++) {
		tear_down(build(LEVELS - 1));
	}
	return 2ul * TREES * ((1ul << LEVELS) - 1);
}

static double cpu_ns(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
	const char *name = argc > 1 ? argv[1] : "tight";
	unsigned long (*work)(void) = strcmp(name, "churn") == 0 ? churn
			: strcmp(name, "tree") == 0                      ? tree
															 : tight;
	char line[16];
	(void)work();
	(void)puts("ready");
	(void)fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		double start = cpu_ns();
		unsigned long n = work();
		(void)printf("%.2f\n", (cpu_ns() - start) / (double)n);
		(void)fflush(stdout);
	}
	return 0;
}
