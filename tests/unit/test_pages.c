// SPDX-License-Identifier: MIT

/** The recorder's mapping of a segment, as if the machine's pages were of 4, 16 and 64 KiB. */

#include "recorder/core/segment.h"
#include "recorder/core/sys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum {
	N_SLOTS = 8,
	SLOT_BYTES = 1 << 20,
	N_MODULES = 16,
	N_NODES = 200001, // not whole pages
	N_NODES_MADE = 1000,
	NODES_MARGIN = 1 << 16, // see segment.c
};

static struct segment_header header_for(uint32_t page_bytes) {
	uint64_t modules_at = sizeof(struct segment_header) / WIRE_PAGE_MOST * WIRE_PAGE_MOST +
			4 * WIRE_PAGE_MOST;
	uint64_t nodes_at = modules_at + WIRE_PAGE_MOST;
	uint64_t slots_at = nodes_at + 64 * WIRE_PAGE_MOST;
	return (struct segment_header){.magic = SEGMENT_MAGIC,
			.version = SEGMENT_VERSION,
			.page_bytes = page_bytes,
			.segment_bytes = slots_at + N_SLOTS * SLOT_BYTES,
			.slot_bytes = SLOT_BYTES,
			.n_slots = N_SLOTS,
			.module_capacity = N_MODULES,
			.node_capacity = N_NODES,
			.program_pid = (uint32_t)getpid(),
			.tables = {[TABLE_MARKS] = {modules_at - 2 * WIRE_PAGE_MOST,
							   WIRE_N_MARKS * sizeof(struct wire_mark)},
					[TABLE_MODULES] = {modules_at, N_MODULES * sizeof(struct wire_module)},
					[TABLE_NODES] = {nodes_at, N_NODES * sizeof(struct wire_node)},
					[TABLE_SLOTS] = {slots_at, N_SLOTS * SLOT_BYTES}},
			.state = SEGMENT_OPEN,
			.n_nodes = N_NODES_MADE};
}

static enum segment_role adopt(const struct segment_header *h) {
	int fd = memfd_create("test", MFD_CLOEXEC);
	bool is_there = fd >= 0 && ftruncate(fd, (off_t)h->segment_bytes) == 0 &&
			pwrite(fd, h, sizeof *h, 0) == sizeof *h;
	return is_there ? segment_adopt(fd) : SEGMENT_ROLE_NONE;
}

static bool is_mapped(const void *at) {
	unsigned char in_memory;
	uintptr_t page = (uintptr_t)at & ~(uintptr_t)(MACHINE_PAGE_LEAST - 1);
	return mincore((void *)page, 1, &in_memory) == 0;
}

// In a process of its own: a segment is adopted once. The line of the first check that fails
#define CHECK(cond)                    \
	do {                               \
		if (!(cond)) {                 \
			_exit(__LINE__ % 255 + 1); \
		}                              \
	} while (0)

static void check_slots(void) {
	for (uint32_t i = 0; i < N_SLOTS; i++) {
		CHECK(!sys_is_readable((uint64_t)segment_slot(i)));
		CHECK(segment_open_more_slots() && segment_open_slots() == i + 1);
		unsigned char *slot = (unsigned char *)segment_slot(i);
		slot[0] = slot[SEGMENT_OPEN_BYTES - 1] = 1;
		CHECK(!sys_is_readable((uint64_t)slot + SEGMENT_OPEN_BYTES + segment.page_bytes));
		CHECK(mprotect(segment_slot(i), SLOT_BYTES, PROT_READ | PROT_WRITE) == 0);
		slot[SLOT_BYTES - 1] = 1;
	}
	CHECK(!segment_open_more_slots());
}

static void check_nodes(void) {
	const uint64_t in_use = (N_NODES_MADE + NODES_MARGIN) * sizeof(struct wire_node);
	uint64_t end = (in_use + segment.page_bytes - 1) / segment.page_bytes * segment.page_bytes;
	unsigned char *nodes = (unsigned char *)segment.nodes;
	for (unsigned i = 0; i < 2; i++) {
		segment_close_unused(true);
		CHECK(segment.n_nodes_open == end / sizeof(struct wire_node));
		nodes[end - 1] = 1;
		CHECK(!sys_is_readable((uint64_t)nodes + end));
		CHECK(!sys_is_readable((uint64_t)&segment.nodes[N_NODES - 1]));
		segment_close_unused(false);
		CHECK(segment.n_nodes_open == N_NODES);
		segment.nodes[N_NODES - 1].parent = 1;
	}
	segment_give_back(1ull << 40); // 2^32 nodes, which 32 bits do not hold
	CHECK(segment.n_nodes == N_NODES && segment.n_slots == N_SLOTS);
	segment_give_back(1 << 20);
	CHECK(segment.n_nodes == end / sizeof(struct wire_node) &&
			segment.n_nodes_open == segment.n_nodes);
	nodes[end - 1] = 2;
	CHECK(!is_mapped(nodes + end));
	CHECK(!is_mapped(nodes + (N_NODES - 1) * sizeof(struct wire_node)));
	CHECK(atomic_load(&segment.header->mapped_nodes) == segment.n_nodes);
	CHECK(segment.n_slots == N_SLOTS); // all are open
}

static void check_segment(uint32_t page_bytes) {
	const struct segment_header h = header_for(page_bytes);
	CHECK(adopt(&h) == SEGMENT_ROLE_PROGRAM);
	CHECK(segment.page_bytes == page_bytes && segment.common == &segment.header->common);
	segment.marks[WIRE_N_MARKS - 1].name[0] = 'm';
	segment.modules[N_MODULES - 1].start = 1;
	check_slots();
	check_nodes();
	_exit(0);
}

static int status_of(void (*check)(uint32_t), uint32_t page_bytes) {
	pid_t child = fork();
	if (child == 0) {
		check(page_bytes);
	}
	int status = -1;
	(void)waitpid(child, &status, 0);
	return status;
}

static void test_pages_of_all_sizes(void **state) {
	(void)state;
	for (uint32_t bytes = WIRE_PAGE_LEAST; bytes <= WIRE_PAGE_MOST; bytes *= 2) {
		assert_int_equal(status_of(check_segment, bytes), 0);
	}
}

static void check_refused(uint32_t which) {
	struct segment_header h = header_for(WIRE_PAGE_LEAST);
	switch (which) {
	case 0: h.page_bytes = 0; break;
	case 1: h.page_bytes = 12288; break;
	case 2: h.page_bytes = 2 * WIRE_PAGE_MOST; break;
	case 3: h.version--; break;
	case 4: h.tables[TABLE_NODES].at += WIRE_PAGE_LEAST; break;
	case 5: h.tables[TABLE_NODES].bytes--; break;
	case 6: h.tables[TABLE_MODULES].bytes = 0; break;
	case 7: h.tables[TABLE_MARKS].at = 0; break;
	case 8: h.tables[TABLE_SLOTS].at += WIRE_PAGE_MOST; break; // beyond the end
	case 9: h.tables[TABLE_SLOTS].at = UINT64_MAX - WIRE_PAGE_MOST + 1; break;
	case 10: h.slot_bytes -= WIRE_PAGE_LEAST; break;
	default: break;
	}
	_exit(adopt(&h) == SEGMENT_ROLE_PROGRAM ? 1 : 0);
}

static void test_headers_that_make_no_sense_are_refused(void **state) {
	(void)state;
	for (uint32_t which = 0; which <= 10; which++) {
		assert_int_equal(status_of(check_refused, which), 0);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_pages_of_all_sizes),
			cmocka_unit_test(test_headers_that_make_no_sense_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
