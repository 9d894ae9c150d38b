// SPDX-License-Identifier: MIT
/* Starts a child that waits for its environment, and restores the original limits. */
#include "sys/spawn.h"

#include "sys/file.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

// ---- limits

enum {
	STACK_BYTES = 8 << 20, // elfutils and the demangler recurse deeply
	FILES_LEAST = 1024,
};

static const unsigned kept[] = {RLIMIT_STACK, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS};
enum { N_KEPT = N_OF(kept) };

static struct rlimit started_with[N_KEPT];
static bool is_known[N_KEPT];

rlim_t own_limit_raise(unsigned which, rlim_t least) {
	struct rlimit limit = {0};
	if (getrlimit(which, &limit) != 0 || limit.rlim_cur >= least) {
		return limit.rlim_cur;
	}
	rlim_t most = limit.rlim_max;
	limit = (struct rlimit){least, most < least ? least : most};
	if (setrlimit(which, &limit) != 0) { // only root may raise the hard one
		limit = (struct rlimit){most, most};
		(void)setrlimit(which, &limit);
	}
	return limit.rlim_cur;
}

void own_limits_raise(void) {
	for (size_t i = 0; i < N_KEPT; i++) {
		is_known[i] = getrlimit(kept[i], &started_with[i]) == 0;
	}
	(void)own_limit_raise(RLIMIT_STACK, STACK_BYTES);
	(void)own_limit_raise(RLIMIT_NOFILE, FILES_LEAST);
	pthread_attr_t attr;
	if (pthread_attr_init(&attr) == 0) {
		if (pthread_attr_setstacksize(&attr, STACK_BYTES) == 0) {
			(void)pthread_setattr_default_np(&attr);
		}
		(void)pthread_attr_destroy(&attr);
	}
}

void own_limits_restore(void) {
	EACH_NUMBER(i, N_KEPT, is_known[i]) {
		(void)setrlimit(kept[i], &started_with[i]);
	}
}

// ---- the child

enum { VARIABLE_MAX = 256 };

static const char no_variable[] = "-";

static void child_run(const struct spawn_program *program, int talk) {
	static char variable[VARIABLE_MAX];
	if (program->tracer > 0) {
		(void)prctl(PR_SET_PTRACER, program->tracer);
	}
	if (file_read_all(talk, variable, sizeof variable - 1) <= 0) {
		_exit(127); // cancelled, or the parent has died
	}
	if (strcmp(variable, no_variable) != 0) {
		program->envp[0] = variable;
	}
	signals_restore(program->start);
	own_limits_restore();
	(void)execve(program->path, program->argv, program->envp);
	int why = errno;
	(void)!write(talk, &why, sizeof why);
	_exit(127);
}

bool spawn_fork(struct spawn *s, const struct spawn_program *program, struct err *err) {
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
		return err_system(err, errno, "socketpair");
	}
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(ends[0]);
		child_run(program, ends[1]);
	}
	bool ok = pid > 0 || err_system(err, errno, "cannot start a process");
	(void)close(ends[1]);
	*s = (struct spawn){ok ? pid : 0, ends[0]};
	if (!ok) {
		(void)close(ends[0]);
	}
	return ok;
}

static void reap(struct spawn *s) {
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR) {}
	s->pid = 0;
}

bool spawn_exec(struct spawn *s, const char *variable, int *errnum) {
	variable = variable ? variable : no_variable;
	(void)!write(s->talk, variable, strlen(variable));
	(void)shutdown(s->talk, SHUT_WR);
	int why;
	bool failed = file_read_all(s->talk, &why, sizeof why) == (ssize_t)sizeof why;
	(void)close(s->talk);
	if (failed) {
		*errnum = why;
		reap(s);
	}
	return !failed;
}

void spawn_cancel(struct spawn *s) {
	if (s->pid > 0) {
		(void)close(s->talk);
		reap(s);
	}
}
