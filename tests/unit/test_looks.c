// SPDX-License-Identifier: MIT
#include "collector/looks/looks.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

enum { S = 1000000000, MB = 1000000, LOOKS = 1000 };

static void add(struct looks *l, struct aggregate *blocks, enum rec_look_at at, uint64_t now_ns) {
	static const struct wire_range own[WIRE_N_OWN];
	static const struct cgroup group;
	struct texts texts = {0};
	struct view v = {0};
	const struct looks_known known = {.in.blocks = blocks, .texts = &texts};
	assert_true(view_read(&v, getpid(), -1, &group, own));
	assert_true(looks_add(l, &v, &known, getpid(), at, now_ns));
	view_finish(&v);
	texts_finish(&texts);
}

/** In order of time, and those of the past spread over all of it, the newest among them. */
static void keeps_some_of_the_past(void **state) {
	(void)state;
	struct aggregate *blocks = aggregate_create(NULL);
	struct looks l = {0};
	assert_non_null(blocks);
	for (uint64_t i = 0; i < LOOKS; i++) {
		if (i % 100 > 0 && i * S < l.last_ns + (1ull * S << l.n_thinned)) {
			continue;
		}
		add(&l, blocks, i % 100 ? REC_AT_TIMER : REC_AT_RSS_PEAK, i * S);
		size_t n_past = 0, n_peaks = 0;
		for (size_t k = 0; k < l.items.n; k++) {
			n_past += l.items.items[k].row.at == REC_AT_TIMER;
			n_peaks += l.items.items[k].row.at == REC_AT_RSS_PEAK;
			assert_true(k == 0 || l.items.items[k - 1].row.time_ns < l.items.items[k].row.time_ns);
		}
		assert_int_equal(n_peaks, 1);
		assert_true(n_past <= 64 && (i < 64 || n_past >= 31));
	}
	for (size_t k = 1; k < l.items.n; k++) {
		assert_in_range(l.items.items[k].row.time_ns - l.items.items[k - 1].row.time_ns, S,
				64ull * S);
	}
	assert_in_range(l.items.items[0].row.time_ns, 0, S);
	assert_true(l.items.items[l.items.n - 1].row.time_ns >= (LOOKS - 40ull) * S);
	looks_finish(&l);
	aggregate_destroy(blocks);
}

static void wants_one_when_rss_rises_moves_or_gets_old(void **state) {
	(void)state;
	struct looks l = {.peak_bytes = 100 * MB, .last_rss_bytes = 80 * MB, .last_ns = 10ull * S};
	enum rec_look_at at;
	assert_true(looks_want(&l, 106 * MB, 10ull * S + 1, &at));
	assert_int_equal(at, REC_AT_RSS_PEAK);
	assert_false(looks_want(&l, 90 * MB, 10ull * S + 1, &at)); // too soon
	assert_true(looks_want(&l, 90 * MB, 11ull * S, &at));
	assert_int_equal(at, REC_AT_TIMER);
	assert_true(looks_want(&l, 70 * MB, 11ull * S, &at));
	assert_false(looks_want(&l, 79 * MB, 25ull * S, &at));
	assert_true(looks_want(&l, 79 * MB, 26ull * S, &at));
	l.n_thinned = 2;
	assert_false(looks_want(&l, 70 * MB, 13ull * S, &at));
	assert_true(looks_want(&l, 70 * MB, 14ull * S, &at));
	l.cost_ns = 170 * MB; // of 20 ms and a 100th of 14 s, half of it for such looks
	assert_false(looks_want(&l, 70 * MB, 14ull * S, &at));
}

/** Whatever memory_must has been told for the process that waits for it. */
static void a_search_without_memory_says_so(void **state) {
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); // it takes all lacks of memory for its own
#endif
	static const struct wire_range own[WIRE_N_OWN];
	static const struct tries tries;
	static const struct kept kept;
	static struct modules modules;
	struct texts texts = {0};
	struct aggregate *blocks = aggregate_create(NULL);
	const struct looks_known known = {.in.blocks = blocks,
			.texts = &texts,
			.modules = &modules,
			.tries = &tries};
	const struct scan scan = {.program = getpid(),
			.pid = getpid(),
			.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC),
			.known = &known,
			.own = own,
			.threads = memfd_create("threads", MFD_CLOEXEC),
			.kept = &kept};
	assert_int_equal(ftruncate(scan.threads, sizeof(struct graph_thread)), 0);
	for (int lacks = 0; lacks < 2; lacks++) {
		struct scanner scanner;
		struct graded graded = {0};
		struct err err = {0};
		struct rlimit before;
		assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
		const struct rlimit little = {lacks ? 1 : before.rlim_cur, before.rlim_max};
		memory_must("test", 3);
		assert_int_equal(setrlimit(RLIMIT_DATA, &little), 0);
		bool ok = scanner_start(&scanner, &scan, &err);
		assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
		memory_must_or(NULL, NULL);
		assert_true(ok && scanner_has_ended(&scanner, 60ull * S));
		ok = scanner_finish(&scanner, &graded, &texts, &err);
		assert_true(lacks ? !ok && err.code == ERR_MEMORY : ok || err.code == ERR_UNSUPPORTED);
		vec_finish(&graded.grades);
	}
	(void)close(scan.memory);
	(void)close(scan.threads);
	texts_finish(&texts);
	aggregate_destroy(blocks);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(keeps_some_of_the_past),
			cmocka_unit_test(wants_one_when_rss_rises_moves_or_gets_old),
			cmocka_unit_test(a_search_without_memory_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
