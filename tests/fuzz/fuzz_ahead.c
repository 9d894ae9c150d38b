// SPDX-License-Identifier: MIT
#include "base/buffer.h"
#include "symbols/ahead.h"

#include <stdlib.h>

/** What is asked in company is answered as alone, and a longer table never says less. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	enum { N = 4 };
	static const uint64_t pcs[N] = {0, 0x1000, 0x401000, UINT64_MAX};
	struct slice bytes = slice_of(data, size);
	uint64_t units[N], alone;
	ahead_units(bytes, pcs, N, units);
	for (size_t i = 0; i < N; i++) {
		ahead_units(bytes, &pcs[i], 1, &alone);
		if (alone != units[i]) {
			abort();
		}
	}
	enum ahead_reach half = ahead_abbreviations(slice_of(data, size / 2), 0);
	if (half != AHEAD_CUT && half != ahead_abbreviations(bytes, 0)) {
		abort();
	}
	return 0;
}
