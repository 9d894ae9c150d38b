// SPDX-License-Identifier: MIT
/*
 * Unwind tables of generated code, in an array of places. Places are taken and given back by
 * compare-and-swap on `frame`. Only tables that cover a program counter on a stack are read: that
 * code is still there, and so are its tables.
 */
#include "recorder/core/segment.h"
#include "recorder/core/unwind/modules.h"

enum { FRAMES_MAX = 1 << 16 };

struct frames {
	_Atomic(const uint8_t *) frame; // NULL: free
	_Atomic uint64_t low, high;     // program counters; 0, 0 while being filled in
};

static _Atomic(struct frames *) table;
static _Atomic uint32_t n_frames; // places used so far

static struct frames *take(struct frames *t, const uint8_t *frame) {
	for (uint32_t i = 0; i < FRAMES_MAX; i++) {
		const uint8_t *none = NULL;
		if (atomic_load(&t[i].frame) == NULL &&
				atomic_compare_exchange_strong(&t[i].frame, &none, frame)) {
			uint32_t n = atomic_load(&n_frames);
			while (n < i + 1 && !atomic_compare_exchange_weak(&n_frames, &n, i + 1)) {}
			return &t[i];
		}
	}
	return NULL;
}

void registered_add(const void *eh_frame) {
	uint64_t low, high;
	bool may_map = segment.header != NULL && segment_may_call_system();
	struct frames *t = may_map ? SYS_MAP_ONCE(&table, FRAMES_MAX * sizeof *t) : atomic_load(&table);
	if (t == NULL || eh_frame == NULL || !eh_range(eh_frame, &low, &high)) {
		return;
	}
	struct frames *f = take(t, eh_frame);
	if (f == NULL) {
		return; // such code is unwound by frame pointers
	}
	atomic_store(&f->high, high);
	atomic_store(&f->low, low);
	atomic_fetch_add_explicit(&code_generation, 1, memory_order_release);
}

void registered_remove(const void *eh_frame) {
	struct frames *t = atomic_load(&table);
	for (uint32_t i = 0; t != NULL && i < atomic_load(&n_frames); i++) {
		if (eh_frame != NULL && atomic_load(&t[i].frame) == eh_frame) {
			atomic_store(&t[i].high, 0);
			atomic_store(&t[i].low, 0);
			atomic_store(&t[i].frame, NULL);
			atomic_fetch_add_explicit(&code_generation, 1, memory_order_release);
			return;
		}
	}
}

bool registered_find(uint64_t pc, struct eh_fde *fde) {
	struct frames *t = atomic_load(&table);
	for (uint32_t i = 0; t != NULL && i < atomic_load(&n_frames); i++) {
		const uint8_t *frame = atomic_load(&t[i].frame);
		const struct eh_tables tables = {NULL, frame, (uint64_t)frame, INT64_MAX};
		if (frame != NULL && pc >= atomic_load(&t[i].low) && pc < atomic_load(&t[i].high) &&
				eh_find(&tables, pc, fde)) {
			return true;
		}
	}
	return false;
}
