// SPDX-License-Identifier: MIT
#pragma once

/**
 * What a stopped thread of a process is sent to do for us: system calls in a row, then perhaps a function
 * of the recorder. It runs on the resident's stack, with its signals blocked, and says when it is done;
 * whoever sent it then stops it and gives it its registers back. If nobody comes within
 * ERRAND_PATIENCE_S, because who sent it has been killed, it goes back by itself, as from a signal
 * handler: `frame` has all that it needs. Until then nothing here may be written over, nor may the thread be
 * sent elsewhere: it would come back to where it waits.
 *
 *   sent ──► BEGUN ──► all calls made ──► DONE ──► stopped, its registers given back: NONE
 *                                           └────► nobody came: LEFT, rt_sigreturn
 */

#include <stddef.h>
#include <stdint.h>

enum { ERRAND_CALLS = 100, ERRAND_PATIENCE_S = 5, ERRAND_NOT_MADE = INT32_MIN };

enum errand_state {
	ERRAND_NONE = 0, // who was sent has its own registers again
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

/** The errand's place in the resident, and behind it the frame's. */
enum { ERRAND_FRAME_AT = 2 * 4096, ERRAND_BYTES = 8 * 4096 };
_Static_assert(sizeof(struct errand) <= ERRAND_FRAME_AT, "fits");
