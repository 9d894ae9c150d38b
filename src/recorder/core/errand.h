// SPDX-License-Identifier: MIT
#pragma once
/** Errands (wire/resident.h). */

#include "recorder/core/segment.h"
#include "wire/resident.h"

/** Where they begin: at a system call with the registers as they are, %rbx being the errand. */
void errand_begin(void);

/** All but the first call. If nobody comes to fetch the thread, returns the frame to go back by. */
uint64_t errand_do(struct errand *errand);

/** Tell the collector where there is room for an errand, preceded by a stack of its own. */
static inline void errand_offer(const void *at) {
	atomic_store(&segment.header->errand_at, (uint64_t)at);
	atomic_store(&segment.header->errand_code, (uint64_t)errand_begin);
}
