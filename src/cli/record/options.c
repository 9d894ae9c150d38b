// SPDX-License-Identifier: MIT
/* The options of heaptrack. */
#include "cli/record/options.h"

#include "cli/options/table.h"

enum {
	EVENTS_BUDGET = 256000000, // bytes of --events without a size
	EVENTS_LEAST = 1000000,
	MAX_PAUSE_NS = 20000000,      // without --max-pause, and
	GRADED_PAUSE_NS = 1000000000, // by --look --leaks
};

static bool take_events(const struct option_given *g) {
	struct heaptrack_options *o = g->options;
	o->run.events_bytes = EVENTS_BUDGET;
	return !g->value ||
			(option_take_size(g) &&
					(o->run.events_bytes >= EVENTS_LEAST ||
							err_usage(g->err, "--events: \"%s\" is too small; use at least 1M",
									g->value)));
}

static bool take_leaks(const struct option_given *g) {
	struct heaptrack_options *o = g->options;
	o->run.leaks = true;
	o->run.leaks_before_exit = g->value != NULL;
	return !g->value || strcmp(g->value, "before-exit") == 0 ||
			err_usage(g->err, "--leaks: \"%s\" is not before-exit", g->value);
}

static bool take_max_pause(const struct option_given *g) {
	struct heaptrack_options *o = g->options;
	o->has_max_pause = true;
	o->attach.max_pause_ns = 0;
	return strcmp(g->value, "0") == 0 || option_take_time(g);
}

/** -p, --detach: row->arg, and the process. */
static bool take_pid(const struct option_given *g) {
	struct heaptrack_options *o = g->options;
	uint64_t pid;
	if (!option_number(g->value, INT32_MAX, &pid) || pid == 0) {
		return err_usage(g->err, "--%s: invalid process ID \"%s\"", g->row->name, g->value);
	}
	o->what = g->row->arg;
	o->attach.pid = (int)pid;
	return true;
}

/** --check [PID] [--json] */
static bool take_checked(struct heaptrack_options *o, struct err *err) {
	uint64_t pid = 0;
	for (int i = 0; i < o->n_rest; i++) {
		if (strcmp(o->rest[i], "--json") == 0) {
			o->is_json = true;
		} else if (pid != 0 || !option_number(o->rest[i], INT32_MAX, &pid) || pid == 0) {
			return err_usage(err, "--check: invalid process ID \"%s\"", o->rest[i]);
		}
	}
	o->attach.pid = (int)pid;
	return true;
}

/** "PID:FD" */
static bool take_beside(const struct option_given *g) {
	struct heaptrack_options *o = g->options;
	char end;
	o->what = g->row->arg;
	return sscanf(g->value, "%d:%d%c", &o->attach.pid, &o->fd, &end) == 2 ||
			err_usage(g->err, "--beside is used by the recorder library only");
}

/** Ignored: it is always so. */
static bool take_nothing(const struct option_given *g) {
	(void)g;
	return true;
}

#define AT(field)   .at = offsetof(struct heaptrack_options, field)
#define ASKS(what_) .take = option_take_choice, AT(what), .arg = (what_), .ends = true

static const struct option_row rows[] = {
#include "cli/record/options.def"
};

const struct option_table heaptrack_option_table = {
		.command = "heaptrack",
		.head = "Usage: heaptrack [options] PROGRAM [ARGUMENTS...]\n"
				"       heaptrack [options] -p PID\n"
				"       heaptrack -a FILE\n"
				"       heaptrack --ctl [PID|FILE] [status|look]\n"
				"       heaptrack --look PID\n"
				"       heaptrack --check [PID] [--json]\n"
				"       heaptrack -i FILE [--sysroot DIR] [--debug-paths DIR...] "
				"[--extra-paths DIR...]\n"
				"\n"
				"Runs a program and records every memory allocation with its call stack. The "
				"program runs as\nit would without heaptrack. Afterwards, heaptrack_print FILE "
				"shows where the memory went.\n",
		OPTION_ROWS(rows),
		.foot = "Options end at the program's name or at \"--\". The exit status is the program's, "
				"or 128 + N\nif signal N ended it; 127 or 126 if it could not be started; 1 if "
				"heaptrack itself failed.\n",
		.operands = OPERANDS_PROGRAM,
};

bool heaptrack_options_parse(struct heaptrack_options *o, int argc, char **argv, struct err *err) {
	*o = (struct heaptrack_options){.attach.max_pause_ns = MAX_PAUSE_NS};
	int operands;
	if (!options_parse(&heaptrack_option_table, o, argc, argv, &operands, err)) {
		return false;
	}
	o->rest = argv + operands;
	o->n_rest = argc - operands;
	o->attach.only_looks = o->what == ASKED_LOOK;
	if (o->attach.duration_ns != 0 && o->what != ASKED_ATTACH) {
		return err_usage(err, "--duration is for use with -p PID");
	}
	if (o->has_max_pause && o->what != ASKED_ATTACH && o->what != ASKED_CHECK &&
			o->what != ASKED_LOOK) {
		return err_usage(err, "--max-pause is for use with -p PID");
	}
	if (o->python_objects && (o->what == ASKED_ATTACH || o->what == ASKED_LOOK)) {
		return err_usage(err,
				"--python-objects is for programs that heaptrack starts: one that runs has taken "
				"its objects from arenas, and goes on doing so");
	}
	o->run.leaks |= o->run.leaks_every_ns > 0;
	if (o->run.children &&
			((o->what != ASKED_RECORD && o->what != ASKED_ATTACH) || o->has_max_pause ||
					o->run.leaks || o->run.events_bytes > 0 || o->is_raw)) {
		return err_usage(err,
				"--children is for a program to start or -p PID, without --leaks, --events, --raw "
				"and --max-pause");
	}
	if (o->run.leaks_before_exit && o->what != ASKED_RECORD) {
		return err_usage(err, "--leaks=before-exit is for programs that heaptrack starts");
	}
	bool is_once = o->run.leaks_every_ns > 0 && o->what == ASKED_LOOK;
	if (o->run.leaks && (is_once || o->run.no_memory)) {
		return err_usage(err,
				is_once ? "--leaks-every is for use with -p PID, or a program to start"
						: "--leaks needs what --no-memory leaves out");
	}
	if (o->run.leaks && o->what == ASKED_LOOK && !o->has_max_pause) {
		o->attach.max_pause_ns = GRADED_PAUSE_NS; // how long it will take is said before
	}
	if (o->what == ASKED_CHECK) {
		return take_checked(o, err);
	}
	return !o->run.output || *o->run.output || err_usage(err, "--output needs the name of a file");
}
