// SPDX-License-Identifier: MIT
#include "base/text.h"
#include "collector/watch/watch.h"
#include "sys/file.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { MS = 1000000 };

struct fixture {
	pid_t child;
	int go;
	struct exec_watch watch;
	uint64_t now_ns;
	const char *modules[3]; // what images 1 and 2 announced
};

static bool has_module(void *user, uint32_t image, const char *name) {
	const struct fixture *f = user;
	return strcmp(name, f->modules[image]) == 0;
}

/** A child that runs our own file until `go` is closed, then `sleep`. */
static int set_up(void **state) {
	static struct fixture f;
	int ends[2];
	memset(&f, 0, sizeof f);
	if (pipe(ends) != 0 || (f.child = fork()) < 0) {
		return -1;
	}
	if (f.child == 0) {
		char c;
		(void)close(ends[1]);
		(void)!read(ends[0], &c, 1);
		execlp("sleep", "sleep", "100", (char *)NULL);
		_exit(1);
	}
	(void)close(ends[0]);
	f.go = ends[1];
	f.modules[1] = "test_exec_watch";
	f.modules[2] = "sleep";
	char self[4096] = "";
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) {
		return -1;
	}
	f.watch.has_module = has_module;
	f.watch.user = &f;
	exec_watch_init(&f.watch, self, f.child, true);
	*state = &f;
	return 0;
}

static int tear_down(void **state) {
	struct fixture *f = *state;
	(void)kill(f->child, SIGKILL);
	(void)waitpid(f->child, NULL, 0);
	return 0;
}

static enum exec_news look(struct fixture *f, uint32_t n_images, uint64_t later_ns) {
	f->now_ns += later_ns;
	return exec_watch_look(&f->watch, f->child, n_images, f->now_ns);
}

static void let_it_exec(struct fixture *f) {
	char exe[4096] = "";
	(void)close(f->go);
	while (!strstr(exe, "/sleep") && !strstr(exe, "coreutils") && !strstr(exe, "busybox")) {
		usleep(1000);
		assert_true(process_link(f->child, "exe", exe, sizeof exe));
	}
}

static void test_a_program_that_announces_itself_is_recorded(void **state) {
	struct fixture *f = *state;
	assert_int_equal(look(f, 0, MS), EXEC_NOTHING_NEW);
	assert_int_equal(look(f, 1, MS), EXEC_NOTHING_NEW);
	assert_int_equal(look(f, 1, 60000u * (uint64_t)MS), EXEC_NOTHING_NEW);
	let_it_exec(f);
	assert_int_equal(look(f, 1, MS), EXEC_NOTHING_NEW);
	assert_int_equal(look(f, 2, MS), EXEC_NOTHING_NEW);
	assert_int_equal(look(f, 2, 60000u * (uint64_t)MS), EXEC_NOTHING_NEW);
	assert_false(exec_watch_end(&f->watch, 2));
}

static void test_one_that_does_not_is_told_once(void **state) {
	struct fixture *f = *state;
	assert_int_equal(look(f, 1, MS), EXEC_NOTHING_NEW);
	let_it_exec(f);
	assert_int_equal(look(f, 1, 5 * MS), EXEC_NOTHING_NEW);
	assert_true(exec_watch_end(&f->watch, 1));
	assert_int_equal(f->watch.since_ns, 6 * MS);
	assert_non_null(strchr(f->watch.path, '/'));
	assert_int_equal(look(f, 1, 60000u * (uint64_t)MS), EXEC_UNRECORDED);
	assert_int_equal(look(f, 1, MS), EXEC_NOTHING_NEW);
	assert_false(exec_watch_end(&f->watch, 1));
	// Late, but there
	assert_int_equal(look(f, 2, MS), EXEC_RECORDED);
	assert_int_equal(look(f, 2, MS), EXEC_NOTHING_NEW);
	assert_false(exec_watch_end(&f->watch, 2));
}

static void test_one_that_came_before_the_first_look_is_told_by_its_modules(void **state) {
	struct fixture *f = *state;
	let_it_exec(f);
	assert_int_equal(look(f, 1, MS), EXEC_NOTHING_NEW);
	assert_true(exec_watch_end(&f->watch, 1));  // it was the first that announced itself
	assert_false(exec_watch_end(&f->watch, 2)); // who knows what came after
	f->modules[1] = "sleep";
	assert_false(exec_watch_end(&f->watch, 1));
	assert_int_equal(look(f, 1, 60000u * (uint64_t)MS), EXEC_NOTHING_NEW);
}

/** The same file is run anew, and the image of before has a module of that name. */
static void test_one_without_the_recorder_is_not_taken_for_the_one_before(void **state) {
	struct fixture *f = *state;
	assert_int_equal(look(f, 1, MS), EXEC_NOTHING_NEW);
	let_it_exec(f);
	assert_int_equal(look(f, 1, MS), EXEC_NOTHING_NEW);
	f->watch.presence = REASON_ABSENT;
	f->modules[1] = path_base_name(f->watch.path);
	assert_true(exec_watch_end(&f->watch, 1));
	memcpy(f->watch.previous, f->watch.path, sizeof f->watch.previous);
	assert_true(exec_watch_end(&f->watch, 1));
	// It was put into it later
	f->modules[2] = f->modules[1];
	assert_false(exec_watch_end(&f->watch, 2));
	f->modules[2] = "another";
	f->watch.previous[0] = '\0';
	assert_true(exec_watch_end(&f->watch, 2));
}

/** However far the kernel has come with it. */
static void test_an_exec_is_seen_once(void **state) {
	struct fixture *f = *state;
	for (int i = 0; i < 100; i++) {
		struct exec_watch watch = {.has_module = has_module, .user = f};
		siginfo_t end = {0};
		pid_t child = fork();
		if (child == 0) {
			execlp("true", "true", (char *)NULL);
			_exit(1);
		}
		assert_true(child > 0);
		exec_watch_init(&watch, "/proc/self/exe", child, true);
		for (uint64_t now_ns = MS; end.si_pid == 0; now_ns += 20u * MS) {
			(void)exec_watch_look(&watch, child, 1, now_ns);
			assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG), 0);
		}
		assert_true(watch.n_programs <= 2);
	}
}

static void test_a_process_that_is_gone_says_nothing(void **state) {
	struct fixture *f = *state;
	assert_int_equal(look(f, 1, MS), EXEC_NOTHING_NEW);
	assert_int_equal(kill(f->child, SIGKILL), 0);
	assert_int_equal(waitpid(f->child, NULL, 0), f->child);
	assert_int_equal(look(f, 1, 60000u * (uint64_t)MS), EXEC_NOTHING_NEW);
	assert_false(exec_watch_end(&f->watch, 1));
}

int main(void) {
#define ONE(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
			ONE(a_program_that_announces_itself_is_recorded),
			ONE(one_that_does_not_is_told_once),
			ONE(one_that_came_before_the_first_look_is_told_by_its_modules),
			ONE(one_without_the_recorder_is_not_taken_for_the_one_before),
			ONE(an_exec_is_seen_once),
			ONE(a_process_that_is_gone_says_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
