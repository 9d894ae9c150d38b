// SPDX-License-Identifier: MIT
/* The first thread to see a layout takes it; others meanwhile make rules of the old generation. */
#include "recorder/core/unwind/runtimes.h"

#include "recorder/core/unwind/modules.h"

#define BEING_TAKEN UINT32_MAX

_Atomic uint32_t runtimes_n;
_Atomic uint32_t runtimes_seen;

struct runtime runtimes[WIRE_N_LAYOUTS];

/** One after the other, as the collector writes them. False: there are no more. */
static bool take_next(void) {
	static uint32_t row;
	const struct wire_layout *l = &segment.layouts[row];
	// Acquire pairs with the collector's store
	if (row == WIRE_N_LAYOUTS || atomic_load_explicit(&l->is_in_force, memory_order_acquire) == 0) {
		return false;
	}
	uint32_t n = atomic_load(&runtimes_n);
	bool is_ours = l->image == segment.image && (l->kind == MODULE_PYTHON || l->kind == MODULE_V8);
	uint32_t module = is_ours && segment.units != NULL && (n > 0 || segment_open_units(true))
			? modules_add_virtual((uint8_t)l->kind, (uint16_t)row)
			: 0;
	if (module != 0) {
		runtimes[n] = (struct runtime){l, row, module};
		atomic_store_explicit(&runtimes_n, n + 1, memory_order_release);
	}
	row++;
	return true;
}

void runtimes_take(void) {
	uint32_t seen = atomic_load(&runtimes_seen);
	uint32_t now = atomic_load(&segment.header->runtime_generation);
	if (seen == BEING_TAKEN || !segment_may_call_system() ||
			!atomic_compare_exchange_strong(&runtimes_seen, &seen, BEING_TAKEN)) {
		return;
	}
	while (segment.layouts != NULL && take_next()) {}
	atomic_fetch_add_explicit(&code_generation, 1, memory_order_release);
	atomic_store(&runtimes_seen, now);
}

const struct runtime *runtimes_find(uint64_t where) {
	uint64_t pc = wire_where_pc(where);
	for (uint32_t i = 0; i < atomic_load_explicit(&runtimes_n, memory_order_acquire); i++) {
		const struct wire_layout *l = runtimes[i].layout;
		if (atomic_load_explicit(&l->is_in_force, memory_order_relaxed) == 0) {
			continue; // no longer
		}
		if (l->kind == MODULE_V8 && wire_where_module(where) == 0) {
			return &runtimes[i];
		}
		for (uint32_t k = 0; k < l->n_ranges && k < WIRE_N_RANGES; k++) {
			if (pc > l->ranges[k].start && pc <= l->ranges[k].end) { // return addresses
				return &runtimes[i];
			}
		}
	}
	return NULL;
}
