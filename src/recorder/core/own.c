// SPDX-License-Identifier: MIT
/* Tells the collector which anonymous memory is the recorder's. What finds no room is not told. */
#include "recorder/core/own.h"

static _Atomic(struct wire_range *) known; // NULL: there is no segment yet

void own_begin(struct wire_range ranges[WIRE_N_OWN]) {
	for (unsigned i = 0; i < WIRE_N_OWN; i++) {
		atomic_store(&ranges[i].bytes, 0);
	}
	atomic_store(&known, ranges);
}

void own_mapped(const void *at, size_t bytes) {
	struct wire_range *ranges = atomic_load(&known);
	for (unsigned i = 0; ranges != NULL && i < WIRE_N_OWN; i++) {
		uint64_t none = 0;
		if (atomic_load(&ranges[i].bytes) == 0 &&
				atomic_compare_exchange_strong(&ranges[i].bytes, &none, bytes)) {
			atomic_store(&ranges[i].at, (uint64_t)at);
			return;
		}
	}
}

void own_unmapped(const void *at) {
	struct wire_range *ranges = atomic_load(&known);
	for (unsigned i = 0; ranges != NULL && i < WIRE_N_OWN; i++) {
		if (atomic_load(&ranges[i].at) == (uint64_t)at && atomic_load(&ranges[i].bytes) != 0) {
			atomic_store(&ranges[i].at, 0);
			atomic_store(&ranges[i].bytes, 0);
			return;
		}
	}
}
