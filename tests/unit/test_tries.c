// SPDX-License-Identifier: MIT
#include "collector/segment/segment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { N_NODES = 1 << 16, N_MODULES = 64 };

static struct segment s;
static struct tries t;
static struct err err;

static int set_up(void **state) {
	(void)state;
	const struct segment_params params = {.n_slots = 64,
			.slot_bytes = 1 << 20,
			.node_capacity = N_NODES,
			.module_capacity = N_MODULES};
	if (!segment_init(&s, &params, &err)) {
		return -1;
	}
	tries_init(&t, &s);
	return 0;
}

static int tear_down(void **state) {
	(void)state;
	tries_finish(&t);
	segment_finish(&s);
	return 0;
}

static void node(uint32_t id, uint32_t parent, uint64_t where) {
	s.nodes[id].parent = parent;
	atomic_store(&s.nodes[id].where, where);
}

static uint64_t where(uint64_t pc, uint64_t module) {
	return pc | module << WIRE_MODULE_SHIFT;
}

static void test_callers_come_first_whatever_their_ids(void **state) {
	(void)state;
	node(10, 0, where(0x1000, 1));
	node(5, 10, where(0x2000, 2));
	node(40000, 5, where(0x3000, 1) | WIRE_EXACT_PC);
	uint32_t leaf = tries_node(&t, 40000);
	assert_int_equal(leaf, 3);
	assert_int_equal(t.n_nodes, 4);
	assert_int_equal(t.nodes[3].parent, 2);
	assert_int_equal(t.nodes[2].parent, 1);
	assert_int_equal(t.nodes[1].parent, 0);
	assert_int_equal(t.locations[t.nodes[3].location].pc, 0x3000);
	assert_int_equal(t.locations[t.nodes[3].location].is_exact, 1);
	assert_int_equal(t.locations[t.nodes[2].location].module, 2);
	assert_int_equal(tries_node(&t, 40000), 3);
	assert_int_equal(tries_node(&t, 10), 1);
	assert_int_equal(tries_node(&t, 0), 0);
	assert_int_equal(t.n_nodes, 4);
	assert_int_equal(t.bad_nodes, 0);
}

static void test_program_counters_of_48_bits(void **state) {
	(void)state;
	const uint64_t least = 1ull << 47, most = WIRE_PC_MASK;
	assert_int_equal(most, 0xffffffffffff);
	node(1, 0, where(least, 1));
	node(2, 1, where(most, 63));
	node(3, 2, where(most, 63) | WIRE_EXACT_PC);
	node(4, 3, where(most, 0x7fff) | WIRE_EXACT_PC); // all bits are set: the table was full
	assert_int_equal(where(most, 0x7fff) | WIRE_EXACT_PC, UINT64_MAX);
	const struct rec_location wanted[] = {{0}, {.pc = least, .module = 1},
			{.pc = most, .module = 63}, {.pc = most, .module = 63, .is_exact = 1},
			{.pc = most, .module = 0, .is_exact = 1}};
	for (uint32_t id = 4; id > 0; id--) {
		const struct rec_location *l = &t.locations[t.nodes[tries_node(&t, id)].location];
		assert_int_equal(l->pc, wanted[id].pc);
		assert_int_equal(l->module, wanted[id].module);
		assert_int_equal(l->is_exact, wanted[id].is_exact);
		assert_int_equal(l->is_mark, 0);
	}
	assert_int_equal(t.bad_nodes, 0);
	assert_int_equal(t.n_locations, 5);
}

// In a virtual module. Neither may be above its maximum
static uint64_t where_virtual(uint32_t module, uint32_t unit, uint32_t position) {
	return (uint64_t)module << WIRE_MODULE_SHIFT | (uint64_t)unit << WIRE_UNIT_SHIFT | position;
}

static uint32_t where_unit(uint64_t where) {
	return (uint32_t)(wire_where_pc(where) >> WIRE_UNIT_SHIFT);
}

static uint32_t where_position(uint64_t where) {
	return (uint32_t)where & WIRE_POSITION_MAX;
}

static void test_units_of_virtual_modules(void **state) {
	(void)state;
	const uint32_t units[] = {0, 1, WIRE_UNIT_MAX}, positions[] = {0, 1, WIRE_POSITION_MAX};
	assert_int_equal(WIRE_UNIT_MAX, (8 << 20) - 1);
	for (unsigned i = 0; i < 9; i++) {
		uint32_t unit = units[i / 3], position = positions[i % 3], id = i + 1;
		node(id, 0, where_virtual(WIRE_MODULE_MAX, unit, position));
		uint64_t at = atomic_load(&s.nodes[id].where);
		assert_int_equal(wire_where_module(at), WIRE_MODULE_MAX);
		assert_int_equal(where_unit(at), unit);
		assert_int_equal(where_position(at), position);
		assert_int_equal(at & WIRE_EXACT_PC, 0);
		node(id, 0, where_virtual(2, unit, position));
		const struct rec_location *l = &t.locations[t.nodes[tries_node(&t, id)].location];
		assert_int_equal(l->module, 2);
		assert_int_equal(where_unit(l->pc), unit); // as it stands in the file
		assert_int_equal(where_position(l->pc), position);
	}
}

static void test_own_code_is_passed_by(void **state) {
	(void)state;
	tries_pass_by(&t, 0x5000, 0x1000);
	node(1, 0, where(0x1000, 1));
	node(2, 1, where(0x5800, 0)); // ours
	node(3, 2, where(0x2000, 1));
	node(4, 1, where(0x5800, 2)); // an address in a file
	node(5, 1, where(0x6000, 0)); // generated code right behind
	assert_int_equal(t.nodes[tries_node(&t, 3)].parent, tries_node(&t, 1));
	assert_int_equal(tries_node(&t, 2), tries_node(&t, 1));
	assert_int_not_equal(tries_node(&t, 4), tries_node(&t, 1));
	assert_int_not_equal(tries_node(&t, 5), tries_node(&t, 1));
}

static void test_marks_and_equal_places(void **state) {
	(void)state;
	node(1, 0, WIRE_PC_TRUNCATED);
	node(2, 1, where(0x1000, 0x7fff)); // the module table was full
	node(3, 0, where(0x1000, 0x7fff));
	uint32_t a = tries_node(&t, 2), b = tries_node(&t, 3);
	assert_int_not_equal(a, b);
	assert_int_equal(t.nodes[a].location, t.nodes[b].location);
	assert_int_equal(t.locations[t.nodes[a].location].module, 0);
	assert_int_equal(t.locations[t.nodes[t.nodes[a].parent].location].is_mark, 1);
}

static void test_deep_and_many(void **state) {
	(void)state;
	for (uint32_t id = 1; id < N_NODES; id++) {
		node(id, id - 1, where(0x1000 + id / 2, 1 + id % 3));
	}
	assert_int_equal(tries_node(&t, N_NODES - 1), N_NODES - 1);
	for (uint32_t id = 1; id < N_NODES; id++) {
		assert_int_equal(t.nodes[id].parent, id - 1);
		assert_int_equal(t.locations[t.nodes[id].location].pc, 0x1000 + id / 2);
		assert_int_equal(t.locations[t.nodes[id].location].module, 1 + id % 3);
	}
	// pairs of neighbours share a program counter, not a module
	assert_int_equal(t.n_locations, N_NODES);
}

static void test_nonsense_ends_in_the_empty_stack(void **state) {
	(void)state;
	assert_int_equal(tries_node(&t, N_NODES), 0);
	assert_int_equal(tries_node(&t, UINT32_MAX), 0);
	assert_int_equal(tries_node(&t, 9), 0); // never published
	assert_int_equal(t.bad_nodes, 3);
	node(1, 3, where(0x1000, 1)); // a circle
	node(2, 1, where(0x2000, 1));
	node(3, 2, where(0x3000, 1));
	uint32_t leaf = tries_node(&t, 3);
	assert_int_equal(leaf, 3);
	assert_int_equal(t.nodes[1].parent, 0);
	assert_int_equal(t.bad_nodes, 4);
	node(9, 0, where(0x4000, 1)); // now it is
	assert_int_equal(tries_node(&t, 9), 4);
}

static void test_other_code_at_a_place_makes_other_nodes(void **state) {
	(void)state;
	node(1, 0, where(0x1000, 1));
	node(2, 1, where(0x2000, 0)); // generated
	node(3, 2, where(0x3000, 1));
	node(4, 1, where(0x4000, 0));
	uint32_t leaf = tries_node(&t, 3), other = tries_node(&t, 4);
	uint32_t middle = t.nodes[leaf].parent, location = t.nodes[middle].location;
	tries_retire(&t, &location, 1);
	assert_int_equal(tries_node(&t, 1), t.nodes[middle].parent);
	assert_int_equal(tries_node(&t, 4), other);
	uint32_t again = tries_node(&t, 3), above = t.nodes[again].parent;
	assert_int_not_equal(again, leaf);
	assert_int_equal(t.nodes[again].location, t.nodes[leaf].location);
	assert_int_not_equal(t.nodes[above].location, location);
	assert_int_equal(t.locations[t.nodes[above].location].pc, 0x2000);
	assert_int_equal(t.nodes[above].parent, t.nodes[middle].parent);
	assert_int_equal(tries_node(&t, 2), above);
	for (uint32_t id = 5; id < 5000; id++) { // the tables grow
		node(id, 1, where(0x10000 + id, 1));
		(void)tries_node(&t, id);
	}
	assert_int_equal(tries_node(&t, 3), again);
	uint32_t second = t.nodes[above].location;
	tries_retire(&t, &second, 1);
	assert_int_not_equal(tries_node(&t, 3), again);
	assert_int_equal(tries_node(&t, 4), other);
}

static struct {
	uint32_t ids[N_MODULES];
	unsigned n;
} announced;

static void announce(void *user, uint32_t id, const struct wire_module *module) {
	assert_ptr_equal(user, &announced);
	assert_int_equal(module->start, id * 0x10000ull);
	assert_int_equal(module->path[WIRE_MODULE_PATH - 1], 0);
	assert_true(module->build_id_bytes <= 32);
	announced.ids[announced.n++] = id;
}

static void module_at(uint32_t id) {
	struct wire_module *m = &s.modules[id];
	m->start = id * 0x10000ull;
	m->end = m->start + 0x1000;
	memset(m->path, 'x', sizeof m->path);
	m->build_id_bytes = 4000000000u;
	atomic_store(&m->state, 1);
}

static void test_modules_are_announced_once_when_whole(void **state) {
	(void)state;
	memset(&announced, 0, sizeof announced);
	atomic_store(&s.header->n_modules, 3);
	module_at(2);
	tries_poll_modules(&t, announce, &announced);
	assert_int_equal(announced.n, 1);
	assert_null(tries_module(&t, 1));
	module_at(1);
	module_at(3);
	tries_poll_modules(&t, announce, &announced);
	tries_poll_modules(&t, announce, &announced);
	assert_int_equal(announced.n, 3);
	assert_int_equal(announced.ids[0], 2);
	assert_int_equal(announced.ids[1], 1);
	assert_int_equal(announced.ids[2], 3);
	atomic_store(&s.header->n_modules, UINT32_MAX);
	tries_poll_modules(&t, announce, &announced);
	assert_int_equal(announced.n, 3);
	assert_null(tries_module(&t, UINT32_MAX));
}

// ---- several segments

static unsigned n_met;

static void meet(void *user, uint32_t id, const struct wire_module *module) {
	n_met++;
	assert_int_not_equal(tries_share(user, id, module), 0);
}

static void announce_module(struct segment *of, uint32_t id, uint64_t start, uint8_t build_id) {
	struct wire_module *m = &of->modules[id];
	m->start = m->bias = start;
	m->end = start + 0x10000;
	m->build_id_bytes = 20;
	m->build_id[0] = build_id;
	(void)snprintf(m->path, sizeof m->path, "/lib/%u.so", build_id);
	atomic_store(&m->state, 1);
	atomic_store(&of->header->n_modules, id);
}

static void test_stacks_of_several_processes_are_one_set(void **state) {
	(void)state;
	const struct segment_params params = {.n_slots = 64,
			.slot_bytes = 1 << 20,
			.node_capacity = N_NODES,
			.module_capacity = N_MODULES};
	struct segment other;
	struct tries whole, own[2];
	assert_true(segment_init(&other, &params, &err));
	tries_init(&whole, &s);
	tries_init(&own[0], &s);
	tries_init(&own[1], &other);
	for (unsigned i = 0; i < 2; i++) {
		tries_join(&own[i], &whole, NULL, &own[i]);
		own[i].command = 1;
		own[i].meet = meet;
	}
	// The same two modules, at other addresses and by other numbers
	announce_module(&s, 1, 0x100000, 7);
	announce_module(&s, 2, 0x200000, 8);
	announce_module(&other, 1, 0x500000, 8);
	announce_module(&other, 2, 0x700000, 7);
	tries_poll_modules(&own[0], meet, &own[0]); // those of the other are announced after its poll
	node(1, 0, where(0x100010, 1));
	node(2, 1, where(0x200020, 2) | WIRE_EXACT_PC);
	uint32_t leaf = tries_node(&own[0], 2);
	other.nodes[9].parent = 0;
	atomic_store(&other.nodes[9].where, where(0x700010, 2));
	other.nodes[4].parent = 9;
	atomic_store(&other.nodes[4].where, where(0x500020, 1) | WIRE_EXACT_PC);
	assert_int_equal(tries_node(&own[1], 4), leaf);
	assert_int_equal(whole.n_nodes, 3);
	assert_int_equal(whole.n_modules, 2);
	assert_int_equal(n_met, 4);
	assert_int_equal(whole.locations[whole.nodes[leaf].location].pc, 0x200020);
	assert_int_equal(whole.commands.items[leaf], 1);

	// Of another command they are others
	own[1].command = 2;
	other.nodes[5].parent = 0;
	atomic_store(&other.nodes[5].where, where(0x700010, 2));
	uint32_t apart = tries_node(&own[1], 5);
	assert_int_equal(apart, 3);
	assert_int_equal(whole.nodes[apart].location, whole.nodes[1].location);
	assert_int_equal(whole.commands.items[apart], 2);

	// What is no module stays where it is
	other.nodes[6].parent = 5;
	atomic_store(&other.nodes[6].where, where(0x1234, 0));
	assert_int_equal(whole.locations[whole.nodes[tries_node(&own[1], 6)].location].pc, 0x1234);
	tries_finish(&own[0]);
	tries_finish(&own[1]);
	tries_finish(&whole);
	segment_finish(&other);
}

/** Nodes of `whole` against what they stand for, in whatever order the processes meet them. */
static void test_random_processes_share_what_is_equal(void **state) {
	(void)state;
	enum { PROCESSES = 4, PER_PROCESS = 400, PATH = 64, REQUESTS = 6000 };
	const struct segment_params params = {.n_slots = 64,
			.slot_bytes = 1 << 20,
			.node_capacity = PER_PROCESS,
			.module_capacity = N_MODULES};
	static char paths[PROCESSES][PER_PROCESS][PATH], known[PROCESSES * PER_PROCESS][PATH];
	static struct segment segments[PROCESSES];
	static struct tries own[PROCESSES];
	struct tries whole;
	srand(3);
	tries_init(&whole, &s);
	for (unsigned p = 0; p < PROCESSES; p++) {
		assert_true(segment_init(&segments[p], &params, &err));
		tries_init(&own[p], &segments[p]);
		tries_join(&own[p], &whole, NULL, NULL);
		own[p].command = 1 + p % 2;
		(void)snprintf(paths[p][0], PATH, "%u", p % 2);
		for (uint32_t id = 1; id < PER_PROCESS; id++) {
			uint32_t parent = (uint32_t)rand() % id, pc = 1 + (uint32_t)rand() % 3;
			parent = strlen(paths[p][parent]) < PATH - 2 ? parent : 0;
			segments[p].nodes[id].parent = parent;
			atomic_store(&segments[p].nodes[id].where, where(0x1000 * pc, 0));
			(void)snprintf(paths[p][id], PATH, "%.60s%u", paths[p][parent], pc);
		}
	}
	for (unsigned i = 0; i < REQUESTS; i++) {
		unsigned p = (unsigned)rand() % PROCESSES;
		uint32_t id = (uint32_t)rand() % PER_PROCESS;
		uint32_t there = tries_node(&own[p], id);
		assert_true(there < whole.n_nodes && (there == 0) == (id == 0));
		if (id != 0 && known[there][0] == '\0') {
			for (uint32_t k = 1; k < whole.n_nodes; k++) { // no other stands for it
				assert_string_not_equal(known[k], paths[p][id]);
			}
			memcpy(known[there], paths[p][id], PATH);
		}
		assert_true(id == 0 || strcmp(known[there], paths[p][id]) == 0);
	}
	for (unsigned p = 0; p < PROCESSES; p++) {
		tries_finish(&own[p]);
		segment_finish(&segments[p]);
	}
	tries_finish(&whole);
}

int main(void) {
#define ONE(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
			ONE(callers_come_first_whatever_their_ids),
			ONE(program_counters_of_48_bits),
			ONE(units_of_virtual_modules),
			ONE(own_code_is_passed_by),
			ONE(marks_and_equal_places),
			ONE(deep_and_many),
			ONE(other_code_at_a_place_makes_other_nodes),
			ONE(nonsense_ends_in_the_empty_stack),
			ONE(modules_are_announced_once_when_whole),
			ONE(stacks_of_several_processes_are_one_set),
			ONE(random_processes_share_what_is_equal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
