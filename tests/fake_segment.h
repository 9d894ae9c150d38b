// SPDX-License-Identifier: MIT
#pragma once

/**
 * A segment as the collector makes one, in plain memory of this process.
 *
 * It is enough for the recorder's core to capture stacks, and with slots to record events.
 */

#include "recorder/core/segment.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

static inline void *fake_pages(size_t bytes) {
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED) {
		abort();
	}
	return pages;
}

/** Make `segment` a fresh one with room for `n_nodes` and `n_modules` (entry 0 included). */
static inline void fake_segment(uint32_t n_nodes, uint32_t n_modules) {
	segment = (struct segment){
			.header = fake_pages(sizeof(struct segment_header)),
			.modules = fake_pages((size_t)n_modules * sizeof(struct wire_module)),
			.nodes = fake_pages((size_t)n_nodes * sizeof(struct wire_node)),
			.n_modules = n_modules,
			.n_nodes = n_nodes,
			.n_nodes_open = n_nodes,
			.page_bytes = WIRE_PAGE_LEAST,
			.image = 1,
	};
	segment.common = &segment.header->common;
	segment.header->n_nodes = 1;
}

/** Add `n` slots, in each of which a thread can record events. */
static inline void fake_slots(uint32_t n, uint64_t slot_bytes) {
	segment.slots = fake_pages(n * slot_bytes);
	segment.slot_bytes = slot_bytes;
	segment.n_slots = n;
}
