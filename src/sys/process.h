// SPDX-License-Identifier: MIT
#pragma once
/** Another process, through /proc. Once it ends, functions return false and zero their result. */

#include "base/base.h"

#include <dirent.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

struct process_memory {
	uint64_t rss_bytes, peak_rss_bytes;
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes; // its parts
	uint64_t code_bytes;                                      // mapped executable
	uint32_t n_threads;
	uint32_t seccomp_mode; // 0: none, 1: strict, 2: filter
	uint32_t n_filters;    // seccomp filters; 0 before Linux 5.9
};
bool process_memory(pid_t pid, struct process_memory *out);

struct process_usage {
	uint64_t minor_faults, major_faults;
	uint64_t user_ns, system_ns;
	uint64_t children_faults;       // of children it has waited for
	uint64_t start_ticks;           // as process_start_ticks
	uint64_t stack, brk, arguments; // their starts; 0: not permitted
	int wait_status;                // of a zombie
	pid_t parent;
	char state; // R, S, D, T (stopped), Z (dead, not yet waited for)
};
bool process_usage(pid_t pid, struct process_usage *out);
bool process_is_stopped(pid_t pid);

/**
 * The wait status, as from waitpid, of a process that need not be a child but must be traceable.
 * `fd`: a pidfd. -1: unknown (its parent has already waited for it, before Linux 6.15).
 */
int process_wait_status(int fd, pid_t pid);

/** When it was started, since the Unix epoch, to about a tick; 0: unknown. */
uint64_t process_start_wall_ns(pid_t pid);

/** Does `pid` have a thread with id `tid` in its own pid namespace? True, too, if not known. */
bool process_has_thread_inside(pid_t pid, pid_t tid);

/** Is the thread running or runnable? */
bool process_thread_is_running(pid_t pid, pid_t tid);

/** The NUL-terminated name of a thread (tid == pid: of the process). */
bool process_thread_name(pid_t pid, pid_t tid, char *out, size_t size);

/** A path in /proc/PID, which lives until the end of the block. `pid` 0: ourselves. */
enum { PROCESS_PATH_MAX = 64 };
#define PROCESS_PATH(pid, ...) process_path((char[PROCESS_PATH_MAX]){0}, (pid), __VA_ARGS__)
const char *process_path(char out[PROCESS_PATH_MAX], pid_t pid, const char *fmt, ...)
		ATTR_PRINTF(3, 4);

/** Read such a file, as file_read_small. */
long process_read(pid_t pid, const char *name, char *out, size_t size);

/**
 * The value in the line beginning with `name` and `sign` (':' in "status"), after spaces; or NULL.
 */
const char *process_line(const char *text, const char *name, char sign);

/** Such a value of a "status" as a number; 0: none. */
uint64_t process_status_number(const char *status, const char *name, int base);

/** The last, innermost pid in a "status"; 0: none. */
pid_t process_status_pid(const char *status);

/** May we trace other users' processes (CAP_SYS_PTRACE)? */
bool process_may_trace_all(void);

/** The initial environment of the process, to be freed. NULL: unreadable. */
char *process_environment(pid_t pid, size_t *n);

/** The value of a variable in those `n` bytes, or NULL. */
const char *process_variable(const char *environment, size_t n, const char *name);

/** The NUL-terminated target of /proc/PID/exe, cwd or another link. */
bool process_link(pid_t pid, const char *link, char *out, size_t size);

/** The file that the process runs, even if deleted, to tell whether it changed. */
struct process_exe {
	uint64_t device, inode;
	uint64_t stack; // main stack's start, which an exec of the same file changes; 0: unknown
};
bool process_exe(pid_t pid, struct process_exe *out);
bool process_exe_file(const char *path, struct process_exe *out);

/**
 * The link beside its executable that it was started by: redis-server for redis-check-rdb. False:
 * none, or the executable's name begins with it (python3 of python3.11) and tells more.
 */
bool process_called(pid_t pid, const char *exe, char *out, size_t size);

/** Are both known, and the same file? */
static inline bool process_is_same_file(const struct process_exe *a, const struct process_exe *b) {
	return a->inode != 0 && a->device == b->device && a->inode == b->inode;
}

/** When it was started, in ticks since boot: with the pid, this identifies the process. 0: gone. */
uint64_t process_start_ticks(pid_t pid);

/** Its pid in its innermost namespace; 0: gone. */
pid_t process_pid_inside(pid_t pid);

/** The inode of its pid namespace (`pid` 0: our own); 0: unknown. */
uint32_t process_pid_space(pid_t pid);

/**
 * Up to `max` pids of all processes. `after` not 0: only those allocated after that pid, which must
 * be recent enough that pids have not wrapped around since. Returns how many.
 */
size_t process_all(pid_t after, pid_t *out, size_t max);

/** The next number in /proc or in a folder "task"; 0: no more, or the folder is NULL. */
pid_t process_next(DIR *folder);

/** Up to `max` pids of children of all threads of `pid`. Returns how many. */
size_t process_children(pid_t pid, pid_t *out, size_t max);
