// SPDX-License-Identifier: MIT
/* A stable sort, regular expressions within a text, and names of signals. */
#include "wasm/instead/libc.h"

#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>

#undef regexec

// ---- sorting: runs of one item, of two, of four ..., merged between the items and a copy

struct sorting {
	int (*compare)(const void *a, const void *b, void *user);
	void *user;
	size_t item_bytes;
};

static void merge(const struct sorting *s, const uint8_t *left, size_t n_left, size_t n_right,
		uint8_t *out) {
	const uint8_t *right = left + n_left * s->item_bytes;
	while (n_left + n_right > 0) {
		bool is_left = n_left > 0 && (n_right == 0 || s->compare(left, right, s->user) <= 0);
		const uint8_t **from = is_left ? &left : &right;
		memcpy(out, *from, s->item_bytes);
		*from += s->item_bytes;
		out += s->item_bytes;
		*(is_left ? &n_left : &n_right) -= 1;
	}
}

static size_t least(size_t a, size_t b) {
	return a < b ? a : b;
}

void stable_sort(void *items, size_t n, size_t item_bytes,
		int (*compare)(const void *a, const void *b, void *user), void *user) {
	const struct sorting s = {compare, user, item_bytes};
	uint8_t *copy = n > 1 ? malloc(n * item_bytes) : NULL, *from = items, *to = copy;
	if (n > 1 && !copy) {
		abort(); // the caller of qsort_r is told of nothing: the module ends, and the page says so
	}
	for (size_t run = 1; run < n; run *= 2) {
		for (size_t at = 0; at < n; at += 2 * run) {
			size_t n_left = least(run, n - at), n_right = least(run, n - at - n_left);
			merge(&s, from + at * item_bytes, n_left, n_right, to + at * item_bytes);
		}
		uint8_t *sorted = to;
		to = from;
		from = sorted;
	}
	if (from != items) {
		memcpy(items, from, n * item_bytes);
	}
	free(copy);
}

static int compare_plain(const void *a, const void *b, void *user) {
	return ((int (*)(const void *, const void *))user)(a, b);
}

void stable_sort_plain(void *items, size_t n, size_t item_bytes,
		int (*compare)(const void *a, const void *b)) {
	stable_sort(items, n, item_bytes, compare_plain, (void *)compare);
}

// ---- the rest

int regexec_within(const regex_t *regex, const char *text, size_t n, regmatch_t *range, int flags) {
	size_t bytes = (size_t)(range->rm_eo - range->rm_so);
	char *copy = malloc(bytes + 1);
	if (!copy) {
		return REG_ESPACE;
	}
	memcpy(copy, text + range->rm_so, bytes);
	copy[bytes] = 0;
	int result = regexec(regex, copy, n, range, flags & ~REG_STARTEND);
	free(copy);
	return result;
}

/** Of Linux on every processor that heaptrack records on. */
const char *sigabbrev_np(int signal) {
	static const char *const names[] = {NULL, "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS",
			"FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT",
			"STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH",
			"POLL", "PWR", "SYS"};
	return signal > 0 && signal < (int)(sizeof names / sizeof *names) ? names[signal] : NULL;
}
