// SPDX-License-Identifier: MIT

/*
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

#include "collector/injected.h"

#include "collector/run/hooks.h"
#include "sys/clock.h"
#include "sys/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fork_program(struct run *run, const struct launch *launch, struct err *err) {
	const struct run_options *o = run->options;
	struct spawn_program *program = arena_new(&run->arena, struct spawn_program, 1);
	char **argv = launch_arguments(launch, o->argv, &run->arena);
	if (!program || !argv) {
		return err_memory(err);
	}
	*program = (struct spawn_program){
			.path = launch->needs_shell ? "/bin/sh" : launch->path,
			.argv = argv,
			.envp = (char **)o->environment,
			.start = &run->start_signals,
			.tracer = run->guardian.pid,
	};
	if (!spawn_fork(&run->spawn, program, err)) {
		return false;
	}
	run->program = run->program_inside = run->spawn.pid;
	return true;
}

/** A program that waits to exec, and will be caught. */
static bool prepare(struct run *run, const struct launch *launch, struct err *err) {
	signals_save(&run->start_signals);
	const char *recorder = attach_find_recorder(&run->arena, err);
	if (!recorder || !guardian_start(&run->guardian, recorder, NULL, err)) {
		return false;
	}
	run->signals_fd = signals_open(err);
	if (run->signals_fd >= 0) {
		(void)witness_start(&run->witness, NULL);
	}
	return run->signals_fd >= 0 && fork_program(run, launch, err) &&
			guardian_catch(&run->guardian, run->program, err);
}

static bool go_on(struct run *run, const struct launch *launch, int *exit_status, struct err *err) {
	struct process_memory before = {0};
	(void)process_memory(run->program, &before);
	run->rss_before_exec = before.peak_rss_bytes;
	// Before: one that cannot exec ends, and its tracer must take note of that first
	guardian_await(&run->guardian, run->program,
			launch->has_loader ? INJECTOR_AT_LOAD : INJECTOR_AT_EXEC);
	int why;
	if (!spawn_exec(&run->spawn, NULL, &why)) {
		*exit_status = why == ENOENT ? 127 : 126;
		return err_system(err, why, "cannot run \"%s\"", run->options->argv[0]);
	}
	run->spawn.pid = 0;
	return true;
}

/** What fails here leaves a program that runs without the recorder. */
static bool get_in_or_say_why(struct run *run, struct err *err) {
	const struct segment_params alone = {.start_ns = clock_now_ns()};
	struct err why = {0};
	if (guardian_awaited(&run->guardian, &run->program_inside, &why) &&
			attach_make_segment(run, &why)) {
		return true;
	}
	guardian_stop(&run->guardian); // the program goes on
	(void)err_add(&why, "\"%s\" runs unrecorded", run->options->argv[0]);
	run->options->say(run->options->user, why.text);
	return run_make_segment(run, &alone, err);
}

static bool record(struct run *run, const struct launch *launch, struct err *err) {
	if (!get_in_or_say_why(run, err) || !run_open_output(run, err) ||
			!run_create_parts(run, launch->image, err) || !segment_hold(&run->segment, err)) {
		return false;
	}
	run_watch_exec(run, false);
	run_note_image(run);
	struct err why = {0};
	bool has_guardian = run->guardian.pid > 0;
	if (has_guardian && !guardian_attach(&run->guardian, 0, NULL, NULL, &why)) {
		(void)err_add(&why, "\"%s\" runs unrecorded", run->options->argv[0]);
		run->options->say(run->options->user, why.text);
	} else if (has_guardian) {
		(void)attach_note_hooks(run, !run->options->is_quiet, NULL);
	}
	return true;
}

/** The program has begun. False: nobody would see its end, it has been ended. */
static bool start(struct run *run, const struct launch *launch, struct err *err) {
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
	memset(result, 0, sizeof *result);
	result->exit_status = 1;
	struct run *run = calloc(1, sizeof *run);
	if (!run) {
		return err_memory(err);
	}
	run_init(run, options);
	result->is_untouched = !prepare(run, launch, err);
	if (result->is_untouched) {
		spawn_cancel(&run->spawn);
		signals_restore(&run->start_signals); // it will be run in another way
	}
	bool has_run = !result->is_untouched && go_on(run, launch, &result->exit_status, err) &&
			start(run, launch, err);
	if (has_run) {
		run_loop(run);
		(void)attach_note_hooks(run, false, NULL);
		result->exit_status = run->end.is_signaled ? 128 + run->end.status : run->end.status;
		run_close(run, result);
		result->is_explained = !result->was_recorded;
	}
	output_close(&run->output, result->was_recorded);
	run_tear_down(run);
	free(run);
	return has_run;
}
