// SPDX-License-Identifier: MIT

/**
 * Each allocation function, N times, with sizes that are known: calls N [plain|large|odd|fail].
 * Everything is freed but every tenth malloc of 7 bytes.
 */

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile kept;

static void plain(int i) {
	void *p = malloc(7);
	if (i % 10 == 0) {
		kept = p;
	} else {
		free(p);
	}
	free(calloc(3, 5));
	p = realloc(NULL, 11);
	p = realloc(p, 13);
	p = realloc(p, 100000);
	p = reallocarray(p, 17, 19);
	p = realloc(p, 0); // frees
	if (posix_memalign(&p, 64, 23) == 0) {
		free(p);
	}
	free(aligned_alloc(64, 128));
	free(memalign(32, 29));
	free(valloc(31));
	free(pvalloc(37));
	free(NULL);
}

static void fail(void) {
	volatile size_t too_much = SIZE_MAX / 2;
	void *volatile p = malloc(41); // a failed realloc leaves it alone; the compiler doubts that
	errno = 0;
	kept = malloc(too_much);
	kept = calloc(too_much, 4);
	kept = realloc(p, too_much);
	kept = reallocarray(p, too_much, 4);
	if (errno != ENOMEM || kept != NULL || posix_memalign((void **)&kept, 64, too_much) != ENOMEM) {
		abort();
	}
	free(p);
}

static void large(void) {
	size_t huge = (size_t)300 << 20; // above the field of an entry
	free(malloc(huge));
	free(realloc(malloc(43), huge));
}

static void keeps_errno(void) {
	errno = 4711;
	free(malloc(47));
	free(realloc(malloc(53), 100));
	if (errno != 4711) {
		abort();
	}
}

int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 0;
	const char *what = argc > 2 ? argv[2] : "plain";
	for (int i = 0; i < n; i++) {
		if (strcmp(what, "plain") == 0) {
			plain(i);
		} else if (strcmp(what, "large") == 0) {
			large();
		} else if (strcmp(what, "fail") == 0) {
			fail();
		} else {
			keeps_errno();
		}
	}
	return 0;
}
