// SPDX-License-Identifier: MIT

// Single events: pairing without addresses, budget, and what a replay sees

#include "base/vec.h"
#include "trace_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { N_THREADS = 5, N_ADDRESSES = 300 };

struct events {
	struct trace_event *items;
	size_t n, capacity;
};

// What a program could do, and now and then what it could not: missed frees, halves without a whole
static struct trace_event random_event(uint64_t *random, uint64_t *time_ns) {
	static const uint8_t kinds[] = {TRACE_ALLOC, TRACE_ALLOC, TRACE_ALLOC, TRACE_FREE, TRACE_FREE,
			TRACE_REALLOC, TRACE_MOVED, TRACE_STAYED};
	struct trace_event e = {0};
	e.kind = kinds[sample_random(random) % sizeof kinds] & 0xfu;
	uint64_t rare = sample_random(random) % 500;
	e.kind = rare == 0 ? TRACE_EXEC : rare == 1 ? TRACE_THREAD_ENDED : e.kind;
	e.thread = sample_random(random) % 20
			? 1
			: (1 + sample_random(random) % N_THREADS) & TRACE_THREAD_MAX;
	*time_ns += sample_random(random) % 10 ? sample_random(random) % 100 : 1000000;
	e.time_ns = sample_random(random) % 50 ? *time_ns : *time_ns - sample_random(random) % 1000;
	if (e.kind != TRACE_EXEC && e.kind != TRACE_THREAD_ENDED) {
		e.ptr = 0x7f0000000000 + 16 * sample_below(random, N_ADDRESSES);
	}
	if (e.kind == TRACE_ALLOC || e.kind == TRACE_MOVED) {
		e.node = (uint32_t)sample_below(random, 50);
		e.size = sample_random(random) % 100 ? sample_below(random, 30) : sample_random(random);
	} else if (e.kind == TRACE_FREE) {
		e.node = sample_random(random) % 3 ? 0 : 7;
	}
	return e;
}

static struct events random_events(uint64_t seed, size_t n) {
	struct events events = {calloc(n + 1, sizeof *events.items), n, n};
	uint64_t time_ns = seed * 1000;
	for (size_t i = 0; i < n; i++) {
		events.items[i] = random_event(&seed, &time_ns);
	}
	return events;
}

static bool take_events(void *user, const struct trace_event *events, size_t n) {
	struct events *all = user;
	assert_true(vec_reserve(all, n));
	memcpy(all->items + all->n, events, n * sizeof *events);
	all->n += n;
	return true;
}

static struct events read_events(struct slice bytes, const struct recording *r) {
	struct events got = {0};
	struct trace_source src = sample_source(&bytes);
	struct err err = {0};
	if (!trace_read_events(&src, r, take_events, &got, &err)) {
		fail_msg("%s", err.text);
	}
	return got;
}

/*
 * The obvious replay. It knows blocks by their address alone, and keeps for each address what lives
 * there, and for each thread what it is reallocating.
 */
struct live {
	uint64_t ptr, serial; // of the event that began it; 0: nothing lives there
};

struct replay {
	struct live live[N_ADDRESSES * 64];
	size_t n;
	struct {
		uint32_t thread;
		uint64_t ptr, serial;
	} pending[4096];
	size_t n_pending;
};

static struct live *find_live(struct replay *r, uint64_t ptr) {
	for (size_t i = 0; i < r->n; i++) {
		if (r->live[i].ptr == ptr) {
			return &r->live[i];
		}
	}
	assert_true(r->n < sizeof r->live / sizeof *r->live);
	r->live[r->n] = (struct live){ptr, 0};
	return &r->live[r->n++];
}

static void end_live(struct replay *r, struct live *l) {
	*l = r->live[--r->n];
}

static long newest_pending(const struct replay *r, uint32_t thread) {
	for (size_t i = r->n_pending; i-- > 0;) {
		if (r->pending[i].thread == thread) {
			return (long)i;
		}
	}
	return -1;
}

static void remove_pending(struct replay *r, long i) {
	r->n_pending--;
	memmove(&r->pending[i], &r->pending[i + 1], (r->n_pending - (size_t)i) * sizeof *r->pending);
}

static void undo_pending(struct replay *r, long i) {
	if (r->pending[i].serial) {
		find_live(r, r->pending[i].ptr)->serial = r->pending[i].serial;
	}
	remove_pending(r, i);
}

/**
 * What the event means for the blocks: the serial of the block that it ends or that it found there.
 */
static uint64_t replay(struct replay *r, const struct trace_event *e, uint64_t serial) {
	uint64_t found = 0;
	long pending;
	switch (e->kind) {
	case TRACE_MOVED:
		pending = newest_pending(r, e->thread);
		if (pending >= 0) {
			remove_pending(r, pending);
		}
		__attribute__((fallthrough));
	case TRACE_ALLOC:
		found = find_live(r, e->ptr)->serial;
		find_live(r, e->ptr)->serial = serial;
		return found;
	case TRACE_FREE:
	case TRACE_REALLOC:
		found = find_live(r, e->ptr)->serial;
		end_live(r, find_live(r, e->ptr));
		if (e->kind == TRACE_REALLOC) {
			r->pending[r->n_pending].thread = e->thread;
			r->pending[r->n_pending].ptr = e->ptr;
			r->pending[r->n_pending++].serial = found;
		}
		return found;
	case TRACE_STAYED:
		pending = newest_pending(r, e->thread);
		if (pending >= 0) {
			found = r->pending[pending].serial;
			undo_pending(r, pending);
		}
		return found;
	case TRACE_THREAD_ENDED:
		while ((pending = newest_pending(r, e->thread)) >= 0) {
			undo_pending(r, pending);
		}
		return 0;
	default: r->n = r->n_pending = 0; return 0;
	}
}

static void assert_same_but_for_ptr(const struct trace_event *a, const struct trace_event *b) {
	struct trace_event x = *a;
	struct trace_event y = *b;
	x.ptr = y.ptr = 0;
	assert_memory_equal(&x, &y, sizeof x);
}

/** Both lists tell the same story: each event ends or finds the same block in both. */
static void assert_same_story(struct events given, struct events got) {
	assert_int_equal(given.n, got.n);
	struct replay *a = calloc(1, sizeof *a);
	struct replay *b = calloc(1, sizeof *b);
	for (size_t i = 0; i < given.n; i++) {
		assert_same_but_for_ptr(&given.items[i], &got.items[i]);
		uint64_t expected = replay(a, &given.items[i], i + 1);
		uint64_t found = replay(b, &got.items[i], i + 1);
		if (expected != found) {
			fail_msg("event %zu of kind %u meets the block of event %d, not of event %d", i,
					given.items[i].kind, (int)found - 1, (int)expected - 1);
		}
	}
	free(a);
	free(b);
}

static void write_events(struct trace_writer *w, struct events events, uint64_t seed) {
	for (size_t i = 0; i < events.n;) {
		size_t n = 1 + sample_below(&seed, 5000);
		n = n < events.n - i ? n : events.n - i;
		assert_true(trace_writer_events(w, events.items + i, n, NULL));
		i += n;
	}
}

static struct recording small_recording(void) {
	struct recording r;
	sample_recording_make(&r, 1, 1, &(struct sample_size){60, 10, 4, 5, 10});
	return r;
}

static struct buffer finished_file(struct trace_writer *w, struct sample_file *growing) {
	struct recording r = small_recording();
	struct trace_source old = sample_file_source(growing);
	struct sample_file finished = {0};
	struct err err = {0};
	if (!trace_write_whole(sample_file_sink(&finished), &r, w, &old, &err)) {
		fail_msg("%s", err.text);
	}
	recording_finish(&r);
	return finished.bytes;
}

static void test_events_round_trip(void **state) {
	(void)state;
	for (uint64_t seed = 1; seed < 12; seed++) {
		struct events given = random_events(seed, seed == 1 ? 200000 : seed * 300);
		struct sample_file file = {0};
		struct trace_writer *w = trace_writer_create(sample_file_sink(&file), 0, NULL);
		write_events(w, given, seed);
		struct recording r = small_recording();
		assert_true(trace_writer_checkpoint(w, &r, NULL));
		struct events got = read_events(buffer_view(&file.bytes), &r);
		assert_same_story(given, got);
		free(got.items);
		assert_int_equal(trace_writer_events_dropped(w), 0);
		recording_finish(&r);
		trace_writer_destroy(w);
		buffer_finish(&file.bytes);
		free(given.items);
	}
}

/** The finished file tells all events. Gives its size. */
static size_t check_finished(struct events given, uint64_t seed) {
	struct sample_file file = {0};
	struct trace_writer *w = trace_writer_create(sample_file_sink(&file), 0, NULL);
	write_events(w, given, seed);
	struct buffer finished = finished_file(w, &file);
	struct recording r = small_recording();
	struct events got = read_events(buffer_view(&finished), &r);
	assert_same_story(given, got);
	size_t size = finished.size;
	trace_writer_destroy(w);
	free(got.items);
	free(given.items);
	recording_finish(&r);
	buffer_finish(&finished);
	buffer_finish(&file.bytes);
	return size;
}

static void test_finished_file_has_them_all(void **state) {
	(void)state;
	(void)check_finished(random_events(77, 150000), 7);
}

/** A structure of many stacks that is built again and again, and torn down in the order of its birth. */
static struct events repeated_events(size_t n) {
	struct events events = {calloc(n, sizeof *events.items), n, n};
	for (size_t i = 0; i < n; i++) {
		size_t at = i % (2 * N_ADDRESSES);
		bool is_built = at < N_ADDRESSES;
		at = is_built ? at : at - N_ADDRESSES;
		size_t info = i / (2 * N_ADDRESSES) % 100 * N_ADDRESSES + at;
		events.items[i] = (struct trace_event){
				.kind = is_built ? TRACE_ALLOC : TRACE_FREE,
				.thread = 1,
				.time_ns = i * 100,
				.ptr = 0x7f0000000000 + 16 * at,
				.node = is_built ? (uint32_t)(at * 7919 % 50) : 0,
				.size = is_built ? info : 0,
		};
	}
	return events;
}

static void test_what_is_built_again_takes_little(void **state) {
	(void)state;
	assert_true(check_finished(repeated_events(200000), 3) < 100000); // 270,000 without steps
}

static uint64_t file_facts(struct slice bytes, struct trace_facts *facts) {
	struct trace_source src = sample_source(&bytes);
	struct recording r = {0};
	struct err err = {0};
	if (!trace_read(&r, facts, &src, 0, &err)) {
		fail_msg("%s", err.text);
	}
	recording_finish(&r);
	return facts->n_events;
}

/** The events that are left are the last ones, and a free finds its block if that is left. */
static void assert_is_tail(struct events given, struct events got, uint64_t first) {
	assert_int_equal(first + got.n, given.n);
	for (size_t i = 0; i < got.n; i++) {
		assert_same_but_for_ptr(&given.items[first + i], &got.items[i]);
	}
	struct replay *a = calloc(1, sizeof *a);
	struct replay *b = calloc(1, sizeof *b);
	for (size_t i = 0; i < given.n; i++) {
		uint64_t expected = replay(a, &given.items[i], i + 1);
		if (i >= first) {
			uint64_t found = replay(b, &got.items[i - first], i + 1);
			assert_int_equal(found, expected > first ? expected : 0);
		}
	}
	free(a);
	free(b);
}

static void test_budget(void **state) {
	(void)state;
	struct events given = random_events(5, 1000000);
	struct sample_file file = {0};
	const uint64_t budget = 600000;
	struct trace_writer *w = trace_writer_create(sample_file_sink(&file), budget, NULL);
	struct recording r = small_recording();
	struct trace_facts facts;
	for (size_t i = 0; i < given.n; i += 100000) {
		write_events(w, (struct events){given.items + i, 100000, 0}, i);
		assert_true(trace_writer_checkpoint(w, &r, NULL));
		uint64_t n = file_facts(buffer_view(&file.bytes), &facts);
		assert_int_equal(facts.first_event + n, i + 100000);
		assert_int_equal(trace_writer_events_dropped(w), facts.first_event);
	}
	assert_true(facts.first_event > 0);
	assert_true(facts.n_event_blocks >= 3);
	// The place of dropped blocks is used again: infos, log and slots are the rest
	print_message("budget %d, file %d bytes\n", (int)budget, (int)file.bytes.size);
	assert_true(file.bytes.size < budget * 3 / 2 + 400000);
	struct events got = read_events(buffer_view(&file.bytes), &r);
	assert_is_tail(given, got, facts.first_event);
	free(got.items);

	struct buffer finished = finished_file(w, &file);
	assert_int_equal(file_facts(buffer_view(&finished), &facts), given.n - facts.first_event);
	got = read_events(buffer_view(&finished), &r);
	assert_is_tail(given, got, facts.first_event);
	free(got.items);
	trace_writer_destroy(w);
	recording_finish(&r);
	free(given.items);
	buffer_finish(&finished);
	buffer_finish(&file.bytes);
}

// A disk that is full for a while costs the events of that while, and they are counted
static void test_failed_writes_are_counted(void **state) {
	(void)state;
	struct events given = random_events(9, 400000);
	struct recording r = small_recording();
	for (uint64_t fail = 10; fail < 160; fail += 13) {
		struct sample_file file = {.fail_write = fail};
		struct trace_writer *w = trace_writer_create(sample_file_sink(&file), 0, NULL);
		struct err err = {0};
		bool ok = true;
		for (size_t i = 0; i < given.n; i += 50000) {
			ok &= trace_writer_events(w, given.items + i, 50000, &err);
			ok &= trace_writer_checkpoint(w, &r, &err);
		}
		assert_false(ok);
		assert_int_equal(err.code, ERR_SYSTEM);
		assert_true(trace_writer_checkpoint(w, &r, NULL));
		struct trace_facts facts;
		uint64_t n = file_facts(buffer_view(&file.bytes), &facts);
		assert_int_equal(n + trace_writer_events_dropped(w), given.n);
		struct events got = read_events(buffer_view(&file.bytes), &r);
		assert_int_equal(got.n, n);
		free(got.items);
		trace_writer_destroy(w);
		buffer_finish(&file.bytes);
	}
	recording_finish(&r);
	free(given.items);
}

// More pairs of node and size than the table of infos takes
static void test_more_infos_than_are_kept(void **state) {
	(void)state;
	size_t n = (1 << 20) + 70000;
	struct events given = {calloc(n, sizeof *given.items), n, n};
	for (size_t i = 0; i < n; i++) {
		given.items[i] = (struct trace_event){.ptr = i << 4,
				.size = i * 3,
				.node = 5,
				.thread = 1,
				.kind = TRACE_ALLOC};
	}
	given.items[n - 1].size = UINT64_MAX;
	struct sample_file file = {0};
	struct trace_writer *w = trace_writer_create(sample_file_sink(&file), 0, NULL);
	write_events(w, given, 3);
	struct recording r = small_recording();
	assert_true(trace_writer_checkpoint(w, &r, NULL));
	struct events got = read_events(buffer_view(&file.bytes), &r);
	assert_int_equal(got.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_same_but_for_ptr(&given.items[i], &got.items[i]);
		assert_int_equal(got.items[i].ptr, (i + 1) << 4);
	}
	trace_writer_destroy(w);
	recording_finish(&r);
	free(got.items);
	free(given.items);
	buffer_finish(&file.bytes);
}

static bool take_one(void *user, const struct trace_event *events, size_t n) {
	(void)events;
	(void)n;
	++*(int *)user;
	return false;
}

// Nodes beyond the recording: too young in a growing file, damage in a finished one
static void test_ids_beyond_the_recording(void **state) {
	(void)state;
	struct trace_event e = {.ptr = 16, .size = 1, .node = 60, .thread = 1, .kind = TRACE_ALLOC};
	struct sample_file file = {0};
	struct trace_writer *w = trace_writer_create(sample_file_sink(&file), 0, NULL);
	assert_true(trace_writer_events(w, &e, 1, NULL));
	struct recording r = small_recording();
	assert_true(trace_writer_checkpoint(w, &r, NULL));
	struct events got = read_events(buffer_view(&file.bytes), &r);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.items[0].node, 0);
	free(got.items);
	got = read_events(buffer_view(&file.bytes), NULL);
	assert_int_equal(got.items[0].node, 60);
	free(got.items);

	struct buffer finished = finished_file(w, &file);
	struct slice bytes = buffer_view(&finished);
	struct trace_source src = sample_source(&bytes);
	struct err err = {0};
	int n = 0;
	assert_false(trace_read_events(&src, &r, take_one, &n, &err));
	assert_int_equal(err.code, ERR_FORMAT);
	assert_int_equal(n, 0);
	assert_true(trace_read_events(&src, NULL, take_one, &n, &err));
	assert_int_equal(n, 1);
	trace_writer_destroy(w);
	recording_finish(&r);
	buffer_finish(&finished);
	buffer_finish(&file.bytes);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_events_round_trip),
			cmocka_unit_test(test_finished_file_has_them_all),
			cmocka_unit_test(test_what_is_built_again_takes_little),
			cmocka_unit_test(test_budget),
			cmocka_unit_test(test_failed_writes_are_counted),
			cmocka_unit_test(test_more_infos_than_are_kept),
			cmocka_unit_test(test_ids_beyond_the_recording),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
