// SPDX-License-Identifier: MIT

/* The nearest end of a gap between two mappings, with room left to both sides. */

#include "injector/hooks/gap.h"

#include "injector/arch/machine.h"

#include <string.h>

enum {
	GAP_MARGIN = 64 << 10, // left free beside what is there
	LOWEST = 64 << 10,     // vm.mmap_min_addr
};

/** Does the heap begin at the low end of the gap behind mapping `i`, or will it? */
static bool heap_grows_into(const struct process_space *s, size_t i, uint64_t low, uint64_t high) {
	return strcmp(s->mappings.items[i].name, "[heap]") == 0 ||
			(s->brk_start >= low && s->brk_start <= high);
}

/** Does a stack grow down from the high end of the gap before mapping `i`? */
static bool stack_grows_into(const struct process_space *s, size_t i) {
	return i < s->mappings.n && strcmp(s->mappings.items[i].name, "[stack]") == 0;
}

static bool reaches(uint64_t at, uint64_t bytes, uint64_t low, uint64_t high) {
	uint64_t from = at < low ? at : low;
	uint64_t to = at + bytes > high ? at + bytes : high;
	return to - from < machine.reach;
}

uint64_t gap_near(const struct process_space *s, uint64_t low, uint64_t high, uint64_t bytes) {
	uint64_t best = 0, best_distance = UINT64_MAX;
	uint64_t gap_low = LOWEST;
	for (size_t i = 0; i <= s->mappings.n; i++) {
		uint64_t gap_high = i < s->mappings.n ? s->mappings.items[i].start : machine.address_end;
		bool is_usable = gap_high > gap_low && gap_high - gap_low >= bytes + 2 * GAP_MARGIN;
		bool may_use[] = {is_usable && !(i > 0 && heap_grows_into(s, i - 1, gap_low, gap_high)),
				is_usable && !stack_grows_into(s, i)};
		uint64_t ends[] = {gap_low + GAP_MARGIN, gap_high - GAP_MARGIN - bytes};
		for (unsigned e = 0; e < 2; e++) {
			uint64_t at = ends[e] & ~(uint64_t)4095;
			uint64_t distance = at < low ? low - at : at - high;
			if (may_use[e] && reaches(at, bytes, low, high) && distance < best_distance) {
				best = at;
				best_distance = distance;
			}
		}
		if (i < s->mappings.n) {
			gap_low = s->mappings.items[i].end;
		}
	}
	return best;
}
