// SPDX-License-Identifier: MIT
/* The children are real processes; what they announce is written here. */
#include "base/vec.h"
#include "collector/watch/watch.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { ELSEWHERE = 12345 /* no namespace has this inode */ };

struct fixture {
	struct segment_header *header;
	struct children children;
	pid_t kid; // of ours: a fork that sleeps
	uint64_t ticks;
};

static int set_up(void **state) {
	static struct fixture f;
	memset(&f, 0, sizeof f);
	f.header = calloc(1, sizeof *f.header);
	f.kid = fork();
	if (f.kid == 0) {
		pause();
		_exit(0);
	}
	f.ticks = process_start_ticks(f.kid);
	children_init(&f.children, getpid(), (struct reason_context){0});
	*state = &f;
	return f.header && f.kid > 0 && f.ticks > 0 ? 0 : -1;
}

static int tear_down(void **state) {
	struct fixture *f = *state;
	(void)kill(f->kid, SIGKILL);
	(void)waitpid(f->kid, NULL, 0);
	vec_finish(&f->children);
	free(f->header);
	return 0;
}

/** What the recorder in a process writes (recorder/core/family.c), as its announcement `times`. */
static void announce(struct fixture *f, uint32_t i, uint32_t pid, uint32_t space, uint32_t times) {
	struct wire_child *entry = &f->header->children[i];
	bool is_new = entry->n_announced == 0, is_fork = times == 1;
	atomic_fetch_add(&f->header->n_children_forked,
			is_new ? is_fork : -(entry->is_fork && !is_fork));
	atomic_fetch_add(&f->header->n_children_executed, (is_new || entry->is_fork) && !is_fork);
	entry->pid_space = space;
	entry->start_ticks = f->ticks;
	entry->n_announced = times;
	entry->is_fork = is_fork;
	(void)snprintf(entry->comm, sizeof entry->comm, "it%u", i);
	(void)process_link(getpid(), "exe", entry->exe, sizeof entry->exe);
	atomic_store(&entry->pid, pid);
}

static void take(struct fixture *f) {
	children_take_last(&f->children, f->header, 1000000000);
}

static const struct child *with(const struct fixture *f, uint32_t inside, uint32_t space) {
	for (size_t i = 0; i < f->children.n; i++) {
		const struct child *child = &f->children.items[i];
		if (child->pid_inside == inside && child->pid_space == space) {
			return child;
		}
	}
	return NULL;
}

static void test_one_that_announces_itself(void **state) {
	struct fixture *f = *state;
	uint32_t own = process_pid_space(0), kid = (uint32_t)f->kid;
	announce(f, 0, kid, own, 1);
	take(f);
	assert_int_equal(f->children.n, 1);
	const struct child *child = with(f, kid, own);
	assert_non_null(child);
	assert_int_equal(child->pid, f->kid);
	assert_true(child->is_announced && child->is_fork && !child->is_gone);
	assert_string_equal(child->name, "test_children"); // as it is called by now
	assert_true(child->peak_rss_bytes > 0);
	assert_int_equal(f->children.n_living, 1);
}

static void test_the_same_pid_in_another_namespace(void **state) {
	struct fixture *f = *state;
	uint32_t own = process_pid_space(0), kid = (uint32_t)f->kid;
	announce(f, 0, kid, own, 1);
	announce(f, 1, kid, ELSEWHERE, 2); // started at the same time
	take(f);
	assert_int_equal(f->children.n, 2);
	const struct child *ours = with(f, kid, own), *theirs = with(f, kid, ELSEWHERE);
	assert_true(ours && theirs);
	assert_int_equal(ours->pid, f->kid);
	assert_int_equal(ours->n_announced, 1);
	assert_int_equal(theirs->pid, 0); // not ours, though that pid exists here
	assert_string_equal(theirs->name, "it1");
	assert_int_equal(theirs->peak_rss_bytes, 0);
	assert_int_equal(f->children.n_living, 1);
}

static void test_an_exec_is_the_same_child(void **state) {
	struct fixture *f = *state;
	uint32_t own = process_pid_space(0);
	announce(f, 0, (uint32_t)f->kid, own, 1);
	take(f);
	announce(f, 0, (uint32_t)f->kid, own, 2);
	take(f);
	assert_int_equal(f->children.n, 1);
	const struct child *child = with(f, (uint32_t)f->kid, own);
	assert_true(child && !child->is_fork);
	struct children_counts n = children_counts(&f->children, f->header);
	assert_int_equal(n.executed, 1);
	assert_int_equal(n.forked, 0);
}

/** It was found by its parent before it announced itself: still one. */
static void test_one_that_was_seen_before(void **state) {
	struct fixture *f = *state;
	take(f);
	assert_int_equal(f->children.n, 0); // a fork of a recorded program: it would announce itself
	f->children.next_ns = 0;
	children_take(&f->children, f->header, false, 2000000000);
	assert_int_equal(f->children.n, 1);
	assert_int_equal(f->children.items[0].pid, f->kid);
	assert_int_equal(f->children.items[0].pid_space, process_pid_space(0));
	announce(f, 0, (uint32_t)f->kid, process_pid_space(0), 1);
	take(f);
	assert_int_equal(f->children.n, 1);
	assert_true(f->children.items[0].is_announced);
}

static void test_entries_of_the_dead_are_released(void **state) {
	struct fixture *f = *state;
	announce(f, 0, (uint32_t)f->kid, process_pid_space(0), 1);
	announce(f, 1, (uint32_t)f->kid, ELSEWHERE, 1);
	take(f);
	assert_int_equal(atomic_load(&f->header->children[0].pid), f->kid);
	(void)kill(f->kid, SIGKILL);
	(void)waitpid(f->kid, NULL, 0);
	take(f);
	take(f);
	assert_int_equal(atomic_load(&f->header->children[0].pid), 0);
	assert_int_equal(f->children.n, 2);
	assert_true(with(f, (uint32_t)f->kid, process_pid_space(0))->is_gone);
	assert_int_equal(f->children.n_living, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(test_one_that_announces_itself, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_the_same_pid_in_another_namespace, set_up,
					tear_down),
			cmocka_unit_test_setup_teardown(test_an_exec_is_the_same_child, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_one_that_was_seen_before, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_entries_of_the_dead_are_released, set_up,
					tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
