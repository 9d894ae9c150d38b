// SPDX-License-Identifier: MIT

/** From a node of the target to a name, by way of a module and its file. */

#include "collector/names/namer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

extern const char __ehdr_start; // where this program's file is mapped

static struct segment s;
static struct tries t;
static struct texts texts;
static struct modules modules;
static struct namer *names;
static struct err err;

static int set_up(void **state) {
	(void)state;
	const struct segment_params params = {.n_slots = 8,
			.slot_bytes = 1 << 20,
			.node_capacity = 1 << 10,
			.module_capacity = 8};
	bool is_ready = segment_init(&s, &params, &err);
	modules_init(&modules, &texts, getpid(), NULL, 4);
	if (is_ready) {
		tries_init(&t, &s);
	}
	names = is_ready ? namer_create(&modules, &texts, &err) : NULL;
	return names ? 0 : -1;
}

static int tear_down(void **state) {
	(void)state;
	namer_destroy(names);
	modules_finish(&modules);
	tries_finish(&t);
	texts_finish(&texts);
	segment_finish(&s);
	return 0;
}

static void announced(void *user, uint32_t id, const struct wire_module *module) {
	(void)user;
	modules_add(&modules, id, module);
}

/** This program's file, as if it were mapped at `at`. */
static void announce(uint32_t id, uint64_t at) {
	struct wire_module *m = &s.modules[id];
	m->start = m->bias = at;
	m->end = at + (64 << 20);
	m->image = 1;
	ssize_t n = readlink("/proc/self/exe", m->path, sizeof m->path - 1);
	assert_true(n > 0);
	m->path_bytes = (uint16_t)n;
	atomic_store(&s.header->n_modules, id);
	atomic_store(&m->state, 1);
	tries_poll_modules(&t, announced, NULL);
}

static const char *name_of(uint32_t node) {
	static uint32_t n_seen = 1;
	uint32_t dense = tries_node(&t, node);
	for (; n_seen < t.n_locations; n_seen++) {
		namer_add(names, &t.locations[n_seen], n_seen, 1);
	}
	for (unsigned i = 0; i == 0 || namer_pending(names) > 0; i++) {
		assert_true(i < 1000);
		namer_step(names, &t, 1, true);
		namer_wait(names, 10000000);
	}
	namer_step(names, &t, 1, true);
	const struct rec_location *location = &t.locations[t.nodes[dense].location];
	assert_true(location->n_frames > 0);
	const struct rec_frame *frame = &namer_frames(names)->items[location->first_frame];
	return (const char *)texts.items[frame->function].data;
}

static void test_code_above_47_bits_has_names(void **state) {
	(void)state;
	const uint64_t at = 0xffffa0000000, here = (uint64_t)announce - (uint64_t)&__ehdr_start;
	announce(1, at);
	s.nodes[1].parent = 0;
	atomic_store(&s.nodes[1].where, (at + here) | WIRE_EXACT_PC | 1ull << WIRE_MODULE_SHIFT);
	s.nodes[2].parent = 1;
	atomic_store(&s.nodes[2].where, (at + here + 1) | 1ull << WIRE_MODULE_SHIFT);
	assert_string_equal(name_of(1), "announce");
	assert_string_equal(name_of(2), "announce");
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(test_code_above_47_bits_has_names, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
