// SPDX-License-Identifier: MIT
/* The command heaptrack --check: facts, then answers, one line each on stdout. */
#include "base/human.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/say.h"
#include "collector/attach.h"
#include "engine/quality.h"
#include "sys/file.h"
#include "sys/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/** Measured: docs/attach.md says of which programs. */
#define PAUSES       "stopped about 1 ms to attach and to detach, 5 ms on a busy machine"
#define OUR_MEMORY   "heaptrack itself takes 11 to 190 MB, by the number of stacks"
#define THEIR_MEMORY "about 1 to 12 MB in the program, by the number of its threads"

static bool answer(const char *what, bool ok, const char *yes, const struct err *why) {
	say(stdout, "  %-11s %-8s %s\n", what, ok ? "yes" : "no", ok ? yes : why->text);
	return ok;
}

static void fact(const char *what, const char *text) {
	say(stdout, "  %-11s %s\n", what, text);
}

// ---- the machine

static void limit_in_words(char out[HUMAN_MAX], unsigned which) {
	struct rlimit limit;
	if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
		(void)snprintf(out, HUMAN_MAX, "no limit");
	} else if (which == RLIMIT_NOFILE) {
		(void)human_count(out, limit.rlim_cur);
	} else {
		(void)human_bytes(out, limit.rlim_cur);
	}
}

static void put_rights(void) {
	char text[256], scope[16] = "", files[HUMAN_MAX], space[HUMAN_MAX], size[HUMAN_MAX];
	struct process_memory own;
	(void)process_memory(getpid(), &own);
	bool has_yama = file_read_small("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope) > 0;
	(void)snprintf(text, sizeof text,
			"user %u; kernel.yama.ptrace_scope: %.*s; seccomp filters: %u", (unsigned)geteuid(),
			(int)strcspn(scope, "\n") + (has_yama ? 0 : 4), has_yama ? scope : "none",
			own.n_filters);
	fact("rights", text);
	limit_in_words(files, RLIMIT_NOFILE);
	limit_in_words(space, RLIMIT_AS);
	limit_in_words(size, RLIMIT_FSIZE);
	(void)snprintf(text, sizeof text, "open files: %s; address space: %s; file size: %s", files,
			space, size);
	fact("limits", text);
}

static int check_machine(void) {
	struct utsname name = {0};
	struct err err = {0};
	(void)uname(&name);
	say(stdout, "heaptrack " CLI_VERSION " on %s %s, %s, %ld processors\n", name.sysname,
			name.release, name.machine, sysconf(_SC_NPROCESSORS_ONLN));
	put_rights();
	bool ok = answer("start", run_check_program(&err),
			"programs of glibc: it preloads the recorder", &err);
	ok &= answer("inject", run_check_injected(&err),
			"static programs, those of musl, and allocators that a program contains", &err);
	struct attach_check attached;
	ok &= answer("attach", attach_check(&(struct attach_options){0}, &attached, &err),
			"to running programs: heaptrack --check PID tells of one", &err);
	fact("memory", THEIR_MEMORY "; " OUR_MEMORY);
	return ok ? 0 : 1;
}

// ---- a process

static void put_process(int pid, const char *exe) {
	struct process_memory m;
	char rss[HUMAN_MAX], name[64] = "?";
	if (!process_memory(pid, &m)) {
		return;
	}
	(void)process_thread_name(pid, pid, name, sizeof name);
	bool is_elsewhere = process_pid_space(pid) != process_pid_space(0);
	say(stdout, "process %d (%s), %u thread%s, %s in memory, seccomp filters: %u%s\n", pid, name,
			m.n_threads, m.n_threads == 1 ? "" : "s", human_bytes(rss, m.rss_bytes), m.n_filters,
			is_elsewhere ? ", in a pid namespace of its own (a container)" : "");
	char own[RUNTIME_FLAG_MAX];
	if (runtime_own_memory(slice_of_text(exe), own)) {
		fact("runtime", own);
	}
}

static void put_launch(const char *exe) {
	struct arena arena = {0};
	struct launch launch;
	struct err err = {0};
	if (!*exe) {
		fact("start", "unknown  which program it runs cannot be read");
	} else if (launch_inspect(&launch, exe, &arena, &err)) {
		bool ok = launch.verdict == LAUNCH_RECORDED || launch.verdict == LAUNCH_INJECTED;
		if (!ok) {
			(void)err_set(&err, ERR_UNSUPPORTED, "%s", launch.why);
		}
		(void)answer("start", ok,
				launch.verdict == LAUNCH_INJECTED ? "the recorder is injected"
												  : "the recorder is preloaded",
				&err);
	}
	arena_finish(&arena);
}

/** How many would be hooked, and the first file that they are in. */
static void put_allocators(const struct attach_check *c) {
	const char *text = (const char *)c->hooked.data;
	char line[256];
	(void)snprintf(line, sizeof line, "%u functions in %u file%s: %.*s", c->n_functions,
			c->n_modules, c->n_modules == 1 ? "" : "s", (int)strcspn(text, "\t"), text);
	fact("allocators", line);
}

static void put_cost(const struct attach_check *c, uint64_t max_pause_ns) {
	char takes[HUMAN_MAX], most[HUMAN_MAX], line[160];
	struct err err = {0};
	(void)human_duration(takes, c->copy_ns);
	(void)human_duration(most, max_pause_ns);
	(void)snprintf(line, sizeof line, "copying its memory stops it for at most %s (estimated)",
			takes);
	(void)(max_pause_ns == 0
					? err_set(&err, ERR_LIMIT, "--max-pause 0: blocks from before stay unknown")
					: err_set(&err, ERR_LIMIT,
							  "copying its memory would stop it for %s, and %s are allowed "
							  "(--max-pause): blocks from before stay unknown",
							  takes, most));
	(void)answer("old blocks", c->copies, line, &err);
	fact("pause", PAUSES);
	fact("memory", THEIR_MEMORY "; " OUR_MEMORY);
	fact("", "(estimated from measurements of other programs: docs/attach.md)");
}

static int check_process(int pid, uint64_t max_pause_ns) {
	const struct attach_options options = {.pid = pid, .max_pause_ns = max_pause_ns};
	struct attach_check c;
	struct err err = {0};
	char exe[4096] = "", link[64];
	(void)snprintf(link, sizeof link, "/proc/%d/exe", pid);
	if (process_link(pid, "exe", exe, sizeof exe) && !file_is_one(exe, link)) {
		(void)snprintf(exe, sizeof exe, "%s", link); // it was deleted, or lies in another root
	}
	put_process(pid, exe);
	bool ok = attach_check(&options, &c, &err);
	put_launch(exe);
	if (ok && !c.is_certain) {
		fact("attach", "perhaps  its seccomp filters can be read only when it is stopped");
	} else {
		(void)answer("attach", ok, "", &err);
	}
	if (ok) {
		put_allocators(&c);
		put_cost(&c, max_pause_ns);
	}
	buffer_finish(&c.hooked);
	return ok ? 0 : 1;
}

int cli_check(int pid, uint64_t max_pause_ns) {
	return pid == 0 ? check_machine() : check_process(pid, max_pause_ns);
}
