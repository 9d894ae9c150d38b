// SPDX-License-Identifier: MIT
/* The resident, and the list of mappings in it that has to be undone when heaptrack detaches. */
#include "host.h"

#include "recorder/core/own.h"

struct resident *inject_resident;

void host_mapped(void *at, size_t bytes) {
	own_mapped(at, bytes);
	struct resident_range *ranges = inject_resident->mappings;
	for (unsigned i = 0; i < RESIDENT_MAPPINGS; i++) {
		uint64_t none = 0;
		if (__atomic_compare_exchange_n(&ranges[i].bytes, &none, bytes, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED)) {
			ranges[i].at = (uint64_t)at;
			return;
		}
	}
}

/** Whole, or the end of one. */
void host_unmapped(void *at, size_t bytes) {
	own_unmapped(at);
	struct resident_range *ranges = inject_resident->mappings;
	for (unsigned i = 0; i < RESIDENT_MAPPINGS; i++) {
		uint64_t end = ranges[i].at + ranges[i].bytes;
		if (ranges[i].bytes != 0 && (uint64_t)at >= ranges[i].at && (uint64_t)at < end &&
				(uint64_t)at + bytes >= end) {
			ranges[i].bytes = (uint64_t)at - ranges[i].at;
			return;
		}
	}
}
