// SPDX-License-Identifier: MIT
/* Launches a program with the recorder preloaded. */
#include "collector/start/steps.h"

// ---- the steps shared with injected.c

bool child_fork(struct run *run, const struct launch *launch, char **environment, struct err *err) {
	struct spawn_program *program = arena_new(&run->arena, struct spawn_program, 1);
	char **argv = launch_arguments(launch, run->argv, &run->arena);
	*program = (struct spawn_program){
			.path = launch->needs_shell ? "/bin/sh" : launch->path,
			.argv = argv,
			.envp = environment,
			.start = &run->start_signals,
			.tracer = run->guardian.pid,
	};
	run->signals_fd = signals_open(err);
	if (run->signals_fd < 0) {
		return false;
	}
	(void)witness_start(&run->witness); // without it, some signals arrive twice
	if (!spawn_fork(&run->spawn, program, err)) {
		return false;
	}
	run->program = run->spawn.pid;
	return true;
}

bool child_exec(struct run *run, const char *variable, int *exit_status, struct err *err) {
	struct process_memory before = {0};
	(void)process_memory(run->program, &before);
	run->rss_before_exec = before.peak_rss_bytes;
	int why;
	if (!spawn_exec(&run->spawn, variable, &why)) {
		*exit_status = why == ENOENT ? 127 : 126;
		return err_system(err, why, "cannot run \"%s\"", run->argv[0]);
	}
	run->spawn.pid = 0;
	return true;
}

/** Instead: end it, and undo everything. */
static void cancel(struct run *run) {
	spawn_cancel(&run->spawn);
	witness_stop(&run->witness);
	signals_restore(&run->start_signals);
}

bool child_run(const struct child_way *way, const struct run_options *options,
		const struct launch *launch, struct run_result *result, struct err *err) {
	struct run *run = run_create(options, result);
	bool has_run = way->prepare(run, launch, result, err);
	if (result->is_untouched) {
		cancel(run);
	}
	has_run = has_run && way->start(run, launch, &result->exit_status, err);
	if (has_run) {
		run_loop(run);
		if (way->is_injected || atomic_load(&run->segment.header->exec) == EXEC_INJECTED) {
			(void)run_note_hooks(run, false, NULL);
		}
		result->exit_status = run->end.is_signaled ? 128 + run->end.status : run->end.status;
		run_close(run, result);
		result->is_explained = way->is_injected && !result->was_recorded;
	}
	run_destroy(run, result->was_recorded);
	return has_run;
}

bool child_check(child_prepare *prepare, struct err *err) {
	static char *const argv[] = {(char *)"heaptrack", NULL}, *const environment[] = {NULL};
	const struct run_options options = {.argv = argv, .environment = environment};
	const struct launch launch = {.path = "/proc/self/exe"};
	struct run_result result;
	struct run *run = run_create(&options, &result);
	bool ok = prepare(run, &launch, &result, err);
	if (run->spawn.pid > 0) {
		(void)kill(run->spawn.pid, SIGKILL); // it has a copy of the guardian's socket
	}
	guardian_stop(&run->guardian); // which hears of the child's end before us
	cancel(run);
	run_destroy(run, false);
	return ok;
}

// ---- its own steps

enum { FILES_LEAST = 32 }; // descriptors that a recording has open, modules aside

static bool has_enough_files(struct err *err) {
	struct rlimit limit;
	return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= FILES_LEAST ||
			err_limit(err, "too few open files allowed (ulimit -n): %u; heaptrack needs %d",
					(unsigned)limit.rlim_cur, FILES_LEAST);
}

/**
 * For an exec of a program that cannot preload the recorder; without a guardian it goes unrecorded.
 */
static void start_guardian(struct run *run) {
	const char *recorder = launch_find(RECORDER_INJECTED, &run->arena, NULL);
	_Atomic uint32_t *exec = &run->segment.header->exec;
	if (recorder && guardian_start(&run->guardian, recorder, exec, NULL)) {
		atomic_store(exec, EXEC_READY);
	}
}

static bool prepare_process(struct run *run, const struct launch *launch, struct run_result *result,
		struct err *err) {
	run->recorder = launch_find(RECORDER_PRELOADED, &run->arena, err);
	if (!run->recorder) {
		// Without /proc the search always fails, so run unrecorded; an installation can be repaired
		result->is_untouched = access("/proc/self", F_OK) != 0;
		return false;
	}
	result->is_untouched = true;
	if (!has_enough_files(err) || !run_make_segment(run, 0, -1, err)) {
		return false;
	}
	if (!run->options->children) {
		start_guardian(run);
	}
	return child_fork(run, launch,
			launch_environment(run->recorder, run->options->environment, &run->arena), err);
}

static bool prepare(struct run *run, const struct launch *launch, struct run_result *result,
		struct err *err) {
	if (!prepare_process(run, launch, result, err)) {
		return false;
	}
	bool has_file = run_open_output(run, err);
	result->is_untouched = has_file; // else the user must choose another name
	if (!has_file || !run_create_parts(run, launch->image, err)) {
		return false;
	}
	run_tell_start(run);
	run_open_door(run);
	result->is_untouched = false;
	return true;
}

static bool start(struct run *run, const struct launch *launch, int *exit_status, struct err *err) {
	(void)launch;
	char *variable = arena_new(&run->arena, char, SEGMENT_ENV_BYTES);
	segment_address(&run->segment, run->tree ? 0 : (uint32_t)run->program, (uint32_t)getpid(),
			variable);
	const struct reason_context reason = {.recorder = run->recorder, .segment = variable};
	children_init(&run->children, run->program, reason);
	if (!child_exec(run, variable, exit_status, err)) {
		return false;
	}
	run_watch_exec(run, false);
	if (!run_start_watch(run, (struct watch_params){0}, err)) {
		(void)kill(run->program, SIGKILL); // nobody would see its end
		*exit_status = 1;
		return false;
	}
	return true;
}

bool run_program(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err) {
	return child_run(&(struct child_way){prepare, start, false}, options, launch, result, err);
}

bool run_check_program(struct err *err) {
	return child_check(prepare_process, err);
}
