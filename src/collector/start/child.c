// SPDX-License-Identifier: MIT
/* The steps that launched.c and injected.c share. */
#include "collector/launch/parts.h"
#include "collector/start/steps.h"
#include "sys/process.h"

#include <errno.h>
#include <signal.h>

bool child_fork(struct run *run, const struct launch *launch, char **environment, struct err *err) {
	struct spawn_program *program = arena_new(&run->arena, struct spawn_program, 1);
	char **argv = launch_arguments(launch, run->options->argv, &run->arena);
	if (!program || !argv || !environment) {
		return err_memory(err);
	}
	*program = (struct spawn_program){
			.path = launch->needs_shell ? "/bin/sh" : launch->path,
			.argv = argv,
			.envp = environment,
			.start = &run->start_signals,
			.tracer = run->guardian.pid,
	};
	if (!spawn_fork(&run->spawn, program, err)) {
		return false;
	}
	run->program = run->spawn.pid;
	return true;
}

void child_cancel(struct run *run) {
	spawn_cancel(&run->spawn);
	witness_stop(&run->witness);
	signals_restore(&run->start_signals);
}

static char *const check_argv[] = {(char *)"heaptrack", NULL};
static char *const check_environment[] = {NULL};
const struct run_options child_check_options = {.argv = check_argv,
		.environment = check_environment};
const struct launch child_check_launch = {.path = "/proc/self/exe"};

void child_end_check(struct run *run) {
	if (run) {
		if (run->spawn.pid > 0) {
			(void)kill(run->spawn.pid, SIGKILL); // it has a copy of the guardian's socket
		}
		guardian_stop(&run->guardian); // which is told of the child's end before us
		child_cancel(run);
		run_destroy(run, false);
	}
}

bool child_exec(struct run *run, const char *variable, int *exit_status, struct err *err) {
	struct process_memory before = {0};
	(void)process_memory(run->program, &before);
	run->rss_before_exec = before.peak_rss_bytes;
	int why;
	if (!spawn_exec(&run->spawn, variable, &why)) {
		*exit_status = why == ENOENT ? 127 : 126;
		return err_system(err, why, "cannot run \"%s\"", run->options->argv[0]);
	}
	run->spawn.pid = 0;
	return true;
}

void child_record(struct run *run, bool is_injected, struct run_result *result) {
	run_loop(run);
	if (is_injected || atomic_load(&run->segment.header->exec) == EXEC_INJECTED) {
		(void)run_note_hooks(run, false, NULL);
	}
	result->exit_status = run->end.is_signaled ? 128 + run->end.status : run->end.status;
	run_close(run, result);
}
