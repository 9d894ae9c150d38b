// SPDX-License-Identifier: MIT
#pragma once
/**
 * The functions of V8's frames, from their slots. Any thread, any signal handler; only the thread
 * itself changes its frames.
 */

#include "recorder/core/runtime/guard.h"
#include "recorder/core/unwind/runtimes.h"

/**
 * What a frame has stood for, and all words that say so. As long as these are the same, and the
 * memory is there (`epoch`), it still does.
 */
enum { V8_WORDS = 6 };
struct v8_memo {
	uint64_t pc, frame, where;
	uint64_t epoch;
	uint64_t at[V8_WORDS], value[V8_WORDS];
};

/** Where V8's objects are looked for. */
struct v8_reader {
	const struct runtime *runtime;
	struct guard *guard;
	const struct window *stack; // readable
	uint32_t thread;
};

/** As v8_where, if it is not in `m`, or no longer. */
uint64_t v8_find_where(const struct v8_reader *r, uint64_t pc, uint64_t frame, struct v8_memo *m);

/**
 * What the frame that goes on at `pc` stands for. 0: nothing but its code, or it cannot be known.
 * `m`: the same one for it as the last time, if it can be.
 */
static inline uint64_t v8_where(const struct v8_reader *r, uint64_t pc, uint64_t frame,
		struct v8_memo *m) {
	if (unlikely(m->frame != frame || m->pc != pc || m->epoch != r->guard->epoch)) {
		return v8_find_where(r, pc, frame, m);
	}
	// In this order: what an object says is only looked at if the frame still refers to it. Another
	// thread may be about to unmap what is dead
	for (unsigned i = 0; i < V8_WORDS; i++) {
		if (unlikely(walk_load(m->at[i]) != m->value[i])) {
			return v8_find_where(r, pc, frame, m);
		}
	}
	return m->where;
}
