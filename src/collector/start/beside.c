// SPDX-License-Identifier: MIT
/* Records a program that waits, in its recorder's initialization, for the segment's address. */
#include "collector/attach.h"
#include "collector/start/steps.h"

#include <errno.h>
#include <unistd.h>

static bool make_segment(struct run *run, struct err *err) {
	return run_make_segment(run, SEGMENT_PROGRAM_WAITS, -1, err);
}

/** Tell the waiting program where the segment is: it goes on. */
static bool tell_program(struct run *run, int fd, struct err *err) {
	char line[SEGMENT_ENV_BYTES + 1];
	segment_address(&run->segment, (uint32_t)run->program, (uint32_t)getpid(), line);
	size_t n = strlen(line);
	line[n++] = '\n';
	return write(fd, line, n) == (ssize_t)n ||
			err_system(err, errno, "the program to record does not answer");
}

static bool start(struct run *run, const struct beside_options *beside, struct err *err) {
	struct watch_params params;
	if (!running_watch(run, &params, err)) {
		return false;
	}
	run->ends_when_closed = true;
	run_open_door(run);
	return run_start_watch(run, params, err) && tell_program(run, beside->fd, err);
}

bool beside_program(const struct run_options *options, const struct beside_options *beside,
		struct run_result *result, struct err *err) {
	struct run *run = running_create(options, beside->pid, result, err);
	bool ok = run && running_prepare(run, make_segment, err) && start(run, beside, err);
	(void)close(beside->fd);
	if (ok) {
		run_loop(run);
		run_close(run, result);
		output_close(&run->output, result->was_recorded);
		beside->written(beside->user, result);
	}
	if (run) {
		run_destroy(run, result->was_recorded);
	}
	return ok;
}
