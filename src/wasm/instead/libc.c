// SPDX-License-Identifier: MIT
/* A stable sort, regular expressions within a text, and names of signals. */
#include "wasm/instead/libc.h"

#include "base/arena.h"

#undef qsort
#undef regexec

// ---- sorting: by qsort, with equal items ordered by their places

static struct {
	int (*compare)(const void *a, const void *b, void *user);
	void *user;
} order; // of the one sort in progress

static int by_order_and_place(const void *a, const void *b) {
	const uint8_t *const *x = a, *const *y = b;
	return order.compare(*x, *y, order.user) ?: (*x > *y) - (*x < *y);
}

void stable_sort(void *items, size_t n, size_t item_bytes,
		int (*compare)(const void *a, const void *b, void *user), void *user) {
	if (n < 2) {
		return;
	}
	const uint8_t **places = malloc(n * (sizeof *places + item_bytes));
	if (!places) {
		abort(); // qsort_r cannot tell its caller: the module ends, and the page says so
	}
	uint8_t *sorted = (uint8_t *)(places + n);
	for (size_t i = 0; i < n; i++) {
		places[i] = (uint8_t *)items + i * item_bytes;
	}
	order.compare = compare;
	order.user = user;
	qsort(places, n, sizeof *places, by_order_and_place);
	for (size_t i = 0; i < n; i++) {
		memcpy(sorted + i * item_bytes, places[i], item_bytes);
	}
	memcpy(items, sorted, n * item_bytes);
	free(places);
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

/** Names as in Linux on every processor that heaptrack records on. */
const char *sigabbrev_np(int signal) {
	static const char *const names[] = {NULL, "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS",
			"FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT",
			"STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH",
			"POLL", "PWR", "SYS"};
	return signal > 0 && signal < (int)(N_OF(names)) ? names[signal] : NULL;
}
