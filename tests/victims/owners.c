// SPDX-License-Identifier: MIT
/*
 * Holds blocks by variables that it knows, in shapes of all sorts, and prints what each holds:
 * owners SEED [TIMES]. Some blocks have a word left behind that leads into what another one holds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWNERS = 8, KINDS = 7, SAMPLES = 64 };

struct item {
	struct item *next, *other;
	void *left_behind;
	char *text;
	uintptr_t tagged;
};

void *g_0, *g_1, *g_2, *g_3;
static void *g_4, *g_5;
static __thread void *t_6;
static struct {
	long before;
	void *at;
} g_7;
static void **const owners[OWNERS] = {&g_0, &g_1, &g_2, &g_3, &g_4, &g_5, NULL, &g_7.at};
static const char *const names[OWNERS] = {"g_0", "g_1", "g_2", "g_3", "g_4", "g_5", "thread",
		"g_7"};

static size_t bytes[OWNERS], blocks[OWNERS];
static struct item *samples[OWNERS][SAMPLES];
static size_t n_samples[OWNERS];
static uint64_t state;

static uint64_t below(uint64_t n) {
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % n;
}

static void *count(int owner, size_t size, void *block) {
	bytes[owner] += size;
	blocks[owner]++;
	memset(block, 0, size);
	return block;
}

/** Each shape allocates by itself. */
#define MAKE(name)                                                  \
	static __attribute__((noinline)) struct item *name(int owner) { \
		size_t size = sizeof(struct item) + below(6) * 16;          \
		struct item *i = count(owner, size, malloc(size));          \
		samples[owner][n_samples[owner]++ % SAMPLES] = i;           \
		return i;                                                   \
	}
MAKE(in_list)
MAKE(in_tree)
MAKE(in_ring)
MAKE(in_table)
MAKE(in_array)
MAKE(by_its_inside)
MAKE(by_a_tag)

static __attribute__((noinline)) char *text_of(int owner) {
	size_t size = 1 + below(100);
	return count(owner, size, malloc(size));
}

static struct item *tree(int owner, size_t n) {
	if (n == 0) {
		return NULL;
	}
	struct item *i = in_tree(owner);
	i->next = tree(owner, (n - 1) / 2);
	i->other = tree(owner, n - 1 - (n - 1) / 2);
	return i;
}

static void *table(int owner, size_t n, int is_chained) {
	size_t size = (n + 1) * sizeof(void *);
	void **all = count(owner, size, malloc(size));
	for (size_t k = 0; k < n; k++) {
		size_t at = is_chained ? below(n / 4 + 1) : k;
		struct item *i = is_chained ? in_table(owner) : in_array(owner);
		i->text = text_of(owner);
		i->next = is_chained ? all[at] : NULL;
		all[at] = i;
	}
	return all;
}

static void *make(int owner, int kind, size_t n) {
	struct item *first = NULL;
	if (kind == 0) {
		return tree(owner, n);
	}
	if (kind <= 2) {
		return table(owner, n, kind == 1);
	}
	for (size_t k = 0; k < n; k++) {
		struct item *i = kind == 3 ? in_list(owner)
				: kind == 4        ? in_ring(owner)
				: kind == 5        ? by_its_inside(owner)
								   : by_a_tag(owner);
		if (kind == 5) {
			i->next = first ? (struct item *)&first->text : NULL;
		} else if (kind == 6) {
			i->tagged = first ? (uintptr_t)first | 1 : 0;
		} else {
			i->next = first;
		}
		if (kind == 4 && first) {
			first->other = i;
		}
		first = i;
	}
	return first;
}

int main(int argc, char **argv) {
	state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	size_t times = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	for (int k = 0; k < OWNERS; k++) {
		int kind = (int)below(KINDS);
		void *all = make(k, kind, (200 + below(2000)) * times);
		*(owners[k] ? owners[k] : &t_6) = all;
	}
	for (int k = 0; k < OWNERS; k++) { // one in a hundred
		for (size_t i = 0; i < SAMPLES && i < n_samples[k] / 100; i++) {
			int to = (int)below(OWNERS);
			samples[k][i]->left_behind = samples[to][below(SAMPLES)];
		}
	}
	memset(samples, 0, sizeof samples);
	for (int k = 0; k < OWNERS; k++) {
		printf("%s %zu %zu\n", names[k], bytes[k], blocks[k]);
	}
	return 0;
}
