// SPDX-License-Identifier: MIT
/* Radix sort: distributes items by one byte of the key after another, from the lowest. */
#include "base/vec.h"

enum { DIGIT_BITS = 8, N_DIGITS = 64 / DIGIT_BITS, N_VALUES = 1 << DIGIT_BITS };

static unsigned digit_of(uint64_t key, unsigned digit) {
	return key >> (digit * DIGIT_BITS) & (N_VALUES - 1);
}

/** Move all items to `to`, ordered by one digit. counts[value]: how many have it. */
static void distribute(const struct radix_item *from, struct radix_item *to, size_t n,
		unsigned digit, const size_t counts[N_VALUES]) {
	size_t next[N_VALUES], sum = 0;
	for (unsigned value = 0; value < N_VALUES; value++) {
		next[value] = sum;
		sum += counts[value];
	}
	for (size_t i = 0; i < n; i++) {
		to[next[digit_of(from[i].key, digit)]++] = from[i];
	}
}

void radix_sort(struct radix_item *items, struct radix_item *scratch, size_t n) {
	size_t counts[N_DIGITS][N_VALUES] = {0};
	for (size_t i = 0; i < n; i++) {
		for (unsigned digit = 0; digit < N_DIGITS; digit++) {
			counts[digit][digit_of(items[i].key, digit)]++;
		}
	}
	struct radix_item *from = items, *to = scratch;
	for (unsigned digit = 0; n > 0 && digit < N_DIGITS; digit++) {
		if (counts[digit][digit_of(from[0].key, digit)] < n) { // else all share this digit
			distribute(from, to, n, digit, counts[digit]);
			struct radix_item *other = from;
			from = to;
			to = other;
		}
	}
	if (from != items) {
		memcpy(items, from, n * sizeof *items);
	}
}
