// SPDX-License-Identifier: MIT

/*
 * What the parts of a hook cost, ns per call, the least of many rounds: an entry of a ring with its
 * stamp, a child of the trie found first in the chain, last in the chain, or by the hash, a new
 * node, and a whole hook (malloc's and free's half each) at a fixed depth, without the real malloc.
 * bench_capture has the stack capture by itself, bench/compare whole programs.
 *
 *   bench_recorder [rounds]
 */

#include "../tests/fake_segment.h"
#include "recorder/core/capture/trie.h"
#include "recorder/core/hook/hook.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { N_NODES = 1 << 22, N_CALLS = 4096, SLOT_BYTES = 4 << 20, DEPTH = 10, CHAIN = 8, MANY = 200 };

uint64_t host_clock_ns(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t host_main_stack_end(void) {
	extern void *__libc_stack_end;
	return (uint64_t)__libc_stack_end;
}

enum segment_role host_open_segment(void) {
	return SEGMENT_ROLE_NONE;
}

static volatile uint64_t sink;

static void set_up(void) {
	fake_segment(N_NODES, 64);
	fake_slots(1, SLOT_BYTES);
	segment.header->program_pid = (uint32_t)getpid();
	atomic_store(&segment.header->state, SEGMENT_OPEN);
	atomic_store(&segment.common->tick_ns, 1);
	atomic_store(&segment.header->common.stamps, STAMPS_CLOCK);
	if (!capture_setup() || thread_claim() == NULL) {
		abort();
	}
	atomic_store(&switch_page.word, SWITCH_ON);
}

/** Stand in for the collector: all that was written is taken. */
static void drain(void) {
	for (unsigned i = 0; i < N_RINGS; i++) {
		struct wire_ring *r = &thread_self.slot->rings[i];
		atomic_store(&r->taken, atomic_load(&r->reserved));
	}
}

// ---- what is measured: N_CALLS calls each

static void ring_entries(void) {
	struct ring *r = &thread_state_of(thread_self.slot)->ring;
	for (uint64_t i = 0; i < N_CALLS; i++) {
		uint64_t index = ring_reserve(r, 1);
		uint64_t stamp = hook_take_stamp();
		ring_publish(r, index, wire_head(0, KIND_ALLOC, stamp, i << 4), wire_body(1, 16, stamp));
	}
}

static uint32_t parent_of_few, parent_of_many;

static uint64_t where_of(uint64_t i) {
	return 0x1000 + i * 16;
}

static void children(uint32_t parent, uint64_t which) {
	for (unsigned i = 0; i < N_CALLS; i++) {
		sink += trie_child(parent, where_of(which));
	}
}

static void first_child(void) {
	children(parent_of_few, 0);
}

static void last_child(void) {
	children(parent_of_few, CHAIN - 1);
}

static void hashed_child(void) {
	children(parent_of_many, MANY - 1);
}

static void new_nodes(void) {
	static uint64_t n;
	uint32_t parent = 0;
	for (unsigned i = 0; i < N_CALLS; i++) {
		parent = trie_child(i % 16 == 0 ? 0 : parent, where_of(1000 + n++));
	}
}

static __attribute__((noinline)) void *hooked_malloc(uint64_t block) {
	struct hook h;
	if (hook_enter(&h, MACHINE_CALLER(), true)) {
		hook_allocated(&h, (const void *)block, 24);
		hook_leave(&h);
	}
	return (void *)block;
}

static __attribute__((noinline)) void hooked_free(const void *block) {
	struct hook h;
	if (hook_enter(&h, MACHINE_CALLER(), false)) {
		hook_free(&h, block);
		hook_leave(&h);
	}
}

static void hooks(void) {
	for (uint64_t i = 0; i < N_CALLS / 2; i++) {
		hooked_free(hooked_malloc(0x10000 + i % 64 * 16));
	}
}

static __attribute__((noinline)) void descend(unsigned left, void (*what)(void)) {
	if (left == 0) {
		what();
	} else {
		descend(left - 1, what);
	}
	__asm__ volatile("");
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
		{"ring entry with its stamp", ring_entries},
		{"child, first in the chain", first_child},
		{"child, last in the chain", last_child},
		{"child, by the hash", hashed_child},
		{"new node", new_nodes},
		{"hook at depth 10", hooks},
};
enum { N_PARTS = sizeof parts / sizeof *parts };

int main(int argc, char **argv) {
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 40;
	double best[N_PARTS] = {0};
	set_up();
	parent_of_few = trie_child(0, 1);
	parent_of_many = trie_child(0, 2);
	for (uint64_t i = 0; i < MANY; i++) {
		(void)trie_child(parent_of_many, where_of(i));
		(void)(i < CHAIN ? trie_child(parent_of_few, where_of(i)) : 0);
	}
	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned p = 0; p < N_PARTS; p++) {
			drain();
			uint64_t start = host_clock_ns();
			descend(DEPTH - 2, parts[p].run);
			double ns = (double)(host_clock_ns() - start) / N_CALLS;
			best[p] = round == 0 || ns < best[p] ? ns : best[p];
		}
	}
	for (unsigned p = 0; p < N_PARTS; p++) {
		printf("%-28s %6.1f ns\n", parts[p].name, best[p]);
	}
	return 0;
}
