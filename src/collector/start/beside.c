// SPDX-License-Identifier: MIT
#include "collector/beside.h"

#include "collector/run/parts.h"
#include "sys/clock.h"
#include "sys/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool prepare(struct run *run, struct err *err) {
	const struct run_options *o = run->options;
	const struct segment_params params = {
			.options = SEGMENT_PROGRAM_WAITS | (o->free_stacks ? SEGMENT_FREE_STACKS : 0u) |
					(o->exact_time ? SEGMENT_EXACT_TIME : 0u),
			.start_ns = clock_now_ns(),
			.has_stamps = clock_has_stamps(),
	};
	char *exe = arena_new(&run->arena, char, 4096);
	if (!exe) {
		return err_memory(err);
	}
	(void)process_link(run->program, "exe", exe, 4096);
	if (!run_make_segment(run, &params, err)) {
		return false;
	}
	signals_save(&run->start_signals);
	run->signals_fd = signals_open(err);
	if (run->signals_fd < 0 || !run_open_output(run, err) || !run_create_parts(run, exe, err) ||
			!segment_hold(&run->segment, err)) {
		return false;
	}
	run_open_door(run);
	run_watch_exec(run, true);
	run_note_image(run);
	return true;
}

/** Let the program go on, with us. */
static bool tell_program(struct run *run, int fd, struct err *err) {
	char line[SEGMENT_ENV_BYTES + 1];
	segment_address(&run->segment, (uint32_t)run->program, (uint32_t)getpid(), line);
	size_t n = strlen(line);
	line[n++] = '\n';
	return write(fd, line, n) == (ssize_t)n ||
			err_system(err, errno, "the program to record does not answer");
}

static bool start(struct run *run, const struct beside_options *beside, struct err *err) {
	struct watch_params params = {
			.is_attached = true,
			.program_fd = (int)syscall(SYS_pidfd_open, run->program, 0),
	};
	if (params.program_fd < 0) {
		return err_system(err, errno, "process %d", (int)run->program);
	}
	run->ends_when_closed = true;
	return run_start_watch(run, params, err) && tell_program(run, beside->fd, err);
}

bool beside_program(const struct run_options *options, const struct beside_options *beside,
		struct run_result *result, struct err *err) {
	memset(result, 0, sizeof *result);
	struct run *run = calloc(1, sizeof *run);
	if (!run) {
		return err_memory(err);
	}
	struct run_options own = *options;
	run_init(run, &own);
	run->program = beside->pid;
	own.argv = run_arguments_of(beside->pid, &run->arena);
	bool ok = own.argv ? prepare(run, err) && start(run, beside, err) : err_memory(err);
	(void)close(beside->fd);
	if (ok) {
		run_loop(run);
		run_close(run, result);
	}
	output_close(&run->output, result->was_recorded);
	if (ok) {
		beside->written(beside->user, result);
	}
	run_tear_down(run);
	free(run);
	return ok;
}
