// SPDX-License-Identifier: MIT
/*
 * many_stacks EVENTS [random]: blocks from 131,072 different stacks, as a walk over all leaves of a
 * binary tree of calls, again and again. Each leaf allocates a block and frees the one that was
 * allocated 4,096 leaves ago, or, at random, one of as many; every 10,000th block is kept for good.
 * Each stack has two sizes. Truth, on stdout: allocations, their bytes, the peak, the blocks and bytes
 * never freed, and the time of the end (CLOCK_MONOTONIC, ns).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 17, N_HELD = 4096, KEPT_EACH = 10000 };

static struct {
	char *block;
	uint32_t size;
} held[N_HELD];
static struct { uint64_t allocations, bytes, live, peak, kept, kept_bytes; } truth;
static uint64_t n_left;
static uint64_t random_state; // 0: in order

/** Of each stack two sizes: one in most laps over all leaves, a larger one in the sixth. */
static uint32_t size_of(uint64_t i) {
	return (uint32_t)(16 + i % (1 << DEPTH) % 61 + (i >> DEPTH == 5 ? 32 : 0));
}

static uint64_t next_place(uint64_t i) {
	if (random_state == 0) {
		return i % N_HELD;
	}
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % N_HELD;
}

static void release(uint64_t at) {
	if (held[at].block != NULL) {
		truth.live -= held[at].size;
		free(held[at].block);
		held[at].block = NULL;
	}
}

__attribute__((noinline)) static void leaf(void) {
	uint64_t i = truth.allocations++;
	uint64_t at = next_place(i);
	release(at);
	uint32_t size = size_of(i);
	char *block = malloc(size);
	block[0] = 1;
	truth.bytes += size;
	truth.live += size;
	truth.peak = truth.live > truth.peak ? truth.live : truth.peak;
	if (i % KEPT_EACH == 0) {
		truth.kept++;
		truth.kept_bytes += size;
	} else {
		held[at].block = block;
		held[at].size = size;
	}
	n_left -= n_left < 2 ? n_left : 2;
}

static void left(unsigned depth);

__attribute__((noinline)) static void right(unsigned depth) {
	if (depth == 0) {
		leaf();
	} else if (n_left > 0) {
		left(depth - 1);
		right(depth - 1);
	}
	__asm__ volatile("" : : : "memory"); // no tail call
}

__attribute__((noinline)) static void left(unsigned depth) {
	if (depth == 0) {
		leaf();
	} else if (n_left > 0) {
		left(depth - 1);
		right(depth - 1);
	}
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv) {
	n_left = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
	random_state = argc > 2;
	while (n_left > 0) {
		left(DEPTH);
	}
	for (uint64_t at = 0; at < N_HELD; at++) {
		release(at);
	}
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	char text[200];
	int n = snprintf(text, sizeof text, "%lu %lu %lu %lu %lu %lu\n", truth.allocations, truth.bytes,
			truth.peak, truth.kept, truth.kept_bytes,
			(uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
	return write(1, text, (size_t)n) == n ? 3 : 1;
}
