// SPDX-License-Identifier: MIT
/*
 * Launches a program and injects the recorder before any of its code has run.
 *
 *   heaptrack                 guardian                    program
 *      │ fork ──────────────────────────────────────────────►│ waits
 *      │ catch ──────────────────►│ seizes ─────────────────►│
 *      │ go on ─────────────────────────────────────────────►│ execs, loads its libraries
 *      │ create, memory, attach ─►│ holds, maps, patches ───►│
 *      │ let go ─────────────────►│ ────────────────────────►│ runs
 *
 * Up to "go on" a failure leaves everything as it was. After it the program must run, and does,
 * unrecorded if need be.
 */
#include "collector/start/steps.h"

/** Prepare a process that waits to exec, caught by the guardian. */
static bool prepare(struct run *run, const struct launch *launch, struct run_result *result,
		struct err *err) {
	const char *recorder = launch_find(RECORDER_INJECTED, &run->arena, err);
	bool ok = recorder && guardian_start(&run->guardian, recorder, NULL, err) &&
			child_fork(run, launch, (char **)run->options->environment, err) &&
			guardian_catch(&run->guardian, run->program, err);
	result->is_untouched = !ok; // it will be run in another way
	return ok;
}

static void say_unrecorded(struct run *run, struct err *why) {
	(void)err_add(why, "\"%s\" runs unrecorded", run->argv[0]);
	run_say(run, "%s", why->text);
}

/** If this fails, the program runs without the recorder, in an empty recording. */
static bool get_in_or_say_why(struct run *run, struct err *err) {
	struct err why = {0};
	if (guardian_awaited(&run->guardian, &run->program_inside, &why) &&
			run_make_injected_segment(run, &why)) {
		return true;
	}
	guardian_stop(&run->guardian); // the program goes on
	say_unrecorded(run, &why);
	return run_make_segment(run, SEGMENT_NO_MAPPINGS, -1, err);
}

static bool record(struct run *run, const struct launch *launch, struct err *err) {
	if (!get_in_or_say_why(run, err) || !run_open_output(run, err) ||
			!run_create_parts(run, launch->image, err)) {
		return false;
	}
	run_watch_exec(run, false);
	struct err why = {0};
	bool has_guardian = run->guardian.pid > 0;
	if (has_guardian && !guardian_attach(&run->guardian, 0, NULL, NULL, &why)) {
		say_unrecorded(run, &why);
		run->records_mappings = false;
	} else if (has_guardian) {
		run_tell_start(run);
		(void)run_note_hooks(run, !run->options->is_quiet, NULL);
	}
	return true;
}

/** Start the program. False: it was killed, since nobody would see its end. */
static bool start(struct run *run, const struct launch *launch, int *exit_status, struct err *err) {
	run->program_inside = run->program;
	// Before the exec: a child that cannot exec ends, and its tracer must notice
	guardian_await(&run->guardian, run->program,
			launch->has_loader ? INJECTOR_AT_LOAD : INJECTOR_AT_EXEC);
	if (!child_exec(run, NULL, exit_status, err)) {
		return false;
	}
	if (record(run, launch, err) && run_start_watch(run, (struct watch_params){0}, err)) {
		if (run->guardian.pid > 0) {
			guardian_let_go(&run->guardian);
		}
		return true;
	}
	(void)kill(run->program, SIGKILL);
	return false;
}

bool run_injected_program(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err) {
	return child_run(&(struct child_way){prepare, start, true}, options, launch, result, err);
}

bool run_check_injected(struct err *err) {
	return child_check(prepare, err) && injector_check_machine(false, err);
}
