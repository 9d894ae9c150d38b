// SPDX-License-Identifier: MIT
/* The options of heaptrack. */
#include "cli/record/options.h"

#include "cli/options/table.h"

enum {
	EVENTS_BUDGET = 256000000, // bytes of --events without a size
	EVENTS_LEAST = 1000000,
	MAX_PAUSE_NS = 20000000, // without --max-pause
};

static bool take_events(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	struct heaptrack_options *o = options;
	o->events_bytes = EVENTS_BUDGET;
	if (!value) {
		return true;
	}
	if (!option_take_size(options, row, value, err)) {
		return false;
	}
	return o->events_bytes >= EVENTS_LEAST ||
			err_set(err, ERR_USAGE, "--events: \"%s\" is too small; use at least 1M", value);
}

static bool take_max_pause(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	struct heaptrack_options *o = options;
	o->has_max_pause = true;
	o->max_pause_ns = 0;
	return strcmp(value, "0") == 0 || option_take_time(options, row, value, err);
}

/** -p, --detach: row->arg, and of which process. */
static bool take_pid(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	struct heaptrack_options *o = options;
	uint64_t pid;
	if (!option_number(value, INT32_MAX, &pid) || pid == 0) {
		return err_set(err, ERR_USAGE, "--%s: invalid process ID \"%s\"", row->name, value);
	}
	o->what = row->arg;
	o->pid = (int)pid;
	return true;
}

/** --check [PID] [--json] */
static bool take_checked(struct heaptrack_options *o, struct err *err) {
	uint64_t pid = 0;
	for (int i = 0; i < o->n_rest; i++) {
		if (strcmp(o->rest[i], "--json") == 0) {
			o->is_json = true;
		} else if (pid != 0 || !option_number(o->rest[i], INT32_MAX, &pid) || pid == 0) {
			return err_set(err, ERR_USAGE, "--check: invalid process ID \"%s\"", o->rest[i]);
		}
	}
	o->pid = (int)pid;
	return true;
}

static bool take_completion(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	(void)err;
	struct heaptrack_options *o = options;
	o->what = row->arg;
	o->shell = value;
	return true;
}

/** "PID:FD" */
static bool take_beside(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	struct heaptrack_options *o = options;
	char end;
	o->what = row->arg;
	return sscanf(value, "%d:%d%c", &o->pid, &o->fd, &end) == 2 ||
			err_set(err, ERR_USAGE, "--beside is used by the recorder library only");
}

/** What is the case anyway. */
static bool take_nothing(void *options, const struct option_row *row, const char *value,
		struct err *err) {
	(void)options;
	(void)row;
	(void)value;
	(void)err;
	return true;
}

#define AT(field)   .at = offsetof(struct heaptrack_options, field)
#define ASKS(what_) .take = option_take_choice, AT(what), .arg = (what_), .ends = true

static const struct option_row rows[] = {
		{"output", 'o', VALUE_NEEDED, .value_name = "FILE", .take = option_take_text, AT(output),
				.help = "record to FILE; %h is replaced by the host name, %p by the program's "
						"process ID (default: heaptrack.PROGRAM.PID.zst in the current folder). An "
						"existing recording is renamed NAME.1.zst"},
		{"output-file", 0, VALUE_NEEDED, .value_name = "FILE", .take = option_take_text,
				AT(output)},
		{"force", 'f', .take = option_take_flag, AT(overwrite),
				.help = "overwrite an existing recording instead"},
		{"quiet", 'q', .take = option_take_flag, AT(is_quiet), .help = "print errors only"},
		{"events", 0, VALUE_OPTIONAL, .value_name = "SIZE", .take = take_events, AT(events_bytes),
				.help = "also keep individual events, the newest SIZE bytes of them (default: "
						"256M); totals are exact without"},
		{"free-stacks", 0, .take = option_take_flag, AT(free_stacks),
				.help = "also record the call stack of every free"},
		{"exact-time", 0, .take = option_take_flag, AT(exact_time),
				.help = "timestamp every event instead of about once per millisecond"},
		{"no-memory", 0, .take = option_take_flag, AT(no_memory),
				.help = "do not record calls that map memory (mmap, munmap, mremap, mprotect)"},
		{"record-only", 0, .take = take_nothing,
				.help = "accepted for compatibility: no viewer is ever opened"},
		{"pid", 'p', VALUE_NEEDED, .value_name = "PID", .take = take_pid, .arg = ASKED_ATTACH,
				.help = "attach to a running program and record until Ctrl+C; it keeps running"},
		{"duration", 0, VALUE_NEEDED, .value_name = "TIME", .take = option_take_time,
				AT(duration_ns), .help = "with -p: stop after TIME (e.g. 90s, 5m, 2h)"},
		{"max-pause", 0, VALUE_NEEDED, .value_name = "TIME", .take = take_max_pause,
				AT(max_pause_ns),
				.help = "with -p: stop the program for at most TIME to copy its memory (default: "
						"20ms; 0: never)"},
		{"look", 0, VALUE_NEEDED, .value_name = "PID", .take = take_pid, .arg = ASKED_LOOK,
				.help = "show now what the memory of a running program consists of"},
		{"detach", 0, VALUE_NEEDED, .value_name = "PID", .take = take_pid, .arg = ASKED_DETACH,
				.ends = true, .help = "undo an interrupted attach"},
		{"raw", 'r', .take = option_take_flag, AT(is_raw),
				.help = "write the raw format of KDE's heaptrack, without symbol names"},
		{"interpret", 'i', ASKS(ASKED_INTERPRET), .value_name = "FILE",
				.help = "symbolize a recording from another machine, using the binaries found "
						"here"},
		{"analyze", 'a', ASKS(ASKED_ANALYZE), .value_name = "FILE",
				.help = "print the report of a recording"},
		{"ctl", 0, ASKS(ASKED_CONTROL), .value_name = "[PID|FILE] [status|look]",
				.words = "status look --json",
				.help = "show recordings in progress: of a program, to a file, or all of this "
						"user"},
		{"check", 0, ASKS(ASKED_CHECK), .value_name = "[PID] [--json]", .words = "--json",
				.help = "say whether programs can be recorded here, or whether that one can be "
						"attached to, and what it would cost; changes nothing"},
		{"completion", 0, VALUE_NEEDED, .value_name = "SHELL", .take = take_completion,
				.arg = ASKED_COMPLETION, .ends = true, .words = "bash zsh fish",
				.help = "print completions for bash, zsh or fish"},
		{"help", 'h', ASKS(ASKED_HELP), .help = "print this help"},
		{"version", 'v', ASKS(ASKED_VERSION), .help = "print the version"},
		{"debug", 'd', ASKS(ASKED_DEBUG)},
		{"asan", 0, .take = take_nothing},
		{"use-inject", 0, .take = take_nothing},
		{"beside", 0, VALUE_NEEDED, .take = take_beside, .arg = ASKED_BESIDE, .ends = true},
};

static const struct option_section sections[] = {OPTION_SECTION(NULL, rows,
		.foot = "Options end at the program's name or at \"--\". The exit status is the program's, "
				"or 128 + N\nif signal N ended it; 127 or 126 if it could not be started; 1 if "
				"heaptrack itself failed.\n")};

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
		.sections = sections,
		.n_sections = sizeof sections / sizeof *sections,
		.operands = OPERANDS_PROGRAM,
};

bool heaptrack_options_parse(struct heaptrack_options *o, int argc, char **argv, struct err *err) {
	*o = (struct heaptrack_options){.max_pause_ns = MAX_PAUSE_NS};
	int operands;
	if (!options_parse(&heaptrack_option_table, o, argc, argv, &operands, err)) {
		return false;
	}
	o->rest = argv + operands;
	o->n_rest = argc - operands;
	if (o->duration_ns != 0 && o->what != ASKED_ATTACH) {
		return err_set(err, ERR_USAGE, "--duration is for use with -p PID");
	}
	if (o->has_max_pause && o->what != ASKED_ATTACH && o->what != ASKED_CHECK &&
			o->what != ASKED_LOOK) {
		return err_set(err, ERR_USAGE, "--max-pause is for use with -p PID");
	}
	if (o->what == ASKED_CHECK) {
		return take_checked(o, err);
	}
	if (o->output && !*o->output) {
		return err_set(err, ERR_USAGE, "--output needs the name of a file");
	}
	return true;
}
