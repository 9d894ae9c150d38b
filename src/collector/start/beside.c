// SPDX-License-Identifier: MIT
/* Records a program that waits for the segment's address while its recorder initializes. */
#include "collector/start/steps.h"

// ---- the steps shared with attached.c

enum { ARGUMENTS_MAX = 64 << 10 };

/** Where the arguments end; a title may overwrite them: "redis-server *:6379", zeros or spaces. */
static long end_of_title(char *text, long n) {
	long end = (long)strlen(text), i = end;
	while (i < n && text[i] == '\0') {
		i++;
	}
	if (i < n || !memchr(text, ' ', (size_t)end)) {
		return n;
	}
	while (end > 0 && text[end - 1] == ' ') {
		text[--end] = '\0';
	}
	return end + 1;
}

static char **arguments_of(pid_t pid, struct arena *arena) {
	char *text = arena_new(arena, char, ARGUMENTS_MAX);
	long n = process_read(pid, "cmdline", text, ARGUMENTS_MAX);
	if (n <= 0 || !text[0]) { // overwritten
		(void)process_thread_name(pid, pid, text, ARGUMENTS_MAX);
		n = (long)strlen(text) + 1;
	}
	n = end_of_title(text, n);
	size_t count = SUM(i, n, text[i] == '\0');
	char **argv = arena_new(arena, char *, count + 2);
	size_t k = 0;
	for (long i = 0; i < n && k <= count; i += (long)strlen(text + i) + 1) {
		argv[k++] = text + i;
	}
	return argv;
}

struct run *running_create(const struct run_options *options, pid_t pid,
		struct run_result *result) {
	struct run *run = run_create(options, result);
	run->program = pid;
	run->argv = arguments_of(pid, &run->arena);
	return run;
}

bool running_prepare(struct run *run, struct err *err) {
	char *exe = arena_new(&run->arena, char, 4096);
	run->signals_fd = signals_open(err);
	(void)process_link(run->program, "exe", exe, 4096);
	if (run->signals_fd < 0 || !run_open_output(run, err) || !run_create_parts(run, exe, err)) {
		return false;
	}
	run_tell_start(run);
	run_watch_exec(run, true);
	return true;
}

bool running_watch(const struct run *run, struct watch_params *out, struct err *err) {
	*out = (struct watch_params){
			.is_attached = true,
			.program_fd = (int)syscall(SYS_pidfd_open, run->program, 0),
	};
	return out->program_fd >= 0 || err_system(err, errno, "process %d", (int)run->program);
}

// ---- its own steps

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
	struct run *run = running_create(options, beside->pid, result);
	bool ok = run_make_segment(run, SEGMENT_PROGRAM_WAITS, -1, err) && running_prepare(run, err) &&
			start(run, beside, err);
	(void)close(beside->fd);
	if (ok) {
		run_loop(run);
		run_close(run, result);
		output_close(&run->output, result->was_recorded);
		beside->written(beside->user, result);
	}
	run_destroy(run, result->was_recorded);
	return ok;
}
