// SPDX-License-Identifier: MIT
/*
 * In a tree of processes, a copy of a recorded one is recorded from the start.
 *
 *      parent, before the fork       child, after it
 *         │ KIND_FORK, number n         │ asks for a cell: a copy by fork n
 *
 * The end of a process is recorded, too, so that its memory goes before its parent's wait returns.
 *
 * The first two are handlers of the C library, which as the first ones registered run last before
 * the fork and first after it. A fork by a bare system call runs neither, and one inside a hook has
 * no number; such a child announces itself, as without a tree.
 */
#include "recorder/core/hook/hook.h"
#include "recorder/preload/collector.h"

static _Thread_local uint32_t fork_number __attribute__((tls_model("initial-exec")));

static void before(void) {
	fork_number = hook_note_fork(MACHINE_CALLER());
}

void fork_note_end(void) {
	hook_note_end(MACHINE_CALLER());
}

static void in_child(void) {
	if (fork_number != 0) {
		switch_join(fork_number);
	}
}

extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
		void *library) __attribute__((weak)); // musl has none

void fork_begin(void) {
	if (switch_is_on_or_paused() && (segment.options & SEGMENT_TREE) != 0 &&
			&__register_atfork != NULL) {
		(void)__register_atfork(before, NULL, in_child, NULL);
	}
}
