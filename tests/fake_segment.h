// SPDX-License-Identifier: MIT
#pragma once

/**
 * A segment as the collector would make it, in plain memory of this process: enough for the
 * recorder's core to capture stacks into.
 */

#include "recorder/core/capture/capture.h"

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

/** The view of a fresh segment with room for `n_nodes` and `n_modules` (entry 0 included). */
static inline struct capture_world fake_segment(uint32_t n_nodes, uint32_t n_modules) {
	struct capture_world w = {
			.header = fake_pages(sizeof(struct segment_header)),
			.modules = fake_pages((size_t)n_modules * sizeof(struct wire_module)),
			.nodes = fake_pages((size_t)n_nodes * sizeof(struct wire_node)),
			.n_modules_max = n_modules,
			.n_nodes_max = n_nodes,
			.image = 1,
	};
	w.header->n_nodes = 1;
	return w;
}
