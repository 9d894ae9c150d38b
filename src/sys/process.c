// SPDX-License-Identifier: MIT
/* Parses the files of /proc/PID. */
#include "sys/process.h"

#include "sys/file.h"

#include <sys/ioctl.h>
#include <time.h>

const char *process_path(char out[PROCESS_PATH_MAX], pid_t pid, const char *fmt, ...) {
	int n = pid ? snprintf(out, PROCESS_PATH_MAX, "/proc/%d/", (int)pid)
				: snprintf(out, PROCESS_PATH_MAX, "/proc/self/");
	(void)FORMAT_ARGS(out + n, PROCESS_PATH_MAX - (size_t)n, fmt);
	return out;
}

long process_read(pid_t pid, const char *name, char *out, size_t size) {
	return file_read_small(PROCESS_PATH(pid, "%s", name), out, size);
}

char *process_environment(pid_t pid, size_t *n) {
	enum { ENVIRONMENT_MAX = 4 << 20 };
	char *block = malloc(ENVIRONMENT_MAX);
	long got = block ? process_read(pid, "environ", block, ENVIRONMENT_MAX) : -1;
	if (got < 0) {
		free(block);
		return NULL;
	}
	*n = (size_t)got;
	return block;
}

const char *process_variable(const char *environment, size_t n, const char *name) {
	size_t length = strlen(name);
	for (const char *at = environment; at < environment + n; at += strlen(at) + 1) {
		if (strncmp(at, name, length) == 0 && at[length] == '=') {
			return at + length + 1;
		}
	}
	return NULL;
}

const char *process_line(const char *text, const char *name, char sign) {
	size_t n = strlen(name);
	for (const char *at = strstr(text, name); at; at = strstr(at + n, name)) {
		if ((at == text || at[-1] == '\n') && at[n] == sign) {
			return at + n + 1 + strspn(at + n + 1, " \t");
		}
	}
	return NULL;
}

uint64_t process_status_number(const char *status, const char *name, int base) {
	const char *value = process_line(status, name, ':');
	return value ? strtoull(value, NULL, base) : 0;
}

pid_t process_status_pid(const char *status) {
	long last = 0;
	char *end;
	for (const char *ids = process_line(status, "NSpid", ':'); ids && *ids && *ids != '\n';
			ids = end) {
		last = strtol(ids, &end, 10);
		end += strspn(end, " \t");
	}
	return (pid_t)last;
}

/** A field of a "stat" after the name, numbered as in the manual, from 3 on. 0: not a number. */
static uint64_t stat_number(const char *stat, unsigned field) {
	enum { NAME = 2 };
	// The name in parentheses may contain anything: only the last one counts
	const char *at = strrchr(stat, ')');
	for (unsigned i = NAME; at && i < field; i++) {
		at = strchr(at + 1, ' ');
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

bool process_may_trace_all(void) {
	enum { CAP_PTRACE = 19 };
	char text[4096];
	return process_read(0, "status", text, sizeof text) > 0 &&
			(process_status_number(text, "CapEff", 16) >> CAP_PTRACE & 1) != 0;
}

static uint64_t kb(const char *status, const char *name) {
	return process_status_number(status, name, 10) << 10;
}

bool process_memory(pid_t pid, struct process_memory *out) {
	*out = (struct process_memory){0};
	char text[4096];
	if (process_read(pid, "status", text, sizeof text) <= 0) {
		return false;
	}
	out->seccomp_mode = (uint32_t)process_status_number(text, "Seccomp", 10);
	out->n_filters = (uint32_t)process_status_number(text, "Seccomp_filters", 10);
	out->n_threads = (uint32_t)process_status_number(text, "Threads", 10);
	out->peak_rss_bytes = kb(text, "VmHWM");
	out->rss_bytes = kb(text, "VmRSS");
	out->code_bytes = kb(text, "VmExe") + kb(text, "VmLib");
	out->rss_anon_bytes = kb(text, "RssAnon");
	out->rss_file_bytes = kb(text, "RssFile");
	out->rss_shmem_bytes = kb(text, "RssShmem");
	return out->rss_bytes > 0; // a zombie has none
}

/** The state of the process or thread with this "stat"; 0: unknown. */
static char state_in(const char *stat) {
	const char *rest = strrchr(stat, ')');
	return rest && rest[1] == ' ' ? rest[2] : 0;
}

bool process_usage(pid_t pid, struct process_usage *out) {
	enum { PARENT = 4, MINOR = 10, CHILDREN = 11, MAJOR = 12, USER = 14, SYSTEM = 15 };
	enum { START_TIME = 22, START_STACK = 28, START_BRK = 47, ARGUMENTS = 48, EXIT_CODE = 52 };
	char text[1024] = "";
	(void)process_read(pid, "stat", text, sizeof text);
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	*out = (struct process_usage){
			.minor_faults = stat_number(text, MINOR),
			.major_faults = stat_number(text, MAJOR),
			.user_ns = stat_number(text, USER) * tick_ns,
			.system_ns = stat_number(text, SYSTEM) * tick_ns,
			.children_faults = stat_number(text, CHILDREN),
			.start_ticks = stat_number(text, START_TIME),
			.stack = stat_number(text, START_STACK),
			.brk = stat_number(text, START_BRK),
			.arguments = stat_number(text, ARGUMENTS),
			.wait_status = (int)stat_number(text, EXIT_CODE),
			.parent = (pid_t)stat_number(text, PARENT),
			.state = state_in(text),
	};
	return out->state != 0;
}

bool process_is_stopped(pid_t pid) {
	struct process_usage usage;
	return process_usage(pid, &usage) && usage.state == 'T';
}

/** PIDFD_GET_INFO of linux/pidfd.h, missing in Debian 12; works after the wait, too. */
static int wait_status_of_fd(int fd) {
	struct {
		uint64_t mask, cgroup;
		uint32_t ids[11];
		int32_t exit_code;
	} info = {.mask = 1 << 3}; // PIDFD_INFO_EXIT
	_Static_assert(sizeof info == 64, "the first version of struct pidfd_info");
	bool ok = ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 0xFF, 11, sizeof info), &info) == 0;
	return ok && info.mask & 1 << 3 ? info.exit_code : -1;
}

int process_wait_status(int fd, pid_t pid) {
	struct process_usage usage;
	int status = wait_status_of_fd(fd);
	return status < 0 && process_usage(pid, &usage) && usage.state == 'Z' ? usage.wait_status
																		  : status;
}

uint64_t process_start_ticks(pid_t pid) {
	struct process_usage usage;
	(void)process_usage(pid, &usage);
	return usage.start_ticks;
}

uint64_t process_start_wall_ns(pid_t pid) {
	uint64_t ticks = process_start_ticks(pid);
	struct timespec wall, boot;
	if (ticks == 0 || clock_gettime(CLOCK_REALTIME, &wall) != 0 ||
			clock_gettime(CLOCK_BOOTTIME, &boot) != 0) {
		return 0;
	}
	uint64_t second = 1000000000u, tick_ns = second / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t booted_ns = ((uint64_t)wall.tv_sec - (uint64_t)boot.tv_sec) * second +
			(uint64_t)wall.tv_nsec - (uint64_t)boot.tv_nsec;
	return booted_ns + ticks * tick_ns;
}

pid_t process_pid_inside(pid_t pid) {
	char text[4096];
	return process_read(pid, "status", text, sizeof text) > 0 ? process_status_pid(text) : 0;
}

uint32_t process_pid_space(pid_t pid) {
	struct stat s;
	return stat(PROCESS_PATH(pid, "ns/pid"), &s) == 0 ? (uint32_t)s.st_ino : 0;
}

/** The last pid allocated to a process or thread; 0: unknown. */
static pid_t newest_pid(void) {
	char text[128];
	long n = file_read_small("/proc/loadavg", text, sizeof text);
	const char *last = n > 0 ? strrchr(text, ' ') : NULL;
	return last ? (pid_t)strtol(last, NULL, 10) : 0;
}

pid_t process_next(DIR *folder) {
	pid_t pid = 0;
	for (struct dirent *entry; folder && pid == 0 && (entry = readdir(folder));) {
		pid = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	return pid;
}

size_t process_all(pid_t after, pid_t *out, size_t max) {
	pid_t newest = after != 0 ? newest_pid() : 0;
	CLOSED_FOLDER *folder = opendir("/proc");
	size_t n = 0;
	for (pid_t pid; n < max && (pid = process_next(folder)) != 0;) {
		// Pids wrap around
		if (newest == 0 || (uint32_t)(pid - after - 1) < (uint32_t)(newest - after)) {
			out[n++] = pid;
		}
	}
	return n;
}

bool process_has_thread_inside(pid_t pid, pid_t tid) {
	char text[4096];
	CLOSED_FOLDER *folder = opendir(PROCESS_PATH(pid, "task"));
	bool has_it = folder == NULL && access(PROCESS_PATH(pid, "task"), F_OK) == 0;
	for (pid_t task; !has_it && (task = process_next(folder)) != 0;) {
		const char *name = FORMAT(64, "task/%d/status", (int)task);
		has_it = process_read(pid, name, text, sizeof text) > 0 && process_status_pid(text) == tid;
	}
	return has_it;
}

bool process_thread_is_running(pid_t pid, pid_t tid) {
	char text[1024];
	return file_read_small(PROCESS_PATH(pid, "task/%d/stat", (int)tid), text, sizeof text) > 0 &&
			state_in(text) == 'R';
}

bool process_thread_name(pid_t pid, pid_t tid, char *out, size_t size) {
	long n = file_read_small(PROCESS_PATH(pid, "task/%d/comm", (int)tid), out, size);
	if (n <= 0) {
		out[0] = 0;
		return false;
	}
	out[strcspn(out, "\n")] = 0;
	return true;
}

bool process_exe(pid_t pid, struct process_exe *out) {
	enum { TRIES = 3 };
	const char *path = PROCESS_PATH(pid, "exe");
	struct process_exe after;
	struct process_usage now;
	for (int i = 0; i < TRIES && process_exe_file(path, out); i++) {
		(void)process_usage(pid, &now);
		if (!process_exe_file(path, &after)) {
			break;
		}
		if (process_is_same_file(&after, out)) {
			// The file was the same before and after. During an exec, the kernel sets both to where
			// the argument strings are, and then moves the stack below them
			out->stack = now.arguments == now.stack ? 0 : now.stack;
			return true;
		}
	}
	return process_exe_file(path, out);
}

bool process_exe_file(const char *path, struct process_exe *out) {
	struct stat s = {0};
	bool ok = stat(path, &s) == 0;
	*out = (struct process_exe){.device = s.st_dev, .inode = s.st_ino};
	return ok;
}

bool process_called(pid_t pid, const char *exe, char *out, size_t size) {
	char name[32];
	const char *base = path_base_name(exe);
	struct process_exe own, linked;
	if (!process_thread_name(pid, pid, name, sizeof name) || *name == '\0' || strchr(name, '/') ||
			strncmp(base, name, strlen(name)) == 0) {
		return false;
	}
	(void)snprintf(out, size, "%.*s%s", (int)(base - exe), exe, name);
	return process_exe(pid, &own) && process_exe_file(out, &linked) &&
			process_is_same_file(&own, &linked);
}

bool process_link(pid_t pid, const char *link, char *out, size_t size) {
	ssize_t n = readlink(PROCESS_PATH(pid, "%s", link), out, size - 1);
	out[n > 0 ? n : 0] = 0;
	return n > 0;
}

size_t process_children(pid_t pid, pid_t *out, size_t max) {
	char text[8192];
	CLOSED_FOLDER *tasks = opendir(PROCESS_PATH(pid, "task"));
	size_t n = 0;
	for (pid_t task; n < max && (task = process_next(tasks)) != 0;) {
		const char *name = FORMAT(64, "task/%d/children", (int)task);
		if (process_read(pid, name, text, sizeof text) <= 0) {
			continue;
		}
		char *at = text, *end;
		for (long child; n < max && (child = strtol(at, &end, 10)) > 0; at = end) {
			out[n++] = (pid_t)child;
		}
	}
	return n;
}
