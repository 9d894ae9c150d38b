// SPDX-License-Identifier: MIT
#pragma once
/** What glibc has and wasi-libc lacks. Included before every file of the module. */

#include <regex.h>
#include <stdlib.h>
#include <string.h>

/** Keeps the order of equal items, as in glibc: the same answers in the page and in a terminal. */
void stable_sort(void *items, size_t n, size_t item_bytes,
		int (*compare)(const void *a, const void *b, void *user), void *user);
void stable_sort_plain(void *items, size_t n, size_t item_bytes,
		int (*compare)(const void *a, const void *b));
#define qsort_r stable_sort
#define qsort   stable_sort_plain

const char *sigabbrev_np(int signal);

/** Only from range->rm_so to range->rm_eo. */
#define REG_STARTEND 4
int regexec_within(const regex_t *regex, const char *text, size_t n, regmatch_t *range, int flags);
#define regexec regexec_within

/** wasi-libc has the POSIX one. */
static inline const char *strerror_text(int errnum, char *text, size_t n) {
	return strerror_r(errnum, text, n) == 0 ? text : "unknown error";
}
#define strerror_r strerror_text
