// SPDX-License-Identifier: MIT
// What was given a new place or a new form in glibc after 2.28, as 2.28 has it. A program linked with
// --wrap of these names and with this file starts on every glibc from 2.28 on: the linker would else
// take each name in the version of the machine that it links on.

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OLD(name) __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5")

// A call of one form, under the version that it always had
#define SAME(result, name, parameters, arguments) \
	OLD(name);                                    \
	result old_##name parameters;                 \
	result __wrap_##name parameters;              \
	result __wrap_##name parameters {             \
		return old_##name arguments;              \
	}

SAME(int, pthread_create,
		(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *user),
		(thread, attr, run, user))
SAME(int, pthread_join, (pthread_t thread, void **result), (thread, result))
SAME(int, pthread_once, (pthread_once_t *once, void (*run)(void)), (once, run))
SAME(int, pthread_mutex_trylock, (pthread_mutex_t *mutex), (mutex))
SAME(int, pthread_attr_setstacksize, (pthread_attr_t *attr, size_t bytes), (attr, bytes))
SAME(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
SAME(void *, dlopen, (const char *name, int mode), (name, mode))
SAME(void *, dlsym, (void *library, const char *name), (library, name))
SAME(char *, dlerror, (void), ())

// pthread_setattr_default_np came with 2.18
__asm__(".symver old_setattr_default,pthread_setattr_default_np@GLIBC_2.18");
int old_setattr_default(const pthread_attr_t *attr);
int __wrap_pthread_setattr_default_np(const pthread_attr_t *attr);
int __wrap_pthread_setattr_default_np(const pthread_attr_t *attr) {
	return old_setattr_default(attr);
}

// ---- stat: calls that named the layout of the result

enum { STAT_LAYOUT = 1 };

OLD(__xstat64);
OLD(__lxstat64);
OLD(__fxstat64);
int old___xstat64(int layout, const char *path, struct stat64 *out);
int old___lxstat64(int layout, const char *path, struct stat64 *out);
int old___fxstat64(int layout, int fd, struct stat64 *out);
int __wrap_stat64(const char *path, struct stat64 *out);
int __wrap_lstat64(const char *path, struct stat64 *out);
int __wrap_fstat64(int fd, struct stat64 *out);

int __wrap_stat64(const char *path, struct stat64 *out) {
	return old___xstat64(STAT_LAYOUT, path, out);
}

int __wrap_lstat64(const char *path, struct stat64 *out) {
	return old___lxstat64(STAT_LAYOUT, path, out);
}

int __wrap_fstat64(int fd, struct stat64 *out) {
	return old___fxstat64(STAT_LAYOUT, fd, out);
}

// ---- what 2.28 does not have

int __wrap_close_range(unsigned first, unsigned last, int flags);
int __wrap_close_range(unsigned first, unsigned last, int flags) {
	return (int)syscall(SYS_close_range, first, last, flags);
}

const char *__wrap_sigabbrev_np(int signal);
const char *__wrap_sigabbrev_np(int signal) {
	static const char *const names[] = {NULL, "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS",
			"FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT",
			"STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "POLL",
			"PWR", "SYS"};
	return signal > 0 && signal < (int)(sizeof names / sizeof *names) ? names[signal] : NULL;
}

// ---- the start: up to 2.33 the program brings the call of its own constructors

typedef int main_function(int argc, char **argv, char **envp);
typedef void init_function(int argc, char **argv, char **envp);

extern init_function *const __init_array_start[] __attribute__((visibility("hidden")));
extern init_function *const __init_array_end[] __attribute__((visibility("hidden")));

static void construct(int argc, char **argv, char **envp) {
	for (init_function *const *at = __init_array_start; at < __init_array_end; at++) {
		(*at)(argc, argv, envp);
	}
}

OLD(__libc_start_main);
int old___libc_start_main(main_function *main, int argc, char **argv, init_function *init,
		void (*finish)(void), void (*finish_linker)(void), void *stack_end);
int __wrap___libc_start_main(main_function *main, int argc, char **argv, init_function *init,
		void (*finish)(void), void (*finish_linker)(void), void *stack_end);

int __wrap___libc_start_main(main_function *main, int argc, char **argv, init_function *init,
		void (*finish)(void), void (*finish_linker)(void), void *stack_end) {
	(void)init;
	return old___libc_start_main(main, argc, argv, construct, finish, finish_linker, stack_end);
}
