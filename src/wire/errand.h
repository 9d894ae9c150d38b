// SPDX-License-Identifier: MIT
#pragma once
/**
 * System calls that a stopped thread of the target makes for heaptrack, its *errand*.
 *
 * After them it may call a function of the recorder. The thread runs on the resident's stack, with
 * its signals blocked, and says when it is done; heaptrack then stops it and restores its
 * registers. If heaptrack was killed, the thread returns by itself after ERRAND_PATIENCE_S, as from
 * a signal handler, by `frame`. Until then nothing here may be overwritten, and the thread may not
 * be sent elsewhere: it would come back to where it waits.
 *
 *   sent ──► BEGUN ──► all calls made ──► DONE ──► stopped, its registers restored: NONE
 *                                           └────► nobody came: LEFT, rt_sigreturn
 */

#include <stdint.h>

enum { ERRAND_CALLS = 100, ERRAND_PATIENCE_S = 5, ERRAND_NOT_MADE = INT32_MIN };

enum errand_state {
	ERRAND_NONE = 0, // the thread has its own registers again
	ERRAND_BEGUN = 1,
	ERRAND_DONE = 2,
	ERRAND_LEFT = 3, // by now, or in a moment
};

struct errand_call {
	int64_t number;
	uint64_t arguments[6];
	int64_t result; // as the kernel gives it; ERRAND_NOT_MADE: a call before it failed
};
_Static_assert(sizeof(struct errand_call) == 64, "layout");

struct errand {
	uint32_t state; // enum errand_state
	uint32_t n_calls;
	uint64_t function, argument; // called when all calls have succeeded; 0: none
	int64_t result;              // of it, or ERRAND_NOT_MADE
	uint64_t frame;              // of rt_sigreturn
	struct errand_call calls[ERRAND_CALLS];
};

/** The place of the errand in the resident, and of the frame behind it. */
enum { ERRAND_FRAME_AT = 2 * 4096, ERRAND_BYTES = 8 * 4096 };
_Static_assert(sizeof(struct errand) <= ERRAND_FRAME_AT, "fits");
