// SPDX-License-Identifier: MIT
/*
 * What an injected recorder hooked, and how it follows an exec.
 *
 *   program                         heaptrack                    guardian
 *      │ ASKED ──────────────────────►│ catch ──────────────────►│ seizes
 *      │ ◄─────────────────── SEIZED  │                          │
 *      │ execs ────────────────────────────────────────────────►│ preloaded: lets go
 *      │                              │ ◄──────────── held, else │
 *      │ ◄─────────────────────────── │ share, attach, let go ──►│ injected
 */
#include "collector/run/parts.h"

enum { REPORT_BYTES = 16 << 10 };

// ---- the recorder

static void say_hooks(struct run *run, const struct rec_allocator *a) {
	const struct slice *texts = run->texts.items;
	if (a->why == 0) {
		run_say(run, "hooked in %.*s: %.*s", SLICE_ARG(texts[a->module]),
				SLICE_ARG(texts[a->functions]));
	} else {
		run_say(run, "%.*s of %.*s cannot be hooked: %.*s", SLICE_ARG(texts[a->functions]),
				SLICE_ARG(texts[a->module]), SLICE_ARG(texts[a->why]));
	}
}

/** One line of injector_describe, which is modified. */
static void note_hooks(struct run *run, char *line, bool says_so) {
	char *functions = strchr(line, '\t');
	char *why = functions ? strchr(functions + 1, '\t') : NULL;
	struct rec_allocator *a = why ? vec_push(&run->allocators) : NULL;
	if (!a) {
		return;
	}
	*functions++ = *why++ = '\0';
	*a = (struct rec_allocator){
			.module = texts_id_of(&run->texts, line),
			.functions = texts_id_of(&run->texts, functions),
			.why = texts_id_of(&run->texts, why),
			.n_functions = 1,
	};
	for (const char *at = functions; (at = strstr(at, ", ")); at++) {
		a->n_functions++;
	}
	if (FIND(known, run->allocators.items, run->allocators.n - 1,
				memcmp(known, a, sizeof *a) == 0)) {
		run->allocators.n--; // of another process of the tree
	} else if (says_so) {
		say_hooks(run, a);
	}
}

bool run_note_hooks(struct run *run, bool says_so, struct injector_report *report) {
	struct injector_report r;
	FREED char *text = memory_new(REPORT_BYTES, 1);
	if (!guardian_report(&run->guardian, &r, text, REPORT_BYTES)) {
		return false;
	}
	tries_pass_by(&run->tries, r.code_at, r.code_bytes);
	// Without its functions that map, a program would seem to map nothing
	run->records_mappings = r.maps_are_hooked && !run->options->no_memory && !run->cells;
	if (says_so && !r.maps_are_hooked && !run->options->no_memory) {
		run_say(run, "mmap, munmap or mremap cannot be hooked: what is mapped is not recorded");
	}
	if (report) {
		*report = r;
	}
	run->allocators.n = run->cells ? run->allocators.n : 0;
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		note_hooks(run, line, says_so);
	}
	EACH_OF(collector, run->collectors, run->cells ? 0 : run->n_collectors) {
		(void)vec_add(&run->allocators, *collector);
	}
	return true;
}

bool run_make_injected_segment(struct run *run, struct err *err) {
	CLOSED int fd = guardian_memory(&run->guardian, -1, err);
	bool ok = fd >= 0 && run_make_segment(run, 0, fd, err);
	if (ok) {
		run->segment.header->program_pid = (uint32_t)run->program_inside;
	}
	return ok;
}

// ---- an exec

bool run_exec_is_announced(const struct run *run) {
	return atomic_load(&run->segment.header->exec) == EXEC_ASKED;
}

static void say_unrecorded(struct run *run, struct err *why) {
	char exe[4096] = "the next program";
	(void)process_link(run->program, "exe", exe, sizeof exe);
	(void)err_add(why, "\"%s\" was not recorded", exe);
	run_say(run, "%s", why->text);
}

/** Inject the recorder into a program that the guardian holds. */
static bool get_in(struct run *run, struct err *err) {
	CLOSED int fd = guardian_memory(&run->guardian, run->segment.memory.fd, err);
	if (fd < 0 || !guardian_attach(&run->guardian, 0, NULL, NULL, err)) {
		return false;
	}
	atomic_store(&run->segment.header->exec, EXEC_INJECTED);
	(void)run_note_hooks(run, !run->options->is_quiet, NULL);
	return true;
}

void run_follow_exec(struct run *run) {
	_Atomic uint32_t *word = &run->segment.header->exec;
	struct err err = {0};
	if (!run_exec_is_announced(run)) {
		return;
	}
	bool is_caught = run->guardian.pid > 0 && guardian_catch(&run->guardian, run->program, &err);
	uint32_t asked = EXEC_ASKED;
	if (!atomic_compare_exchange_strong(word, &asked, is_caught ? EXEC_SEIZED : EXEC_NONE) &&
			is_caught) {
		atomic_store(word, EXEC_FAILED); // it went on by itself
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
