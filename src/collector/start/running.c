// SPDX-License-Identifier: MIT
/* The steps that attached.c and beside.c share. */
#include "collector/start/steps.h"
#include "sys/process.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 64 << 10 };

/**
 * Where the arguments end. A program that set its title wrote over them: "redis-server *:6379",
 * then zero bytes or spaces.
 */
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

/** The arguments of the process, as an argv. NULL: out of memory. */
static char **arguments_of(pid_t pid, struct arena *arena) {
	char *text = arena_new(arena, char, ARGUMENTS_MAX);
	if (!text) {
		return NULL;
	}
	long n = process_read(pid, "cmdline", text, ARGUMENTS_MAX);
	if (n <= 0 || !text[0]) { // overwritten
		(void)process_thread_name(pid, pid, text, ARGUMENTS_MAX);
		n = (long)strlen(text) + 1;
	}
	n = end_of_title(text, n);
	size_t count = 0;
	for (long i = 0; i < n; i++) {
		count += text[i] == '\0';
	}
	char **argv = arena_new(arena, char *, count + 2);
	size_t k = 0;
	for (long i = 0; argv && i < n && k <= count; i += (long)strlen(text + i) + 1) {
		argv[k++] = text + i;
	}
	return argv;
}

struct run *running_create(const struct run_options *options, pid_t pid, struct run_result *result,
		struct err *err) {
	struct run *run = run_create(options, result, err);
	if (!run) {
		return NULL;
	}
	struct run_options *own = arena_new(&run->arena, struct run_options, 1);
	char **argv = arguments_of(pid, &run->arena);
	if (!own || !argv) {
		(void)err_memory(err);
		run_destroy(run, false);
		return NULL;
	}
	*own = *options;
	own->argv = argv;
	run->options = own;
	run->program = pid;
	return run;
}

bool running_prepare(struct run *run, bool (*make_segment)(struct run *run, struct err *err),
		struct err *err) {
	char *exe = arena_new(&run->arena, char, 4096);
	if (!exe) {
		return err_memory(err);
	}
	run->signals_fd = signals_open(err);
	(void)process_link(run->program, "exe", exe, 4096);
	if (run->signals_fd < 0 || !make_segment(run, err) || !run_open_output(run, err) ||
			!run_create_parts(run, exe, err) || !segment_hold(&run->segment, err)) {
		return false;
	}
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
