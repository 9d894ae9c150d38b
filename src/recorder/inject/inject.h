// SPDX-License-Identifier: MIT
#pragma once

/** Between the stub and the hooks: what arch/<machine>/inject.S lays out and calls. */

#include "recorder/core/hook.h"
#include "recorder/inject/layout.h"
#include "wire/resident.h"

/** A call of a patched function, lowest address first; behind it the caller's stack goes on. */
struct inject_frame {
	uint64_t moved; // what the stub calls: the real function
	uint32_t kind, reserved;
	uint64_t ptr, size; // arguments: the registers below change
	struct thread_words *self;
	uint64_t align;
	struct hook hook;
	// The caller's registers, then, but for r10 and r11, those that the real function has left
	uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax;
	struct resident_hook *what;
	uint64_t bp, pc; // the caller's frame pointer, and where it goes on
};

/** Patched functions come here, by an island that has pushed `bp` and `what`. */
void inject_stub(void);

void inject_enter(struct inject_frame *f);
void inject_leave(struct inject_frame *f);

/** Open the door. Called once, from outside, before anything is patched. 1: it is open. */
long inject_begin(struct resident *resident);

/** Where inject_begin returns to: makes the system call INJECT_DONE for ever. */
void inject_done(void);
