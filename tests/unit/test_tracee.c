// SPDX-License-Identifier: MIT
#include "injector/tracee/tracee.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/** What the process and its tracer share. */
struct shared {
	_Atomic bool is_over;
	_Atomic unsigned n_waits, n_interrupted;
};

static void *fork_on(void *user) {
	struct shared *s = user;
	while (!s->is_over) {
		pid_t child = fork();
		if (child == 0) {
			_exit(0);
		}
		(void)waitpid(child, NULL, 0);
	}
	return NULL;
}

/** SIGCHLD, which it does not handle, comes all the time; nothing but a tracer interrupts its waits. */
static _Noreturn void wait_on(struct shared *s) {
	int epoll = epoll_create1(0);
	pthread_t thread;
	if (pthread_create(&thread, NULL, fork_on, s) != 0) {
		_exit(1);
	}
	while (!s->is_over) {
		struct epoll_event event;
		s->n_interrupted += epoll_wait(epoll, &event, 1, 3) < 0 && errno == EINTR;
		s->n_waits++;
	}
	(void)pthread_join(thread, NULL);
	_exit(0);
}

static void test_waits_are_not_interrupted(void **state) {
	(void)state;
	enum { STOPS = 2000 };
	struct err err = {0};
	struct tracee t;
	struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			0);
	assert_true(s != MAP_FAILED);
	pid_t pid = fork();
	if (pid == 0) {
		wait_on(s);
	}
	while (s->n_waits < 3) {
		(void)usleep(1000);
	}
	bool ok = tracee_open(&t, pid, &err);
	for (unsigned i = 0; ok && i < STOPS; i++) {
		ok = tracee_stop(&t, true, &err);
		tracee_resume(&t);
		(void)(i % 8 == 0 && usleep(1000));
	}
	tracee_close(&t);
	s->is_over = true;
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(ok);
	assert_int_equal(status, 0);
	assert_int_equal(s->n_interrupted, 0);
	(void)munmap(s, sizeof *s);
}

static int signaled[2]; // a pipe

static void say_signal(int signal) {
	(void)!write(signaled[1], &signal, sizeof signal);
}

/** Dies when it knows of the signal, which it was to pass on. */
static _Noreturn void trace_and_die(pid_t target) {
	int status = 0;
	if (ptrace(PTRACE_SEIZE, target, 0, 0) != 0 || kill(target, SIGUSR1) != 0) {
		_exit(1);
	}
	while (tracee_wait_now(target, &status) <= 0) {}
	(void)kill(getpid(), WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1 ? SIGKILL : SIGTERM);
	_exit(1);
}

static void test_a_signal_outlives_its_tracer(void **state) {
	(void)state;
	assert_int_equal(pipe(signaled), 0);
	pid_t target = fork();
	if (target == 0) {
		(void)signal(SIGUSR1, say_signal);
		say_signal(0);
		for (;;) {
			(void)pause();
		}
	}
	int got = -1, status = 0;
	assert_int_equal(read(signaled[0], &got, sizeof got), sizeof got);
	pid_t tracer = fork();
	if (tracer == 0) {
		trace_and_die(target);
	}
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	struct pollfd readable = {.fd = signaled[0], .events = POLLIN};
	int n = poll(&readable, 1, 10000);
	(void)kill(target, SIGKILL);
	assert_int_equal(waitpid(target, &status, 0), target);
	assert_int_equal(n, 1);
	assert_int_equal(read(signaled[0], &got, sizeof got), sizeof got);
	assert_int_equal(got, SIGUSR1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_a_signal_outlives_its_tracer),
			cmocka_unit_test(test_waits_are_not_interrupted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
