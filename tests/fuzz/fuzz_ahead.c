// SPDX-License-Identifier: MIT
#include "base/slice.h"
#include "symbols/dwarf/unit.h"

#include <stdlib.h>

/** What is asked in company is answered as alone. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	enum { N = 4 };
	static const uint64_t pcs[N] = {0, 0x1000, 0x401000, UINT64_MAX};
	struct slice bytes = slice_of(data, size);
	uint64_t units[N], alone;
	bool is_whole = ahead_units(bytes, pcs, N, units);
	for (size_t i = 0; i < N; i++) {
		if (ahead_units(bytes, &pcs[i], 1, &alone) && is_whole && alone != units[i]) {
			abort();
		}
	}
	return 0;
}
