// SPDX-License-Identifier: MIT
#include "base/vec.h"
#include "collector/run/hooks.h"
#include "collector/run/parts.h"
#include "sys/clock.h"
#include "sys/listen.h"
#include "sys/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	MODULES_OPEN_MAX = 4096,
	FILES_LEAST = 32, // what a recording has open at once, modules aside
};

// ---- before the program

static bool fork_program(struct run *run, const struct launch *launch, struct err *err) {
	const struct run_options *o = run->options;
	struct spawn_program *program = arena_new(&run->arena, struct spawn_program, 1);
	if (!program) {
		return err_memory(err);
	}
	program->path = launch->needs_shell ? "/bin/sh" : launch->path;
	program->argv = launch_arguments(launch, o->argv, &run->arena);
	program->envp = launch_environment(run->recorder, o->environment, &run->arena);
	program->start = &run->start_signals;
	program->tracer = run->guardian.pid;
	if (!program->argv || !program->envp) {
		return err_memory(err);
	}
	if (!spawn_fork(&run->spawn, program, err)) {
		return false;
	}
	run->program = run->spawn.pid;
	return true;
}

static void tell_notes(struct run *run) {
	for (; run->n_notes_told < run->output.n_notes; run->n_notes_told++) {
		run->options->say(run->options->user, run->output.notes[run->n_notes_told]);
	}
}

bool run_open_output(struct run *run, struct err *err) {
	const struct run_options *o = run->options;
	struct output_request request = {
			.name = o->output,
			.program = o->argv[0],
			.pid = getpid() == 1 ? 1 : run->program, // a container's name for it stays the same
			.overwrite = o->overwrite,
	};
	if (!output_open(&run->output, &request, err)) {
		return false;
	}
	tell_notes(run);
	o->started(o->user, run->output.path);
	return true;
}

// As high as we may
static rlim_t raise_limit(int which) {
	struct rlimit limit;
	if (getrlimit(which, &limit) != 0) {
		return 0;
	}
	struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	if (which != RLIMIT_NOFILE && setrlimit(which, &none) == 0) {
		return RLIM_INFINITY;
	}
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(which, &limit);
	return limit.rlim_cur;
}

// The program has been forked: it keeps the limits that we were started with
static uint32_t raise_file_limits(void) {
	(void)raise_limit(RLIMIT_FSIZE);
	rlim_t half = raise_limit(RLIMIT_NOFILE) / 2;
	return half < MODULES_OPEN_MAX ? (uint32_t)half : MODULES_OPEN_MAX;
}

static uint32_t put_arguments(struct run *run) {
	uint32_t n = 0;
	for (char *const *arg = run->options->argv; *arg; arg++, n++) {
		// Consecutive ids: each text of its own, known or not
		struct slice *item = vec_push(&run->texts);
		char *copy = item ? arena_text(&run->texts.arena, slice_of_text(*arg)) : NULL;
		if (!copy) {
			break;
		}
		*item = slice_of(copy, strlen(copy));
	}
	return n;
}

static void put_meta(struct run *run) {
	struct rec_meta *m = &run->meta;
	char text[4096] = "";
	m->argv_first = (uint32_t)run->texts.n;
	m->n_argv = put_arguments(run);
	if (getcwd(text, sizeof text)) {
		m->cwd = texts_id_of(&run->texts, text);
	}
	if (gethostname(text, sizeof text - 1) == 0) {
		m->host = texts_id_of(&run->texts, text);
	}
	m->version = texts_id_of(&run->texts, run->options->version);
	m->pid = (uint32_t)run->program;
	m->n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	m->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	m->system_memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * m->page_bytes;
	ending_look(&run->ending, run->program, 0);
	m->memory_limit_bytes = run->ending.limit_bytes;
	m->wall_start_ns = clock_wall_ns();
	m->wall_offset_s = clock_wall_offset_s(m->wall_start_ns);
	m->source = REC_LAUNCHED;
	m->has_free_stacks = run->options->free_stacks;
}

bool run_create_parts(struct run *run, const char *image, struct err *err) {
	(void)texts_id(&run->texts, (struct slice){0}); // id 0
	modules_init(&run->modules, &run->texts, run->program, image, raise_file_limits());
	if (run->texts.n == 0 || !vec_push(&run->modules.records)) {
		return err_memory(err);
	}
	put_meta(run);
	run_note_sandbox(run);
	children_init(&run->children, run->program, (struct reason_context){0});
	jit_init(&run->jit, run->program, run->program_inside);
	run->meta.exe = texts_id_of(&run->texts, image);
	run->keeps_events = run->options->events_bytes > 0;
	struct order_sink sink = run_sink;
	sink.user = run;
	return tries_init(&run->tries, &run->segment, err) &&
			(run->aggregate = aggregate_create(NULL, err)) &&
			(run->order = order_create(&run->segment, &run->tries, &sink, NULL, err)) &&
			(run->names = namer_create(&run->modules, &run->texts, err)) &&
			(run->keeper = keeper_create(&run->output, run->options->events_bytes, err));
}

void run_open_door(struct run *run) {
	char name[sizeof SEGMENT_SOCKET_PREFIX + 2 * sizeof run->segment.token] = SEGMENT_SOCKET_PREFIX;
	for (size_t i = 0; i < sizeof run->segment.token; i++) {
		(void)sprintf(name + strlen(name), "%02x", run->segment.token[i]);
	}
	run->door_fd = listen_on_abstract(name, NULL); // without it only odd programs are lost
}

// The memory is a file to the limit on the size of files (ulimit -f), and takes address space
// (ulimit -v). The program keeps its limits
bool run_make_segment(struct run *run, const struct segment_params *params, struct err *err) {
	struct rlimit before;
	bool has_limit = getrlimit(RLIMIT_FSIZE, &before) == 0;
	rlim_t limit = raise_limit(RLIMIT_FSIZE);
	(void)raise_limit(RLIMIT_AS);
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	bool ok = segment_init(&run->segment, params, err);
	(void)signal(SIGXFSZ, handler);
	if (has_limit) {
		(void)setrlimit(RLIMIT_FSIZE, &before);
	}
	if (!ok && limit != RLIM_INFINITY) {
		(void)err_add(err, "the limit on the size of files (ulimit -f) may be too low");
	}
	return ok;
}

static bool has_enough_files(struct err *err) {
	struct rlimit limit;
	return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= FILES_LEAST ||
			err_set(err, ERR_LIMIT,
					"too few open files allowed (ulimit -n): %u; heaptrack needs %d",
					(unsigned)limit.rlim_cur, FILES_LEAST);
}

/** For what the program may become. Without it that is not followed where the preloaded recorder does not get. */
static void start_guardian(struct run *run) {
	const char *recorder = attach_find_recorder(&run->arena, NULL);
	_Atomic uint32_t *exec = &run->segment.header->exec;
	if (recorder && guardian_start(&run->guardian, recorder, exec, NULL)) {
		atomic_store(exec, EXEC_READY);
	}
}

/** Where result->is_untouched is true, what fails leaves a program that can run without us. */
static bool prepare(struct run *run, const struct launch *launch, struct run_result *result,
		struct err *err) {
	const struct run_options *o = run->options;
	struct segment_params params = {
			.options = (o->free_stacks ? SEGMENT_FREE_STACKS : 0u) |
					(o->exact_time ? SEGMENT_EXACT_TIME : 0u),
			.start_ns = clock_now_ns(),
			.has_stamps = clock_has_stamps(),
	};
	signals_save(&run->start_signals);
	run->recorder = launch_find_recorder(&run->arena, err);
	if (!run->recorder) {
		// An installation is the user's to mend; a root without /proc, where it cannot be looked for, is not
		result->is_untouched = access("/proc/self", F_OK) != 0;
		return false;
	}
	result->is_untouched = true;
	if (!has_enough_files(err) || !run_make_segment(run, &params, err)) {
		return false;
	}
	start_guardian(run);
	run->signals_fd = signals_open(err);
	if (run->signals_fd < 0) {
		return false;
	}
	(void)witness_start(&run->witness, NULL); // without it, some signals arrive twice
	if (!fork_program(run, launch, err)) {
		return false;
	}
	result->is_untouched = false; // a name that cannot be had is the user's to change
	if (!run_open_output(run, err)) {
		return false;
	}
	result->is_untouched = true;
	if (!run_create_parts(run, launch->image, err) || !segment_hold(&run->segment, err)) {
		return false;
	}
	run_open_door(run);
	result->is_untouched = false;
	return true;
}

// ---- the program

bool run_start_watch(struct run *run, struct watch_params params, struct err *err) {
	params.program = run->program;
	params.signals_fd = run->signals_fd;
	params.witness = &run->witness;
	params.door_fd = run->door_fd;
	params.segment_fd = run->segment.memory.fd;
	params.bell = &run->segment.common->bell;
	params.heartbeat = &run->segment.common->heartbeat;
	params.control = run->control = control_open(run->program, params.bell);
	run->watch = watch_start(&params, err);
	return run->watch != NULL;
}

static bool start(struct run *run, int *exit_status, struct err *err) {
	char *variable = arena_new(&run->arena, char, SEGMENT_ENV_BYTES);
	if (!variable) {
		return err_memory(err);
	}
	segment_address(&run->segment, (uint32_t)run->program, (uint32_t)getpid(), variable);
	const struct reason_context reason = {.recorder = run->recorder, .segment = variable};
	children_init(&run->children, run->program, reason);
	struct process_memory before = {0};
	(void)process_memory(run->program, &before);
	run->rss_before_exec = before.peak_rss_bytes;
	int why;
	if (!spawn_exec(&run->spawn, variable, &why)) {
		*exit_status = why == ENOENT ? 127 : 126;
		return err_system(err, why, "cannot run \"%s\"", run->options->argv[0]);
	}
	run->spawn.pid = 0;
	run_watch_exec(run, false);
	run_note_image(run);
	if (!run_start_watch(run, (struct watch_params){0}, err)) {
		(void)kill(run->program, SIGKILL); // nobody would see its end
		*exit_status = 1;
		return false;
	}
	return true;
}

void run_tear_down(struct run *run) {
	keeper_destroy(run->keeper);
	namer_destroy(run->names);
	jit_finish(&run->jit);
	watch_stop(run->watch);
	control_close(run->control);
	witness_stop(&run->witness);
	spawn_cancel(&run->spawn);
	guardian_stop(&run->guardian);
	order_destroy(run->order);
	tries_finish(&run->tries);
	aggregate_destroy(run->aggregate);
	modules_finish(&run->modules);
	texts_finish(&run->texts);
	samples_finish(&run->samples);
	children_finish(&run->children);
	vec_finish(&run->threads);
	vec_finish(&run->images);
	vec_finish(&run->allocators);
	own_heaps_finish(&run->own_heaps);
	segment_finish(&run->segment);
	if (run->door_fd >= 0) {
		(void)close(run->door_fd);
	}
	if (run->signals_fd >= 0) {
		(void)close(run->signals_fd);
	}
	arena_finish(&run->arena);
}

void run_init(struct run *run, const struct run_options *options) {
	run->options = options;
	run->output.fd = run->signals_fd = run->door_fd = run->guardian.socket = run->jit.source
																					 .fd = -1;
}

void run_close(struct run *run, struct run_result *result) {
	const struct run_options *o = run->options;
	result->was_recorded = atomic_load(&run->segment.header->n_images) > 0;
	result->why = run->exec_why;
	result->was_too_narrow = atomic_load(&run->segment.header->n_too_narrow) > 0;
	if (result->was_recorded) {
		struct err why = {0};
		if (!run_end(run, result, &why)) {
			result->is_lost = !output_is_there(&run->output);
			(void)err_add(&why,
					result->is_lost ? "the recording is lost"
									: "cannot finish the file; it holds the last saved state");
			o->say(o->user, why.text);
		}
		tell_notes(run);
		result->texts = run->texts.arena; // what the recording's texts point into
		run->texts.arena = (struct arena){0};
	}
	(void)snprintf(result->path, sizeof result->path, "%s", run->output.path);
}

bool run_program(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err) {
	memset(result, 0, sizeof *result);
	result->exit_status = 1;
	struct run *run = calloc(1, sizeof *run);
	if (!run) {
		return err_memory(err);
	}
	run_init(run, options);

	bool is_prepared = prepare(run, launch, result, err);
	if (result->is_untouched) {
		spawn_cancel(&run->spawn);
		witness_stop(&run->witness);
		signals_restore(&run->start_signals);
	}
	bool has_run = is_prepared && start(run, &result->exit_status, err);
	if (has_run) {
		run_loop(run);
		if (atomic_load(&run->segment.header->exec) == EXEC_INJECTED) {
			(void)attach_note_hooks(run, false, NULL);
		}
		result->exit_status = run->end.is_signaled ? 128 + run->end.status : run->end.status;
		run_close(run, result);
	}
	output_close(&run->output, result->was_recorded);
	run_tear_down(run);
	free(run);
	return has_run;
}

void run_result_finish(struct run_result *result) {
	recording_finish(&result->recording);
	arena_finish(&result->texts);
}
