// SPDX-License-Identifier: MIT
#include "collector/attach.h"
#include "collector/injected.h"
#include "collector/run/follow.h"
#include "collector/run/hooks.h"

#include <string.h>

// Built without attaching (meson -Dattach=false): what needs it is refused with that sentence, and
// nothing here ever looks into another process.

static bool say_left_out(struct err *err) {
	return err_set(err, ERR_UNSUPPORTED,
			"this heaptrack was built without support for attaching (meson -Dattach=false)");
}

const char *attach_find_recorder(struct arena *arena, struct err *err) {
	(void)arena;
	(void)say_left_out(err);
	return NULL;
}

bool attach_note_hooks(struct run *run, bool says_so, struct injector_report *report) {
	(void)run;
	(void)says_so;
	(void)report;
	return false;
}

bool attach_program(const struct run_options *run, const struct attach_options *attach,
		struct run_result *result, struct err *err) {
	(void)run;
	(void)attach;
	memset(result, 0, sizeof *result);
	result->exit_status = 1;
	return say_left_out(err);
}

bool attach_repair(pid_t pid, bool *was_attached, struct err *err) {
	(void)pid;
	*was_attached = false;
	return say_left_out(err);
}

bool run_injected_program(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err) {
	(void)options;
	(void)launch;
	memset(result, 0, sizeof *result);
	result->exit_status = 1;
	result->is_untouched = true; // it runs without us
	return say_left_out(err);
}

bool exec_follow_is_asked(const struct run *run) {
	(void)run;
	return false;
}

void exec_follow(struct run *run) {
	(void)run;
}

bool guardian_start(struct guardian *g, const char *recorder, _Atomic uint32_t *exec,
		struct err *err) {
	(void)g;
	(void)recorder;
	(void)exec;
	return say_left_out(err);
}

void guardian_stop(struct guardian *g) {
	(void)g;
}

void old_heap_step(struct old_heap *o, struct guardian *g, struct aggregate *a, bool waits,
		char *line, size_t size) {
	(void)o;
	(void)g;
	(void)a;
	(void)waits;
	(void)size;
	line[0] = '\0';
}
