// SPDX-License-Identifier: MIT

/*
 *   program                         heaptrack                    guardian
 *      │ ASKED ──────────────────────►│ catch ──────────────────►│ seizes
 *      │ ◄─────────────────── SEIZED  │                          │
 *      │ execs ────────────────────────────────────────────────►│ preloaded: lets go
 *      │                              │ ◄──────────── held, else │
 *      │ ◄─────────────────────────── │ share, attach, let go ──►│ injected
 */

#include "collector/run/follow.h"

#include "collector/run/hooks.h"
#include "sys/futex.h"

#include <limits.h>
#include <stdio.h>

bool exec_follow_is_asked(const struct run *run) {
	return atomic_load(&run->segment.header->exec) == EXEC_ASKED;
}

static void say_unrecorded(struct run *run, struct err *why) {
	char exe[4096] = "the next program";
	(void)process_link(run->program, "exe", exe, sizeof exe);
	(void)err_add(why, "\"%s\" was not recorded", exe);
	run->options->say(run->options->user, why->text);
}

/** It is held. */
static bool get_in(struct run *run, struct err *err) {
	if (!guardian_share(&run->guardian, run->segment.memory.fd, err) ||
			!guardian_attach(&run->guardian, 0, NULL, NULL, err)) {
		return false;
	}
	atomic_store(&run->segment.header->exec, EXEC_INJECTED);
	(void)attach_note_hooks(run, !run->options->is_quiet, NULL);
	return true;
}

void exec_follow(struct run *run) {
	_Atomic uint32_t *word = &run->segment.header->exec;
	struct err err = {0};
	if (!exec_follow_is_asked(run)) {
		return;
	}
	bool is_caught = run->guardian.pid > 0 && guardian_catch(&run->guardian, run->program, &err);
	uint32_t asked = EXEC_ASKED;
	if (!atomic_compare_exchange_strong(word, &asked, is_caught ? EXEC_SEIZED : EXEC_NONE) &&
			is_caught) {
		atomic_store(word, EXEC_FAILED); // it has gone on by itself
	}
	futex_wake(word, INT_MAX);
	if (!is_caught) {
		return;
	}
	bool is_left;
	if (!guardian_follow(&run->guardian, run->program, &run->program_inside, &is_left, &err)) {
		if (!is_left) {
			say_unrecorded(run, &err);
		}
		uint32_t seized = EXEC_SEIZED; // the guardian has ended, else it would be ready
		(void)atomic_compare_exchange_strong(word, &seized, EXEC_NONE);
		return;
	}
	if (!get_in(run, &err)) {
		atomic_store(word, EXEC_NONE);
		say_unrecorded(run, &err);
	}
	guardian_let_go(&run->guardian);
}
