// SPDX-License-Identifier: MIT
#pragma once
/**
 * Functions of V8's frames, from their slots. Any thread for its own frames, any signal handler.
 */

#include "recorder/core/runtime/guard.h"
#include "recorder/core/unwind/runtimes.h"

/** What a frame stood for, and still does while these words and `epoch` are the same. */
enum { V8_WORDS = 6 };
struct v8_memo {
	uint64_t pc, frame, where;
	uint64_t epoch;
	uint64_t at[V8_WORDS], value[V8_WORDS];
};

struct v8_reader {
	const struct runtime *runtime;
	struct guard *guard;
	const struct window *stack; // readable
	uint32_t thread;
};

/** As v8_where, if `m` does not know it, or no longer. */
uint64_t v8_find_where(const struct v8_reader *r, uint64_t pc, uint64_t frame, struct v8_memo *m);

/** What a frame that goes on at `pc` stands for; 0: only its code, or unknown. `m` persists. */
static inline uint64_t v8_where(const struct v8_reader *r, uint64_t pc, uint64_t frame,
		struct v8_memo *m) {
	if (unlikely(m->frame != frame || m->pc != pc || m->epoch != r->guard->epoch)) {
		return v8_find_where(r, pc, frame, m);
	}
	// In this order: an object is only looked at if the frame still refers to it. Another thread
	// may be about to unmap what is dead
	for (unsigned i = 0; i < V8_WORDS; i++) {
		if (unlikely(walk_load(m->at[i]) != m->value[i])) {
			return v8_find_where(r, pc, frame, m);
		}
	}
	return m->where;
}
