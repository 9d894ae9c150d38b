// SPDX-License-Identifier: MIT
/*
 * A recorded process becomes another program. The collector, which can refuse, is asked to trace
 * that from its start. It is not asked for a file that gives rights (set-uid): the kernel would
 * withhold them from a traced program, which would run differently without heaptrack.
 */
#include "recorder/preload/exports/replace.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096, PATIENCE_MS = 10000 };

// ---- the file

/** Is it executable, without giving rights? */
static bool is_plain_program(int folder, const char *path, int flags) {
	enum { EXECUTE = 1 };
	struct stat s;
	if (sys_failed(syscall_4(__NR_newfstatat, folder, (long)path, (long)&s, flags)) ||
			!S_ISREG(s.st_mode) || (s.st_mode & (S_ISUID | S_ISGID)) != 0) {
		return false;
	}
	static const char rights[] = "security.capability";
	long n = path[0] == '\0' ? syscall_4(__NR_fgetxattr, folder, (long)rights, 0, 0)
							 : syscall_4(__NR_getxattr, (long)path, (long)rights, 0, 0);
	return sys_failed(n) &&
			(path[0] == '\0' || syscall_3(__NR_faccessat, AT_FDCWD, (long)path, EXECUTE) == 0);
}

static bool has_slash(const char *name) {
	while (*name != '\0' && *name != '/') {
		name++;
	}
	return *name == '/';
}

/** Does the search find a plain one? The first that is not decides, as in execvp. */
static bool finds_plain_program(const char *name) {
	static const char variable[] = "PATH=";
	char path[PATH_BYTES];
	size_t n_name = sys_text_length(name);
	char **entry = &environ == NULL ? NULL : sys_entry(environ, variable);
	for (const char *at = entry == NULL ? "/bin:/usr/bin" : *entry + sizeof variable - 1;; at++) {
		size_t n = 0;
		while (at[n] != ':' && at[n] != '\0') {
			n++;
		}
		if (n + n_name + 2 <= sizeof path) {
			sys_copy(path, at, n);
			path[n] = '/';
			sys_copy(path + n + (n > 0), name, n_name + 1);
			if (syscall_3(__NR_faccessat, AT_FDCWD, (long)path, 0) == 0) {
				return is_plain_program(AT_FDCWD, path, 0);
			}
		}
		at += n;
		if (*at == '\0') {
			return false;
		}
	}
}

// ---- the collector

/** Note the exec, and say whether to ask. A vfork child shares our words, but is not recorded. */
static bool may_ask(void) {
	if (!switch_is_on_or_paused() || !segment_may_call_system()) {
		return false;
	}
	segment_note_exec(host_clock_ns());
	uint32_t word = atomic_load(&segment.header->exec);
	long pid = syscall_0(__NR_getpid);
	return (word == EXEC_READY || word == EXEC_FAILED) &&
			pid == (long)segment.header->program_pid && syscall_0(__NR_gettid) == pid;
}

static bool ask(void) {
	_Atomic uint32_t *word = &segment.header->exec;
	uint32_t seen = EXEC_READY;
	awaiting_change(word, EXEC_FAILED, PATIENCE_MS); // it looks at its program only now and then
	if (!atomic_compare_exchange_strong(word, &seen, EXEC_ASKED)) {
		return false;
	}
	awaiting_change(word, EXEC_ASKED, PATIENCE_MS);
	seen = EXEC_ASKED;
	return !atomic_compare_exchange_strong(word, &seen, EXEC_NONE) && seen == EXEC_SEIZED;
}

bool exec_begin(const char *path, bool search) {
	return may_ask() && path != NULL && path[0] != '\0' &&
			(search && !has_slash(path) ? finds_plain_program(path)
										: is_plain_program(AT_FDCWD, path, 0)) &&
			ask();
}

bool exec_begin_file(int fd) {
	return may_ask() && is_plain_program(fd, "", AT_EMPTY_PATH) && ask();
}

void exec_failed(bool is_followed) {
	uint32_t seized = EXEC_SEIZED;
	if (switch_is_on_or_paused()) {
		segment_note_exec(0);
	}
	if (is_followed) {
		(void)atomic_compare_exchange_strong(&segment.header->exec, &seized, EXEC_FAILED);
	}
}

// ---- those that take a list

/** The arguments from `first` up to the NULL, and what follows it. */
#define LISTED(list, first, argv, behind)                                                      \
	va_list list;                                                                              \
	size_t n = 1;                                                                              \
	va_start(list, first);                                                                     \
	while (va_arg(list, char *) != NULL) {                                                     \
		n++;                                                                                   \
	}                                                                                          \
	va_end(list);                                                                              \
	char **argv = __builtin_alloca((n + 1) * sizeof *argv);                                    \
	argv[0] = (char *)(uintptr_t)first;                                                        \
	va_start(list, first);                                                                     \
	for (size_t i = 1; i <= n; i++) {                                                          \
		argv[i] = va_arg(list, char *);                                                        \
	}                                                                                          \
	char *const *behind __attribute__((unused)) = first == NULL ? NULL                         \
																: va_arg(list, char *const *); \
	va_end(list);

int execl(const char *path, const char *first, ...);
int execlp(const char *path, const char *first, ...);
int execle(const char *path, const char *first, ...);

EXPORT int execl(const char *path, const char *first, ...){
		LISTED(list, first, argv, envp) REPLACE_EXECS(REAL(execv)(path, argv), path, false)}

EXPORT int execlp(const char *path, const char *first, ...){
		LISTED(list, first, argv, envp) REPLACE_EXECS(REAL(execvp)(path, argv), path, true)}

EXPORT int execle(const char *path, const char *first, ...) {
	LISTED(list, first, argv, envp)
	REPLACE_EXECS(REAL(execve)(path, argv, envp), path, false)
}
