// SPDX-License-Identifier: MIT
#pragma once
/**
 * Another process, examined through /proc. Every function can fail at any time because the process
 * may have ended: it then returns false and leaves its result zeroed.
 */

#include "base/base.h"

#include <dirent.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

struct process_memory {
	uint64_t rss_bytes, peak_rss_bytes;
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes; // its parts
	uint64_t code_bytes;                                      // mapped to execute
	uint32_t n_threads;
	uint32_t seccomp_mode; // 0: none, 1: strict, 2: filter
	uint32_t n_filters;    // of seccomp; 0 before Linux 5.9
};
bool process_memory(pid_t pid, struct process_memory *out);

struct process_usage {
	uint64_t minor_faults, major_faults;
	uint64_t user_ns, system_ns;
	uint64_t children_faults;       // of children that it has waited for; 0: there were none
	uint64_t start_ticks;           // as process_start_ticks
	uint64_t stack, brk, arguments; // where they begin; 0: we may not know
	int wait_status;                // of a zombie
	pid_t parent;
	char state; // R, S, D, T (stopped), Z (gone, not yet waited for)
};
bool process_usage(pid_t pid, struct process_usage *out);
bool process_is_stopped(pid_t pid);

/**
 * How it ended, as waitpid gives it, of a process that need not be a child but may be traced. `fd`:
 * a pidfd. -1: not to be known (a parent that has waited for it already, before Linux 6.15).
 */
int process_wait_status(int fd, pid_t pid);

/** When it was started, since the Unix epoch, to a tick or so; 0: unknown. */
uint64_t process_start_wall_ns(pid_t pid);

/**
 * Whether `pid` has a thread that calls itself `tid` in its own pid namespace. True as well if that
 * cannot be found out.
 */
bool process_has_thread_inside(pid_t pid, pid_t tid);

/** Is the thread running or runnable? */
bool process_thread_is_running(pid_t pid, pid_t tid);

/** The name of a thread (tid == pid: of the process), zero terminated. */
bool process_thread_name(pid_t pid, pid_t tid, char *out, size_t size);

/** The path of a file in /proc/PID, as long as its block lasts. `pid` 0: our own. */
enum { PROCESS_PATH_MAX = 64 };
#define PROCESS_PATH(pid, ...) process_path((char[PROCESS_PATH_MAX]){0}, (pid), __VA_ARGS__)
const char *process_path(char out[PROCESS_PATH_MAX], pid_t pid, const char *fmt, ...)
		ATTR_PRINTF(3, 4);

/** Such a file, as file_read_small reads it. */
long process_read(pid_t pid, const char *name, char *out, size_t size);

/**
 * What a text has in the line that begins with `name` and `sign`, behind that and blanks: of such a
 * file, "status", the sign is ':'. NULL: there is no such line.
 */
const char *process_line(const char *text, const char *name, char sign);

/** The same of a "status" as a number. 0: there is none. */
uint64_t process_status_number(const char *status, const char *name, int base);

/** The last, innermost pid that a "status" tells; 0: none. */
pid_t process_status_pid(const char *status);

/** May we trace the processes of others (CAP_SYS_PTRACE)? */
bool process_may_trace_all(void);

/** The environment that the process was started with, to be freed. NULL: it cannot be read. */
char *process_environment(pid_t pid, size_t *n);

/** The value of a variable in those `n` bytes. NULL: there is none. */
const char *process_variable(const char *environment, size_t n, const char *name);

/** What /proc/PID/exe, cwd or another link points to, zero terminated. */
bool process_link(pid_t pid, const char *link, char *out, size_t size);

/** Which file the process runs, and whether it is the same as before; even if it was deleted. */
struct process_exe {
	uint64_t device, inode;
	uint64_t stack; // where the main stack began: an exec of the same file changes it. 0: unknown
};
bool process_exe(pid_t pid, struct process_exe *out);
bool process_exe_file(const char *path, struct process_exe *out);

/** Are both known, and the same file? */
static inline bool process_is_same_file(const struct process_exe *a, const struct process_exe *b) {
	return a->inode != 0 && a->device == b->device && a->inode == b->inode;
}

/** When it was started, in ticks since boot: with the pid, this identifies the process. 0: gone. */
uint64_t process_start_ticks(pid_t pid);

/** Its pid as it calls itself, in the innermost namespace; 0: gone. */
pid_t process_pid_inside(pid_t pid);

/** The inode of its pid namespace; `pid` 0: of our own. 0: not to be found out. */
uint32_t process_pid_space(pid_t pid);

/**
 * Up to `max` pids of all processes; `after` not 0: only of those whose pid was given away after
 * that one, which must be so new that not all pids were given away since. Returns how many.
 */
size_t process_all(pid_t after, pid_t *out, size_t max);

/** The next number in /proc or in a folder "task". 0: that was all, or the folder is NULL. */
pid_t process_next(DIR *folder);

/** Up to `max` pids of the children of all threads of `pid`. Returns how many. */
size_t process_children(pid_t pid, pid_t *out, size_t max);
