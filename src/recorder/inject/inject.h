// SPDX-License-Identifier: MIT
#pragma once

/** Between the stub and the hooks: what arch/<machine>/inject.S lays out and calls. */

#include "recorder/core/hook.h"
#include "recorder/inject/layout.h"
#include "wire/resident.h"

/** A call of a patched function, lowest address first; behind it the caller's stack goes on. */
struct inject_frame {
	uint64_t called; // by the stub: the real function, or its twin that throws no exception
	uint32_t kind, reserved;
	uint64_t ptr, size; // arguments
	struct thread_words *self;
	uint64_t align;
	struct hook hook;
	uint64_t arguments
			[6]; // the caller's registers; rdx and rax, then, as the real function left them
	uint64_t rax, r10, r11;
	union {
		struct resident_hook *what;
		uint64_t goes_on_at;
	};
	uint64_t bp, pc; // the caller's frame pointer, and where it goes on
};

/** Patched functions come here, by an island that has pushed `bp` and `what`. */
void inject_stub(void);

void inject_enter(struct inject_frame *f);
/** True: what was called has found no memory. The real function, at `goes_on_at`, shall say so itself. */
bool inject_leave(struct inject_frame *f);

/** Open the door. Called once, from outside, before anything is patched. 1: it is open. */
long inject_begin(struct resident *resident);

/**
 * Where errands begin (wire/errand.h), in the midst of a system call: the first is made by the registers
 * as they are, so that it can make the resident's memory writable. %rbx: the errand.
 */
void inject_errand(void);

/** All of it but the first call. Returns if nobody came: the frame to go back by. */
uint64_t inject_do_errand(struct errand *errand);
