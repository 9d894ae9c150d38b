// SPDX-License-Identifier: MIT
/* Messages to the user, and single events on their way to the file. */
#include "collector/run/parts.h"

void run_say(struct run *run, const char *fmt, ...) {
	char text[1024];
	(void)FORMAT_ARGS(text, sizeof text, fmt);
	run->options->say(run->options->user, text);
}

void run_keep_events(struct run *run, const struct trace_event *events, size_t n) {
	struct err why;
	if (run->keeps_events && !keeper_events(run->keeper, events, n, &why)) {
		run->keeps_events = false;
		run->detail_ends_ns = run->now_ns;
		run_say(run, "individual events are no longer kept: %s", why.text);
	}
}

bool run_begin_program(struct run *run, struct err *err) {
	if (!aggregate_exec(run->aggregate, run->now_ns, err) ||
			!mappings_exec(run->mappings, run->now_ns, err)) {
		return false;
	}
	run_keep_events(run, &(struct trace_event){.kind = TRACE_EXEC, .time_ns = run->now_ns}, 1);
	return true;
}
