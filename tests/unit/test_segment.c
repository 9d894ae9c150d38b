// SPDX-License-Identifier: MIT
#include "collector/segment/segment.h"

#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static struct segment s;
static struct err err;

static int set_up(void **state) {
	(void)state;
	const struct segment_params params = {.n_slots = 64, .node_capacity = 1 << 20};
	return segment_init(&s, &params, &err) ? 0 : -1;
}

static int tear_down(void **state) {
	(void)state;
	segment_finish(&s);
	return 0;
}

static uint64_t used_bytes(void) {
	struct stat file;
	assert_int_equal(fstat(s.memory.fd, &file), 0);
	return (uint64_t)file.st_blocks * 512;
}

static void test_defaults_are_sparse(void **state) {
	(void)state;
	const struct segment_params params = {0};
	segment_finish(&s);
	assert_true(segment_init(&s, &params, &err));
	const struct segment_header *h = s.header;
	assert_int_equal(h->n_slots, 8192);
	assert_int_equal(h->node_capacity, 32 << 20);
	assert_int_equal(h->page_bytes, sysconf(_SC_PAGESIZE));
	assert_int_equal(h->tables[TABLE_MARKS].bytes, WIRE_N_MARKS * sizeof(struct wire_mark));
	assert_int_equal(h->tables[TABLE_MODULES].bytes,
			h->module_capacity * sizeof(struct wire_module));
	assert_int_equal(h->tables[TABLE_NODES].bytes,
			(uint64_t)h->node_capacity * sizeof(struct wire_node));
	assert_int_equal(h->tables[TABLE_SLOTS].bytes, h->n_slots * h->slot_bytes);
	uint64_t end = sizeof *h;
	for (unsigned i = 0; i < WIRE_N_TABLES; i++) {
		assert_true(h->tables[i].at % WIRE_PAGE_MOST == 0);
		assert_int_equal(h->tables[i].bytes != 0, i <= TABLE_LAYOUTS);
	}
	static const unsigned order[] = {TABLE_MARKS, TABLE_MODULES, TABLE_LAYOUTS, TABLE_NODES,
			TABLE_SLOTS, TABLE_UNITS, TABLE_EXCERPTS};
	for (unsigned i = 0; i < sizeof order / sizeof *order; i++) {
		assert_true(h->tables[order[i]].at >= end);
		end = h->tables[order[i]].at + h->tables[order[i]].bytes;
	}
	assert_int_equal(h->segment_bytes, end);
	assert_int_equal(h->slot_bytes % WIRE_PAGE_MOST, 0);
	assert_true(used_bytes() < 1 << 20);
	assert_int_equal(atomic_load(&h->state), SEGMENT_OPEN);
}

static void test_address_names_all(void **state) {
	(void)state;
	char text[SEGMENT_ENV_BYTES], token[33];
	segment_address(&s, 1234567890, 4294967295u, text);
	unsigned program, collector;
	int fd;
	assert_int_equal(sscanf(text, SEGMENT_ENV "=%u:%u:%d:%32s", &program, &collector, &fd, token),
			4);
	assert_int_equal(program, 1234567890);
	assert_int_equal(collector, 4294967295u);
	assert_int_equal(fd, s.memory.fd);
	for (unsigned i = 0; i < 16; i++) {
		unsigned byte;
		assert_int_equal(sscanf(token + 2 * i, "%2x", &byte), 1);
		assert_int_equal(byte, s.header->token[i]);
	}
	assert_int_equal(s.header->program_pid, 1234567890);
}

static void test_death_is_seen(void **state) {
	(void)state;
	pid_t child = fork();
	if (child == 0) {
		struct err ignored;
		_exit(segment_hold(&s, &ignored) ? pause() : 1);
	}
	while (atomic_load(&s.common->owner) == 0) {
		usleep(1000);
	}
	assert_int_equal(atomic_load(&s.common->owner), child);
	// A target that waits on it says so, and is woken
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_not_equal(atomic_load(&s.common->owner) & FUTEX_OWNER_DIED, 0);
}

static void test_hold_ends_with_the_segment(void **state) {
	(void)state;
	assert_true(segment_hold(&s, &err));
	assert_int_equal(atomic_load(&s.common->owner), gettid());
	// The memory goes before the thread does
	segment_finish(&s);
}

static void test_ticks(void **state) {
	(void)state;
	const uint64_t second = 1000000000;
	for (uint64_t now = second; now < 3 * second; now += 10000000) {
		segment_tick(&s, now);
		assert_int_equal(atomic_load(&s.common->tick_ns), now);
	}
	segment_tick(&s, 3 * second);
	segment_tick(&s, 3 * second + 1000); // too soon for a store
	assert_int_equal(atomic_load(&s.common->tick_ns), 3 * second);
	segment_arm(&s);
	assert_int_equal(atomic_load(&s.common->tick_ns), 0);
	assert_int_equal(atomic_load(&s.common->bell), 0);
	segment_wait(&s, 1000000);
	assert_int_equal(atomic_load(&s.common->bell), 1);
	segment_tick(&s, 4 * second + 1);
	assert_int_equal(atomic_load(&s.common->tick_ns), 4 * second + 1);
}

/** A slot of a thread that has used an eighth of it, byte by byte, is zero for the next one. */
static void free_a_slot(void) {
	(void)segment_slot(&s, 7)->generation;
	// its first page stays
	memset(segment_slot(&s, 7), 0, s.page_bytes);
	uint64_t before = used_bytes();
	struct thread_slot *slot = segment_slot(&s, 7);
	memset(slot, 0xff, s.slot_bytes / 8);
	slot->generation = 41;
	atomic_store(&s.header->slot_hint, 9);
	assert_true(used_bytes() > before + (1 << 20));
	segment_free_slot(&s, 7);
	assert_int_equal(used_bytes(), before);
	assert_int_equal(slot->generation, 42);
	assert_int_equal(atomic_load(&slot->state), SLOT_FREE);
	assert_int_equal(atomic_load(&s.header->slot_hint), 7);
	slot->generation = 0;
	for (uint64_t i = 0; i < s.slot_bytes / 8; i++) {
		assert_int_equal(((uint8_t *)slot)[i], 0);
	}
}

static void test_freed_slot_costs_nothing(void **state) {
	(void)state;
	for (uint32_t page_bytes = WIRE_PAGE_LEAST; page_bytes <= WIRE_PAGE_MOST; page_bytes *= 4) {
		const struct segment_params params = {.n_slots = 64,
				.node_capacity = 1 << 20,
				.page_bytes = page_bytes};
		segment_finish(&s);
		assert_true(segment_init(&s, &params, &err));
		assert_int_equal(s.header->page_bytes, page_bytes);
		free_a_slot();
	}
}

static void test_tight_address_space_takes_fewer_slots(void **state) {
	(void)state;
	struct rlimit old, tight = {6ull << 30, RLIM_INFINITY};
	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	tight.rlim_max = old.rlim_max;
	if (setrlimit(RLIMIT_AS, &tight) != 0) {
		skip();
	}
	const struct segment_params params = {0};
	segment_finish(&s);
	bool made = segment_init(&s, &params, &err);
	(void)setrlimit(RLIMIT_AS, &old);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	assert_true(made);
	assert_in_range(s.n_slots, 64, 128);
	assert_int_equal(s.header->n_slots, s.n_slots);
#else
	(void)made; // their own mappings are far over any limit
#endif
}

int main(void) {
#define ONE(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
			ONE(defaults_are_sparse),
			ONE(address_names_all),
			ONE(death_is_seen),
			ONE(hold_ends_with_the_segment),
			ONE(ticks),
			ONE(freed_slot_costs_nothing),
			ONE(tight_address_space_takes_fewer_slots),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
