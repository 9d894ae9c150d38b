// SPDX-License-Identifier: MIT
/* The command heaptrack --check: facts, then answers, a line each; or one JSON object. */
#include "cli/cli.h"
#include "collector/run.h"
#include "engine/findings.h"

#include <sys/utsname.h>

enum { LIBC_BYTES_MAX = 64 << 20, OLDEST_MINOR = 28 }; // glibc 2.28

// ---- the C library of a process, by the files that it maps

enum check_libc { CHECK_GLIBC, CHECK_MUSL, CHECK_OTHER_LIBC, CHECK_UNKNOWN_LIBC };

/** The C library's file, as mapped in the process. False: there is none; `out` is "". */
static bool find_libc(pid_t pid, char out[PATH_MAX], bool *is_readable) {
	SCOPED(smaps) maps = {0};
	*is_readable = smaps_read(&maps, pid, "maps");
	const struct smaps_area *libc = FIND_IN(a, maps,
			starts_with_any(slice_of_text(path_base_name(a->name)),
					"|libc.so|libc-2.|libc.musl|ld-musl"));
	(void)snprintf(out, PATH_MAX, "%s", libc ? libc->name : "");
	return libc != NULL;
}

/** glibc's statement of its version; else "". */
static void version_in(struct slice file, char out[16]) {
	static const char words[] = " release version ";
	const char *at = memmem(file.data, file.size, words, strlen(words));
	size_t left = at ? file.size - (size_t)(at - (const char *)file.data) - strlen(words) : 0;
	(void)snprintf(out, 16, "%.*s", (int)(left < 15 ? left : 15), at ? at + strlen(words) : "");
	out[strspn(out, "0123456789.")] = 0;
	size_t n = strlen(out);
	out[n - (n > 0 && out[n - 1] == '.')] = 0;
}

static enum check_libc judge_shared(struct slice file, char *text, size_t size) {
	char version[16];
	version_in(file, version);
	if (!*version) {
		bool is_musl = memmem(file.data, file.size, "musl libc", strlen("musl libc")) != NULL;
		(void)snprintf(text, size, "%s: the recorder is injected, not preloaded",
				is_musl ? "musl" : "another one");
		return is_musl ? CHECK_MUSL : CHECK_OTHER_LIBC;
	}
	bool is_old = strncmp(version, "2.", 2) == 0 && atoi(version + 2) < OLDEST_MINOR;
	(void)snprintf(text, size, "glibc %s%s", version,
			is_old ? ": too old, preloading the recorder needs 2.28"
				   : " (2.28 or later is needed)");
	return CHECK_GLIBC;
}

/** Which C library a process has, and in `text` what follows from that. Reads its files. */
static enum check_libc check_libc(pid_t pid, char *text, size_t size) {
	char name[PATH_MAX];
	bool is_readable;
	bool is_shared = find_libc(pid, name, &is_readable);
	SCOPED(buffer) file = {0};
	struct err err = {0};
	enum check_libc kind = CHECK_UNKNOWN_LIBC;
	const char *path = FORMAT(PATH_MAX + 64, is_shared ? "/proc/%d/root%s" : "/proc/%d/exe",
			(int)pid, name);
	if (!is_readable || !file_read_whole(path, &file, LIBC_BYTES_MAX, &err)) {
		(void)snprintf(text, size, "unknown: its files cannot be read");
	} else if (is_shared) {
		kind = judge_shared(buffer_view(&file), text, size);
	} else {
		static const char tunables[] = "GLIBC_TUNABLES"; // glibc reads it at its start
		bool is_glibc = memmem(file.data, file.size, tunables, strlen(tunables)) != NULL;
		(void)snprintf(text, size, "static%s: the recorder is injected, not preloaded",
				is_glibc ? " (glibc)" : " (not glibc's)");
		kind = is_glibc ? CHECK_GLIBC : CHECK_OTHER_LIBC;
	}
	return kind;
}

/** May we trace other users' processes? In words. */
static void put_capabilities(char *text, size_t size) {
	char map[128];
	bool may_trace = process_may_trace_all();
	unsigned long long first = 0, outer = 0, n = 0;
	bool has_map = file_read_small("/proc/self/uid_map", map, sizeof map) > 0 &&
			sscanf(map, "%llu %llu %llu", &first, &outer, &n) == 3;
	bool is_confined = has_map && (first != 0 || outer != 0 || n != UINT_MAX);
	(void)snprintf(text, size, "CAP_SYS_PTRACE: %s%s",
			may_trace ? "yes" : "no, so only processes of this user can be attached to",
			may_trace && is_confined ? ", but only within its user namespace" : "");
}

// ---- lines and the JSON object

struct check {
	bool is_json;
	struct json j; // written in any case
};

/** As measured for docs/attach.md, which names the programs. */
#define PAUSES       "stopped about 1 ms to attach and to detach, 5 ms on a busy machine"
#define OUR_MEMORY   "heaptrack itself takes 11 to 190 MB, by the number of stacks"
#define THEIR_MEMORY "about 1 to 12 MB in the program, by the number of its threads"

/** `said`: yes, no, perhaps, unknown, or NULL for a fact. */
static void row(struct check *c, const char *what, const char *said, const char *text) {
	if (!c->is_json) {
		say(stdout, said ? "  %-12s %-8s %s\n" : "  %-12s %s%s\n", what, said ? said : "", text);
		return;
	}
	char key[16];
	(void)snprintf(key, sizeof key, "%s", what);
	for (char *at = key; (at = strchr(at, ' '));) {
		*at = '_';
	}
	JSON_OBJECT(&c->j, key);
	json_text(&c->j, "answer", said);
	json_text(&c->j, "text", text);
}

static bool answer(struct check *c, const char *what, bool ok, const char *yes,
		const struct err *why) {
	row(c, what, ok ? "yes" : "no", ok ? yes : why->text);
	return ok;
}

static void fact(struct check *c, const char *what, const char *text) {
	row(c, what, NULL, text);
}

/** The first line, whose parts the JSON object has. */
#define head(c, ...) ((c)->is_json ? (void)0 : say(stdout, __VA_ARGS__))

// ---- the machine

/** Of process `pid`; 0: our own. */
static const char *limit_in_words(struct check *c, char out[HUMAN_MAX], pid_t pid, unsigned which,
		const char *key) {
	struct rlimit limit;
	bool is_known = prlimit(pid, which, NULL, &limit) == 0;
	bool is_limited = is_known && limit.rlim_cur != RLIM_INFINITY;
	json_number_if(&c->j, key, is_limited, is_limited ? limit.rlim_cur : 0);
	return !is_limited               ? (is_known ? "no limit" : "unknown")
			: which == RLIMIT_NOFILE ? human_count(out, limit.rlim_cur)
									 : human_bytes(out, limit.rlim_cur);
}

static void put_limits(struct check *c, pid_t pid) {
	const char *files = limit_in_words(c, HUMAN_ROOM, pid, RLIMIT_NOFILE, "open_files");
	const char *space = limit_in_words(c, HUMAN_ROOM, pid, RLIMIT_AS, "address_space_bytes");
	const char *size = limit_in_words(c, HUMAN_ROOM, pid, RLIMIT_FSIZE, "file_size_bytes");
	fact(c, "limits",
			FORMAT(256, "open files: %s; address space: %s; file size: %s", files, space, size));
}

static void put_rights(struct check *c) {
	char text[256], scope[16] = "";
	struct process_memory own = {0};
	(void)process_memory(getpid(), &own);
	bool has_yama = file_read_small("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope) > 0;
	scope[strcspn(scope, "\n")] = 0;
	(void)snprintf(text, sizeof text, "user %u; kernel.yama.ptrace_scope: %s; seccomp filters: %u",
			(unsigned)geteuid(), has_yama ? scope : "none", own.n_filters);
	json_number(&c->j, "user", geteuid());
	json_number_if(&c->j, "ptrace_scope", has_yama, strtoul(scope, NULL, 10));
	json_number(&c->j, "seccomp_filters", own.n_filters);
	fact(c, "rights", text);
	put_capabilities(text, sizeof text);
	fact(c, "capabilities", text);
	put_limits(c, 0);
}

static int check_machine(struct check *c) {
	struct utsname name = {0};
	struct err err = {0};
	(void)uname(&name);
	long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
	head(c, "heaptrack " CLI_VERSION " on %s %s, %s, %ld processors\n", name.sysname, name.release,
			name.machine, n_processors);
	json_text(&c->j, "kernel", name.release);
	json_text(&c->j, "machine", name.machine);
	json_number(&c->j, "processors", (uint64_t)n_processors);
	put_rights(c);
	bool ok = answer(c, "start", run_check_program(&err),
			"programs of glibc: it preloads the recorder", &err);
	ok &= answer(c, "inject", run_check_injected(&err),
			"static programs, those of musl, and allocators that a program contains", &err);
	struct injector_check attached;
	ok &= answer(c, "attach", attach_check(&(struct attach_options){0}, &attached, &err),
			"to running programs: heaptrack --check PID tells of one", &err);
	fact(c, "memory", THEIR_MEMORY "; " OUR_MEMORY);
	return ok ? 0 : 1;
}

// ---- a process

static void put_process(struct check *c, int pid, const char *exe) {
	struct process_memory m;
	char name[64] = "?";
	if (!process_memory(pid, &m)) {
		return;
	}
	(void)process_thread_name(pid, pid, name, sizeof name);
	uint32_t space = process_pid_space(pid); // 0: not readable for us
	bool is_elsewhere = space != 0 && space != process_pid_space(0);
	json_number(&c->j, "pid", (uint64_t)pid);
	json_text(&c->j, "name", name);
	json_number(&c->j, "threads", m.n_threads);
	json_number(&c->j, "rss_bytes", m.rss_bytes);
	json_number(&c->j, "seccomp_filters", m.n_filters);
	json_bool(&c->j, "other_pid_namespace", is_elsewhere);
	head(c, "process %d (%s), %u thread%s, %s in memory, seccomp filters: %u%s\n", pid, name,
			m.n_threads, m.n_threads == 1 ? "" : "s", HUMAN_BYTES(m.rss_bytes), m.n_filters,
			is_elsewhere ? ", in a pid namespace of its own (a container)" : "");
	char own[RUNTIME_FLAG_MAX];
	if (runtime_own_memory(slice_of_text(exe), own)) {
		fact(c, "runtime", own);
	}
}

static void put_launch(struct check *c, const char *exe) {
	SCOPED(arena) arena = {0};
	struct launch launch;
	if (!*exe) {
		row(c, "start", "unknown", "which program it runs cannot be read");
		return;
	}
	memory_must("heaptrack", EXIT_FAILURE); // no process is stopped
	launch_inspect(&launch, exe, &arena);
	bool ok = launch.verdict == LAUNCH_RECORDED || launch.verdict == LAUNCH_INJECTED;
	row(c, "start", ok ? "yes" : "no",
			!ok                                         ? launch.why
					: launch.verdict == LAUNCH_INJECTED ? "the recorder is injected"
														: "the recorder is preloaded");
}

/** How many would be hooked, and the first file with one. */
static void put_allocators(struct check *out, const struct injector_check *c) {
	const char *text = (const char *)c->hooked.data;
	const struct injector_report *r = &c->report;
	json_number(&out->j, "functions", r->n_functions);
	json_number(&out->j, "modules", r->n_modules);
	fact(out, "allocators",
			FORMAT(256, "%u functions in %u file%s: %.*s", r->n_functions, r->n_modules,
					r->n_modules == 1 ? "" : "s", (int)strcspn(text, "\t"), text));
}

static void put_old_blocks(struct check *out, const struct injector_report *r,
		uint64_t max_pause_ns, bool is_glibc) {
	const char *takes = HUMAN_DURATION(r->snapshot_ns);
	const char *fits = FORMAT(160,
			"those of glibc's malloc; copying its memory stops it for at most %s (estimated)",
			takes);
	const char *is_long = FORMAT(256,
			"copying its memory would stop it for %s, and %s are allowed (--max-pause): blocks "
			"from before stay unknown",
			takes, HUMAN_DURATION(max_pause_ns));
	const char *why = !is_glibc
			? "only those of glibc's malloc are found: blocks from before stay unknown"
			: max_pause_ns ? is_long
						   : "--max-pause 0: blocks from before stay unknown";
	bool ok = r->no_copy == INJECTOR_COPIED && is_glibc;
	json_number(&out->j, "copy_ns", r->snapshot_ns);
	json_number(&out->j, "max_pause_ns", max_pause_ns);
	row(out, "old blocks", ok ? "yes" : "no", ok ? fits : why);
}

static int check_process(struct check *out, int pid, uint64_t max_pause_ns) {
	const struct attach_options options = {.pid = pid, .max_pause_ns = max_pause_ns};
	struct injector_check c;
	struct err err = {0};
	char exe[4096] = "", libc[160];
	const char *link = PROCESS_PATH(pid, "exe");
	if (process_link(pid, "exe", exe, sizeof exe) && !file_is_one(exe, link)) {
		(void)snprintf(exe, sizeof exe, "%s", link); // it was deleted, or is in another root
	}
	put_process(out, pid, exe);
	bool ok = attach_check(&options, &c, &err);
	enum check_libc kind = check_libc(pid, libc, sizeof libc);
	if (*exe) {
		fact(out, "libc", libc);
		put_limits(out, pid);
	}
	put_launch(out, exe);
	if (ok && c.has_filter) {
		row(out, "attach", "perhaps", "its seccomp filters can be read only when it is stopped");
	} else {
		(void)answer(out, "attach", ok, "", &err);
	}
	if (ok) {
		put_allocators(out, &c);
		put_old_blocks(out, &c.report, max_pause_ns, kind == CHECK_GLIBC);
		fact(out, "pause", PAUSES);
		fact(out, "memory", THEIR_MEMORY "; " OUR_MEMORY);
		head(out, "  %-12s (estimated from measurements of other programs: docs/attach.md)\n", "");
	}
	buffer_finish(&c.hooked);
	return ok ? 0 : 1;
}

int cli_check(int pid, uint64_t max_pause_ns, bool is_json) {
	SCOPED(buffer) text = {0};
	struct check c = {.is_json = is_json, .j = json_init(&text)};
	json_open(&c.j, NULL, '{');
	json_number(&c.j, "version", 1);
	json_text(&c.j, "heaptrack_version", CLI_VERSION);
	int status = pid == 0 ? check_machine(&c) : check_process(&c, pid, max_pause_ns);
	json_close(&c.j);
	if (is_json) {
		buffer_slice(&text, slice_of_text("\n"));
		status = say_text(stdout, buffer_view(&text)) ? status : 1;
	}
	return status;
}
