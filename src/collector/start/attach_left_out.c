// SPDX-License-Identifier: MIT
/*
 * Replaces everything that attaches in a build without it (meson -Dattach=false). What needs it is
 * refused with that reason; nothing here looks into another process.
 */
#include "collector/run/parts.h"

ATTR_STAND_INS

static bool say_left_out(struct err *err) {
	return err_unsupported(err,
			"this heaptrack was built without support for attaching (meson -Dattach=false)");
}

bool run_note_hooks(struct run *run, bool says_so, struct injector_report *report) {
	return false;
}

bool attach_program(const struct run_options *run, const struct attach_options *attach,
		struct run_result *result, struct err *err) {
	*result = (struct run_result){.exit_status = 1};
	return say_left_out(err);
}

bool attach_check(const struct attach_options *attach, struct injector_check *out,
		struct err *err) {
	(void)attach;
	*out = (struct injector_check){0};
	return say_left_out(err);
}

bool run_check_injected(struct err *err) {
	return say_left_out(err);
}

bool attach_repair(pid_t pid, bool *was_attached, struct err *err) {
	*was_attached = false;
	return say_left_out(err);
}

bool run_injected_program(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err) {
	*result = (struct run_result){.exit_status = 1, .is_untouched = true}; // it runs without us
	return say_left_out(err);
}

bool run_exec_is_announced(const struct run *run) {
	return false;
}

void run_follow_exec(struct run *run) {}

bool guardian_start(struct guardian *g, const char *recorder, _Atomic uint32_t *exec,
		struct err *err) {
	return say_left_out(err);
}

void guardian_stop(struct guardian *g) {}

int guardian_hold(struct guardian *g, pid_t target, struct err *err) {
	(void)say_left_out(err);
	return -1;
}

pid_t guardian_copy(struct guardian *g, const struct injector_room *room, uint64_t *pause_ns,
		struct err *err) {
	return 0;
}

void guardian_release(struct guardian *g) {}

void run_take_old_blocks(struct run *run, bool waits) {}

uint32_t run_old_stack(struct run *run, uint64_t bytes, bool is_range) {
	return 0;
}

bool heap_walk(struct heap_walk *out, pid_t pid) {
	return false;
}
