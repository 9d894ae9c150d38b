// SPDX-License-Identifier: MIT
#include "symbols/perf_map.h"

#include <stdlib.h>

/** The first byte says in which pieces the rest comes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct perf_map m = {0};
	size_t piece = size ? 1u + data[0] : 1;
	size_t end = 0;
	for (size_t at = 0; end < size;) {
		end = end + piece < size ? end + piece : size;
		at += perf_map_feed(&m, slice_of(data + at, end - at), at);
		perf_map_sort(&m);
		perf_map_merge(&m);
	}
	for (size_t i = 0; i < m.current.n; i++) {
		const struct perf_map_entry *e = &m.current.items[i];
		bool is_sane = e->start < e->end && e->name_at + e->name_bytes <= size &&
				(i == 0 || e[-1].end <= e->start) && perf_map_find(&m.current, e->start) == e &&
				perf_map_find(&m.current, e->end - 1) == e;
		if (!is_sane) {
			abort();
		}
	}
	perf_map_finish(&m);
	return 0;
}
