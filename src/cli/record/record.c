// SPDX-License-Identifier: MIT
/* The command heaptrack. Its messages go to stderr: stdout belongs to the program. */
#include "cli/options/table.h"
#include "cli/record/options.h"
#include "report/report.h"
#include "sys/spawn.h"

#define complain(...) say_problem("heaptrack", __VA_ARGS__)

// ---- what the collector reports

struct screen {
	bool is_quiet;
	bool is_raw;
	bool is_silent;    // not even the collector's messages
	bool has_progress; // the terminal shows an unfinished line
};

static void end_progress(struct screen *screen) {
	if (screen->has_progress) {
		(void)fputs("\r\033[K", stderr);
		screen->has_progress = false;
	}
}

static void tell_start(void *user, const char *path) {
	const struct screen *screen = user;
	char raw[PATH_MAX];
	path = screen->is_raw ? interpret_name(raw, path, ".raw.zst") : path;
	if (!screen->is_quiet) {
		say(stderr, "heaptrack output will be written to \"%s\"\n", VISIBLE_NAME(path));
	}
}

static void tell(void *user, const char *text) {
	struct screen *screen = user;
	end_progress(screen);
	if (!screen->is_silent) {
		complain("%s", text);
	}
}

static void tell_progress(void *user, size_t n_left, size_t n_all) {
	struct screen *screen = user;
	if (screen->is_quiet || !isatty(STDERR_FILENO) || n_all == 0) {
		return;
	}
	size_t done = n_all > n_left ? n_all - n_left : 0;
	(void)fprintf(stderr, "\rsymbolizing: %zu %% (Ctrl+C skips the rest)\033[K",
			done * 100 / n_all);
	screen->has_progress = true;
}

// ---- afterwards

/** The first lines of a report on the file. */
static void put_figures(struct run_result *result) {
	SCOPED(buffer) out = {0};
	SCOPED_BY(session_close) struct session s;
	struct report_options options = {.file = result->path,
			.width = terminal_columns(STDERR_FILENO),
			.is_summary = true};
	session_of_recording(&s, &result->recording, result->path);
	report_text(&out, &s.recording, s.names, &options);
	(void)say_text(stderr, buffer_view(&out));
}

static void put_way_on(const struct run_result *result) {
	say(stderr, "Look at it here:\n  heaptrack --analyze \"%s\"\n", VISIBLE_NAME(result->path));
	if (getenv("SSH_CONNECTION")) {
		(void)fprintf(stderr, "or copy it to your own machine; the file contains all symbols:\n");
		say_copy(stderr, "  ", result->path);
	} else if (result->file_is_whole) {
		(void)fprintf(stderr, "or copy it to any machine: the file contains all symbols\n");
	}
}

/** --raw: single events become the raw stream. */
static bool write_raw(const struct heaptrack_options *o, const struct run_result *result) {
	char raw[PATH_MAX];
	struct err err = {0};
	(void)interpret_name(raw, result->path, ".raw.zst");
	if (!interpret_to_raw(result->path, raw, &err)) {
		complain("cannot write the raw stream: %s", err.text);
		return false;
	}
	if (!o->run.is_quiet) {
		say(stderr,
				"Symbolize it here, or on the machine that has the binaries:\n"
				"  heaptrack --interpret \"%s\"\n",
				VISIBLE_NAME(raw));
	}
	return true;
}

static void put_nothing_recorded(const char *program, const struct run_result *result) {
	const char *why = quality_why(result->why);
	if (result->was_too_narrow) {
		complain("nothing was recorded: the address space of \"%s\" is too small for the recorder "
				 "(ulimit -v); allow 100 MB more",
				program);
		return;
	}
	complain("nothing was recorded: the recorder was not loaded into \"%s\"%s%s", program,
			why ? ", which " : "", why ? why : "");
}

// ---- record

// The program replaces this process: its status, terminal and signals are its own
static int become(const struct launch *launch, char **argv) {
	own_limits_restore();
	(void)execv(launch->path, argv);
	int why = errno;
	complain("cannot run \"%s\": %s", launch->path, strerror(why));
	return why == ENOENT ? 127 : 126;
}

static int run_unrecorded(const struct launch *launch, const char *why, char **argv) {
	complain("%s; it runs unrecorded", why);
	return become(launch, argv);
}

static struct run_options options_of(const struct heaptrack_options *o, struct screen *screen) {
	struct run_options options = o->run;
	options.argv = o->rest;
	options.environment = environ;
	options.version = HEAPTRACK_VERSION;
	options.events_bytes = o->is_raw ? RECORD_ALL_EVENTS : options.events_bytes;
	options.user = screen;
	options.started = tell_start;
	options.say = tell;
	options.progress = tell_progress;
	return options;
}

/** A program that the recorder cannot be injected into can perhaps preload it. */
static bool run_in_some_way(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err) {
	if (launch->verdict == LAUNCH_INJECTED && options->children && !launch->has_loader) {
		result->exit_status = EXIT_FAILURE;
		return err_unsupported(err, "\"%s\" cannot load the recorder; record it without --children",
				options->argv[0]);
	}
	if (launch->verdict == LAUNCH_INJECTED && !options->children) {
		bool has_run = run_injected_program(options, launch, result, err);
		if (has_run || !result->is_untouched || !launch->has_loader) {
			return has_run;
		}
		complain("allocators of its own are not recorded: %s", err->text);
	}
	return run_program(options, launch, result, err);
}

/** What a look saw, and with `leaks` what points to blocks. Returns the exit status. */
static int print_look(struct run_result *result, bool leaks) {
	static const char *const views[] = {"--memory", "--by=grade", "--unreachable", "--holders"};
	const bool is_graded = result->recording.grades.n > 0;
	char name[] = "heaptrack_print", view[32];
	int status = leaks && !is_graded;
	for (size_t i = 0; i < (is_graded ? N_OF(views) : 1); i++) {
		(void)format_text(view, sizeof view, "%s", views[i]);
		char *words[] = {name, view, result->path, NULL};
		status |= cli_print(3, words);
	}
	return status;
}

/** `launch` NULL: attach to the running program. */
static int record(const struct heaptrack_options *o, const struct launch *launch) {
	bool looks_only = o->what == ASKED_LOOK && !o->run.leaks;
	struct screen screen = {.is_quiet = o->run.is_quiet,
			.is_raw = o->is_raw,
			.is_silent = !launch && (o->run.is_quiet || looks_only)};
	FREED struct run_result *result = memory_new(1, sizeof *result);
	if (o->python_objects && setenv("PYTHONMALLOC", "malloc", 1) != 0) {
		(void)memory_lacks();
	}
	struct run_options options = options_of(o, &screen);
	struct err err = {0};
	bool has_run = launch ? run_in_some_way(&options, launch, result, &err)
						  : attach_program(&options, &o->attach, result, &err);
	end_progress(&screen);
	int status = result->exit_status;
	memory_must("heaptrack", status);
	if (!has_run && result->is_untouched) {
		status = run_unrecorded(launch, err.text, o->rest);
	} else if (!has_run) {
		complain("%s", err.text);
	} else if (launch && !result->was_recorded) {
		if (!result->is_explained) {
			put_nothing_recorded(o->rest[0], result);
		}
	} else if (o->is_raw && result->file_is_whole) {
		if (!o->run.is_quiet) {
			put_figures(result);
		}
		status = write_raw(o, result) || status ? status : 1;
	} else if (o->what == ASKED_LOOK) {
		status = print_look(result, o->run.leaks);
	} else if (result->is_lost) {
		status = status ? status : 1;
	} else if (!o->run.is_quiet) {
		put_figures(result);
		put_way_on(result);
	}
	run_result_finish(result);
	return status;
}

static int detach(int pid) {
	struct err err = {0};
	bool was_attached;
	if (!attach_repair(pid, &was_attached, &err)) {
		complain("%s", err.text);
		return 1;
	}
	complain(was_attached ? "process %d: the interrupted attach was undone"
						  : "process %d: heaptrack is not attached; nothing was changed",
			pid);
	return 0;
}

// In `timeout 5 PROGRAM`, PROGRAM is meant: heaptrack runs in between, as timeout's child
static int record_wrapped(const struct heaptrack_options *o, char *const *own, int n_own, int at) {
	SCOPED(arena) arena = {0};
	struct launch launch;
	char self[PATH_MAX];
	char **argv = arena_new(&arena, char *, (size_t)(n_own + o->n_rest) + 4);
	if (!process_link(0, "exe", self, sizeof self)) {
		complain("cannot run \"%s\"", o->rest[0]);
		return 1;
	}
	launch_inspect(&launch, o->rest[0], &arena);
	if (launch.verdict == LAUNCH_REFUSED && !launch.gains_rights) {
		complain("%s", launch.why);
		return launch.exit_status;
	}
	memcpy(argv, o->rest, (size_t)at * sizeof *argv);
	argv[at] = self;
	memcpy(&argv[at + 1], own, (size_t)n_own * sizeof *argv);
	argv[at + 1 + n_own] = (char *)"--";
	memcpy(&argv[at + n_own + 2], &o->rest[at], (size_t)(o->n_rest - at) * sizeof *argv);
	return become(&launch, argv);
}

static int inspect_and_record(const struct heaptrack_options *o) {
	SCOPED(arena) arena = {0};
	struct launch launch;
	launch_inspect(&launch, o->rest[0], &arena);
	if (launch.verdict == LAUNCH_REFUSED) {
		complain("%s", launch.why);
		return launch.exit_status;
	}
	return launch.verdict == LAUNCH_UNRECORDED ? run_unrecorded(&launch, launch.why, o->rest)
											   : record(o, &launch);
}

// ---- the other forms

// `heaptrack FILE` opens a recording, as always
static bool is_recording(const char *name) {
	return access(name, F_OK) == 0 && access(name, X_OK) != 0 &&
			(strstr(path_base_name(name), "heaptrack.") || session_knows(name));
}

int cli_heaptrack(int argc, char **argv) {
	struct heaptrack_options o;
	struct err err = {0};
	int status;
	if (!heaptrack_options_parse(&o, argc, argv, &err)) {
		complain("%s", err.text);
		return 1;
	}
	if (o.what != ASKED_DETACH && o.what != ASKED_CHECK) { // by which a process may be stopped
		memory_must("heaptrack", EXIT_FAILURE);
	}
	switch (o.what) {
	case ASKED_ANALYZE: return cli_analyze(o.n_rest, o.rest);
	case ASKED_ATTACH: return record(&o, NULL);
	case ASKED_DETACH: return detach(o.attach.pid);
	case ASKED_LOOK: return cli_look(o.attach.pid, &status) ? status : record(&o, NULL);
	case ASKED_CONTROL: return cli_control(o.n_rest + 1, o.rest - 1);
	case ASKED_CHECK: return cli_check(o.attach.pid, o.attach.max_pause_ns, o.is_json);
	case ASKED_BESIDE: return cli_beside(o.attach.pid, o.fd);
	case ASKED_INTERPRET: return cli_interpret_files(o.n_rest + 1, o.rest - 1);
	case ASKED_DEBUG:
		complain("-d (run in a debugger) is not supported; use: gdb --args heaptrack PROGRAM");
		return 1;
	case ASKED_RECORD: break;
	}
	if (o.n_rest == 0) {
		options_put_help(&heaptrack_option_table, stderr);
		return 1;
	}
	if (o.n_rest == 1 && is_recording(o.rest[0])) {
		return cli_analyze(1, o.rest);
	}
	int wrapped = launch_wrapped(o.rest);
	if (wrapped > 0) {
		int n_own = (int)(o.rest - argv) - 1;
		bool has_end = n_own > 0 && strcmp(argv[n_own], "--") == 0;
		return record_wrapped(&o, argv + 1, n_own - has_end, wrapped);
	}
	return inspect_and_record(&o);
}
