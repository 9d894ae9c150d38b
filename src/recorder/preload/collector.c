// SPDX-License-Identifier: MIT
/*
 * Starts the collector next to this library and tells it which file to write. It is a grandchild
 * that nobody waits for, in a session of its own. Its answer through a pipe is the environment's
 * entry by which the segment is found.
 */
#include "recorder/preload/collector.h"

#include "recorder/preload/real.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#define ASKED   "DUMP_HEAPTRACK_OUTPUT="
#define PRELOAD "LD_PRELOAD="

enum {
	PATH_BYTES = 4096,
	VARIABLE_BYTES = 128,
	START_PATIENCE_MS = 20000, // for the collector to start
};

/** Where the command lies, relative to the library's folder: in a build, an archive, installed. */
static const char *const places[] = {"heaptrack", "../heaptrack", "../../heaptrack",
		"../bin/heaptrack", "../../bin/heaptrack", "../../../bin/heaptrack"};

// ---- the collector's process

struct plan {
	char **environment;
	char *asked;           // the entry that names the file
	char path[PATH_BYTES]; // begins with this library's folder
	size_t folder;         // its length; 0: unknown
};

/** The environment with the name of the file, but not LD_PRELOAD: the collector is not recorded. */
static char **environment_of(const struct plan *plan) {
	size_t n = 0;
	while (plan->environment[n] != NULL) {
		n++;
	}
	char **out = sys_map((n + 2) * sizeof *out);
	size_t at = 0;
	for (size_t i = 0; out != NULL && i < n; i++) {
		char *entry = plan->environment[i];
		if (sys_after(entry, PRELOAD) == NULL && sys_after(entry, ASKED) == NULL) {
			out[at++] = entry;
		}
	}
	if (out != NULL) {
		out[at] = plan->asked;
	}
	return out;
}

/** In the new process. Ends it if none of the places has the command. */
static void become_collector(struct plan *plan, long pid, int fd) {
	enum { LEAST_FD = 10 }; // keep clear of the standard three
	char pid_and_fd[64];
	long own = syscall_3(__NR_fcntl, fd, F_DUPFD, LEAST_FD);
	(void)sys_put_number(sys_put_text(sys_put_number(pid_and_fd, pid), ":"), own);
	char command[] = "heaptrack";
	char option[] = "--beside";
	char *arguments[] = {command, option, pid_and_fd, NULL};
	char **variables = environment_of(plan);
	(void)syscall_0(__NR_setsid); // the terminal's signals are for the program
	for (size_t i = 0; variables != NULL && i < sizeof places / sizeof *places; i++) {
		size_t bytes = sys_text_length(places[i]) + 1;
		if (plan->folder + bytes <= PATH_BYTES) {
			sys_copy(plan->path + plan->folder, places[i], bytes);
			(void)syscall_3(__NR_execve, (long)plan->path, (long)arguments, (long)variables);
		}
	}
	(void)syscall_1(__NR_exit_group, 127);
}

/** A process that is no child of ours, and tells no one when it ends. */
static void start_collector(struct plan *plan, int fd) {
	long pid = syscall_0(__NR_getpid);
	long child = syscall_6(__NR_clone, 0, 0, 0, 0, 0, 0);
	if (child == 0) {
		if (syscall_6(__NR_clone, 0, 0, 0, 0, 0, 0) == 0) {
			become_collector(plan, pid, fd);
		}
		(void)syscall_1(__NR_exit_group, 0);
	}
	if (!sys_failed(child)) {
		(void)syscall_4(__NR_wait4, child, 0, __WALL, 0);
	}
}

/** Read a line into `out`; false: the collector ended without one, or says nothing. */
static bool read_line(int fd, char out[VARIABLE_BYTES]) {
	struct pollfd poll = {.fd = fd, .events = POLLIN};
	for (size_t n = 0; n < VARIABLE_BYTES; n++) {
		if (syscall_3(__NR_poll, (long)&poll, 1, START_PATIENCE_MS) != 1 ||
				syscall_3(__NR_read, fd, (long)(out + n), 1) != 1) {
			return false;
		}
		if (out[n] == '\n') {
			out[n] = '\0';
			return true;
		}
	}
	return false;
}

/** Start it; returns what it says, for the environment. NULL: it could not be started. */
static char *start_as_planned(struct plan *plan) {
	static char variable[VARIABLE_BYTES]; // at most one collector per process
	int fds[2];
	const char *name = lookup_path((const void *)collector_open);
	size_t n = name == NULL ? 0 : sys_text_length(name);
	while (n > 0 && name[n - 1] != '/') {
		n--; // the search begins in this library's folder
	}
	plan->folder = n < PATH_BYTES ? n : 0;
	sys_copy(plan->path, name, plan->folder);
	if (plan->folder == 0 || sys_failed(syscall_2(__NR_pipe2, (long)fds, O_CLOEXEC))) {
		return NULL;
	}
	start_collector(plan, fds[1]);
	(void)syscall_1(__NR_close, fds[1]);
	bool ok = read_line(fds[0], variable) && sys_after(variable, SEGMENT_ENV "=") != NULL;
	(void)syscall_1(__NR_close, fds[0]);
	return ok ? variable : NULL;
}

enum segment_role collector_open(char **environment) {
	char **entry = sys_entry(environment, ASKED);
	if (entry != NULL && sys_entry(environment, SEGMENT_ENV "=") == NULL) {
		struct plan plan = {.environment = environment, .asked = *entry};
		*entry = start_as_planned(&plan) ?: *entry;
	}
	return segment_open(environment);
}

// ---- started by the program itself

enum segment_role collector_open_for(const char *file) {
	char asked[sizeof ASKED + PATH_BYTES] = ASKED;
	char *none[] = {NULL};
	struct plan plan = {.environment = &environ == NULL ? none : environ, .asked = asked};
	size_t n = sys_text_length(file);
	if (n >= PATH_BYTES) {
		return SEGMENT_ROLE_NONE;
	}
	sys_copy(asked + sizeof ASKED - 1, file, n + 1);
	char *answer[] = {start_as_planned(&plan), NULL};
	return segment_open(answer);
}
