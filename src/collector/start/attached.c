// SPDX-License-Identifier: MIT

/*
 *   heaptrack                 guardian                    program
 *      │ start, look at it ──────►│ checks only              │
 *      │ memory ─────────────────►│ stops one thread ───────►│ maps the resident, makes a memfd
 *      │ fills it in              │                          │
 *      │ attach ─────────────────►│ stops all ──────────────►│ maps the memfd, is patched
 *      │ records                  │ looks for new libraries  │
 *      │ detach ─────────────────►│ stops all ──────────────►│ is as it was
 *      │ takes the rest, writes   │                          │
 */

#include "base/vec.h"
#include "collector/attach.h"
#include "collector/run/hooks.h"
#include "engine/quality.h"
#include "injector/injector.h"
#include "sys/clock.h"
#include "sys/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REPORT_BYTES = 16 << 10 };

const char *attach_find_recorder(struct arena *arena, struct err *err) {
	const char *preload = launch_find_recorder(arena, err);
	if (!preload) {
		return NULL;
	}
	const char *slash = strrchr(preload, '/');
	size_t folder = (size_t)(slash - preload) + 1;
	char *path = arena_new(arena, char, folder + sizeof "libheaptrack_inject.so");
	if (!path) {
		(void)err_memory(err);
		return NULL;
	}
	(void)sprintf(path, "%.*s%s", (int)folder, preload, "libheaptrack_inject.so");
	if (access(path, R_OK) != 0) {
		(void)err_system(err, errno, "cannot read the recorder \"%s\"", path);
		return NULL;
	}
	return path;
}

// ---- before

bool attach_make_segment(struct run *run, struct err *err) {
	const struct run_options *o = run->options;
	int fd = guardian_memory(&run->guardian, err);
	if (fd < 0) {
		return false;
	}
	const struct segment_params params = {
			.options = (o->free_stacks ? SEGMENT_FREE_STACKS : 0u) |
					(o->exact_time ? SEGMENT_EXACT_TIME : 0u),
			.start_ns = clock_now_ns(),
			.has_stamps = clock_has_stamps(),
			.has_memory = true,
			.memory_fd = fd,
	};
	bool ok = run_make_segment(run, &params, err);
	(void)close(fd);
	if (ok) {
		run->segment.header->program_pid = (uint32_t)run->program_inside;
	}
	return ok;
}

static void put_meta(struct run *run) {
	char text[4096];
	run->meta.source = REC_ATTACHED;
	if (process_link(run->program, "cwd", text, sizeof text)) {
		run->meta.cwd = texts_id_of(&run->texts, text);
	}
}

static bool prepare(struct run *run, struct err *err) {
	const char *recorder = attach_find_recorder(&run->arena, err);
	char *exe = arena_new(&run->arena, char, 4096);
	if (!recorder || !exe) {
		return recorder ? err_memory(err) : false;
	}
	if (!guardian_start(&run->guardian, recorder, NULL, err) ||
			!guardian_create(&run->guardian, run->program, INJECTOR_RUNNING, &run->program_inside,
					err)) {
		return false;
	}
	signals_save(&run->start_signals);
	run->signals_fd = signals_open(err);
	(void)process_link(run->program, "exe", exe, 4096);
	if (run->signals_fd < 0 || !attach_make_segment(run, err) || !run_open_output(run, err) ||
			!run_create_parts(run, exe, err) || !segment_hold(&run->segment, err)) {
		return false;
	}
	put_meta(run);
	run_watch_exec(run, true);
	run_note_image(run);
	return true;
}

static void drain(void *user) {
	run_drain(user);
}

static bool start(struct run *run, const struct attach_options *attach, struct err *err) {
	struct watch_params params = {
			.is_attached = true,
			.program_fd = (int)syscall(SYS_pidfd_open, run->program, 0),
	};
	if (params.program_fd < 0) {
		return err_system(err, errno, "process %d", (int)run->program);
	}
	aggregate_expect_old_blocks(run->aggregate);
	if (!guardian_attach(&run->guardian, attach->max_pause_ns, drain, run, err)) {
		return false;
	}
	params.ends_ns = attach->duration_ns ? clock_now_ns() + attach->duration_ns : 0;
	return run_start_watch(run, params, err);
}

// ---- what the user is told

static void say_hooks(struct run *run, const struct rec_allocator *a) {
	const struct slice *texts = run->texts.items;
	char line[1024];
	if (a->why == 0) {
		(void)snprintf(line, sizeof line, "hooked in %.*s: %.*s", SLICE_ARG(texts[a->module]),
				SLICE_ARG(texts[a->functions]));
	} else {
		(void)snprintf(line, sizeof line, "%.*s of %.*s cannot be hooked: %.*s",
				SLICE_ARG(texts[a->functions]), SLICE_ARG(texts[a->module]),
				SLICE_ARG(texts[a->why]));
	}
	run->options->say(run->options->user, line);
}

/** One line of injector_describe; changes it. */
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
	if (says_so) {
		say_hooks(run, a);
	}
}

bool attach_note_hooks(struct run *run, bool says_so, struct injector_report *report) {
	struct injector_report r;
	char *text = malloc(REPORT_BYTES);
	bool ok = text && guardian_report(&run->guardian, &r, text, REPORT_BYTES);
	if (ok) {
		tries_pass_by(&run->tries, r.code_at, r.code_bytes);
	}
	if (ok && report) {
		*report = r;
	}
	run->allocators.n = ok ? 0 : run->allocators.n;
	for (char *line = text, *end; ok && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		note_hooks(run, line, says_so);
	}
	free(text);
	return ok;
}

/** The blocks from before cannot be known: the reader is told, and so is the user. */
static void note_no_copy(struct run *run, enum injector_no_copy why, uint64_t max_pause_ns) {
	static const uint8_t whys[] = {[INJECTOR_COPIED] = REC_OLD_KNOWN,
			[INJECTOR_COPY_LATE] = REC_OLD_LATE,
			[INJECTOR_COPY_OFF] = REC_OLD_OFF,
			[INJECTOR_COPY_FAILED] = REC_OLD_REFUSED};
	char text[QUALITY_OLD_MAX];
	run->meta.old_unknown = whys[why];
	run->meta.max_pause_ns = max_pause_ns;
	if (run->meta.old_unknown) {
		run->options->say(run->options->user, quality_why_old(&run->meta, text));
	}
}

static void say_attached(struct run *run, uint64_t max_pause_ns) {
	struct injector_report r;
	char line[256];
	if (!attach_note_hooks(run, true, &r)) {
		return;
	}
	note_no_copy(run, r.no_copy, max_pause_ns);
	if (r.snapshot != 0) {
		(void)snprintf(line, sizeof line,
				"copied memory to find existing blocks: stopped for %.2f ms in addition to what "
				"follows",
				(double)r.snapshot_ns / 1e6);
		run->options->say(run->options->user, line);
	}
	(void)snprintf(line, sizeof line,
			"attached to process %d: %u functions hooked, %u thread%s stopped for %.2f ms; "
			"Ctrl+C detaches and leaves it running",
			(int)run->program, r.n_functions, r.n_threads, r.n_threads == 1 ? "" : "s",
			(double)r.longest_pause_ns / 1e6);
	run->options->say(run->options->user, line);
	old_heap_start(&run->old_heap, r.snapshot, run->aggregate);
}

static void say_detached(struct run *run) {
	struct injector_report r;
	char text[1];
	if (guardian_report(&run->guardian, &r, text, sizeof text)) {
		char line[256];
		(void)snprintf(line, sizeof line,
				"detached: the program was stopped %u times, for %.2f ms in all, at most %.2f ms "
				"at a "
				"time; one thread for %.2f ms more",
				r.n_stops, (double)r.all_pause_ns / 1e6, (double)r.longest_pause_ns / 1e6,
				(double)r.one_pause_ns / 1e6);
		run->options->say(run->options->user, line);
	}
}

/** No events come from here on, but for threads that are still inside of the recorder. */
static void leave(struct run *run) {
	struct err err = {0};
	(void)attach_note_hooks(run, false, NULL); // those of libraries that came later, too
	if (run->end.is_detached) {
		run->end.time_ns = 0; // its threads live until it is set again
		if (!guardian_detach(&run->guardian, drain, run, &err)) {
			run->options->say(run->options->user, err.text);
		}
		run->end.time_ns = clock_now_ns();
		run->segment.is_lived_in = true;
		say_detached(run);
	}
	run_take_old_blocks(run, true);
}

// ---- all of it

bool attach_program(const struct run_options *options, const struct attach_options *attach,
		struct run_result *result, struct err *err) {
	memset(result, 0, sizeof *result);
	result->exit_status = 1;
	struct run *run = calloc(1, sizeof *run);
	if (!run) {
		return err_memory(err);
	}
	struct run_options own = *options;
	run_init(run, &own);
	run->program = attach->pid;
	run->leave = leave;
	own.argv = run_arguments_of(attach->pid, &run->arena);
	bool ok = own.argv ? prepare(run, err) && start(run, attach, err) : err_memory(err);
	if (ok) {
		say_attached(run, attach->max_pause_ns);
		run_loop(run);
		result->exit_status = 0;
		run_close(run, result);
	}
	output_close(&run->output, result->was_recorded);
	run_tear_down(run);
	free(run);
	return ok;
}

bool attach_repair(pid_t pid, bool *was_attached, struct err *err) {
	sigset_t all, before;
	(void)sigfillset(&all); // half done would be worse than not at all
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	bool ok = injector_repair(pid, was_attached, err);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return ok;
}
