// SPDX-License-Identifier: MIT
/* What a child reports about itself, read from /proc/self. */
#include "recorder/core/family.h"

#include "recorder/core/sys.h"

/** When this process was started, in ticks since boot; with the pid, its identity. 0: unknown. */
static uint64_t read_start(void) {
	enum { FIELD_NAME = 2, FIELD_START = 22 };
	char text[512];
	size_t n = sys_read_file("/proc/self/stat", text, sizeof text);
	while (n > 0 && text[n - 1] != ')') { // after the name, which may contain anything
		n--;
	}
	const char *at = text + n;
	for (unsigned field = FIELD_NAME; n > 0 && field < FIELD_START && *at != '\0'; at++) {
		field += *at == ' ';
	}
	return n > 0 ? sys_take_number(&at) : 0;
}

/** Take a free entry (`pid` 0), or this process's from before an exec. NULL: none. */
static struct wire_child *take(struct segment_header *header, uint32_t pid, uint32_t space,
		uint64_t start) {
	uint32_t n = wire_children_in_use(header);
	for (uint32_t i = 0; i < n; i++) {
		struct wire_child *child = &header->children[i];
		uint32_t seen = pid;
		if (atomic_load_explicit(&child->pid, memory_order_relaxed) == pid &&
				(pid == 0 || (child->start_ticks == start && child->pid_space == space)) &&
				atomic_compare_exchange_strong(&child->pid, &seen, WIRE_CHILD_CLAIMED)) {
			return child;
		}
	}
	return NULL;
}

void family_announce(struct segment_header *header, bool is_fork) {
	uint32_t pid = (uint32_t)syscall_0(__NR_getpid);
	uint64_t start = read_start();
	char link[32]; // the inode of our pid namespace: pid:[4026531836]
	(void)sys_read_link("/proc/self/ns/pid", link, sizeof link);
	const char *digits = sys_after(link, "pid:[");
	uint32_t space = digits != NULL ? (uint32_t)sys_take_number(&digits) : 0;
	struct wire_child *child = take(header, pid, space, start);
	if (child == NULL) {
		atomic_fetch_add(is_fork ? &header->n_children_forked : &header->n_children_executed, 1);
		child = take(header, 0, 0, 0);
	} else if (child->is_fork && !is_fork) {
		atomic_fetch_add(&header->n_children_executed, 1); // first: the sum never falls
		atomic_fetch_sub(&header->n_children_forked, 1);
	}
	if (child == NULL) {
		return;
	}
	child->is_fork = is_fork;
	child->n_announced++;
	child->start_ticks = start;
	child->pid_space = space;
	size_t n = sys_read_file("/proc/self/comm", child->comm, sizeof child->comm);
	if (n > 0 && child->comm[n - 1] == '\n') {
		child->comm[n - 1] = '\0';
	}
	(void)sys_read_link("/proc/self/exe", child->exe, sizeof child->exe);
	atomic_store_explicit(&child->pid, pid, memory_order_release);
	_Atomic uint32_t *bell = &header->common.bell;
	if (atomic_exchange(bell, 1) == 0) { // it may end before the collector wakes by itself
		(void)syscall_3(__NR_futex, (long)bell, FUTEX_WAKE, 1);
	}
}
