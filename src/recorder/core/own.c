// SPDX-License-Identifier: MIT
/* A range is claimed by its number of bytes; its address follows. */
#include "recorder/core/own.h"

#include <stdbool.h>

static struct {
	_Atomic(struct wire_range *) ranges; // NULL: not begun
	unsigned n;
} lists[OWN_LISTS];

void own_begin(enum own_list list, struct wire_range *ranges, unsigned n) {
	for (unsigned i = 0; i < n; i++) {
		atomic_store(&ranges[i].bytes, 0);
	}
	lists[list].n = n;
	atomic_store(&lists[list].ranges, ranges);
}

void own_note(enum own_list list, const void *at, size_t bytes) {
	struct wire_range *ranges = atomic_load(&lists[list].ranges);
	for (unsigned i = 0; ranges != NULL && i < lists[list].n; i++) {
		uint64_t none = 0;
		if (atomic_load(&ranges[i].bytes) == 0 &&
				atomic_compare_exchange_strong(&ranges[i].bytes, &none, bytes)) {
			atomic_store(&ranges[i].at, (uint64_t)at);
			return;
		}
	}
}

void own_mapped(const void *at, size_t bytes) {
	for (unsigned list = 0; list < OWN_LISTS; list++) {
		own_note(list, at, bytes);
	}
}

static bool cut(struct wire_range *range, uint64_t at, uint64_t bytes) {
	uint64_t start = atomic_load(&range->at), had = atomic_load(&range->bytes);
	bool is_its_end = at - start < had && at + bytes >= start + had;
	if (is_its_end) {
		atomic_store(&range->at, at == start ? 0 : start);
		atomic_store(&range->bytes, at - start);
	}
	return is_its_end;
}

void own_unmapped(const void *at, size_t bytes) {
	for (unsigned list = 0; list < OWN_LISTS; list++) {
		struct wire_range *ranges = atomic_load(&lists[list].ranges);
		unsigned i = 0;
		while (ranges != NULL && i < lists[list].n && !cut(&ranges[i], (uint64_t)at, bytes)) {
			i++;
		}
	}
}
