// SPDX-License-Identifier: MIT
/* What a child says of itself is read from /proc/self. */
#include "recorder/core/family.h"

#include "recorder/core/sys.h"

#include <fcntl.h>
#include <linux/futex.h>

/** Read a file of /proc, cut and zero terminated. Returns the number of bytes. */
static size_t read_file(const char *path, char *out, size_t bytes) {
	long n = 0;
	long fd = syscall_4(__NR_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
	if (!sys_failed(fd)) {
		n = syscall_3(__NR_read, fd, (long)out, (long)bytes - 1);
		(void)syscall_1(__NR_close, fd);
	}
	n = sys_failed(n) ? 0 : n;
	out[n] = '\0';
	return (size_t)n;
}

/** When this process was started, in ticks since boot: identifies it, with its pid. 0: unknown. */
static uint64_t read_start(void) {
	enum { FIELD_NAME = 2, FIELD_START = 22 };
	char text[512];
	size_t n = read_file("/proc/self/stat", text, sizeof text);
	while (n > 0 && text[n - 1] != ')') { // after the name, which may contain anything
		n--;
	}
	const char *at = text + n;
	for (unsigned field = FIELD_NAME; n > 0 && field < FIELD_START && *at != '\0'; at++) {
		field += *at == ' ';
	}
	uint64_t ticks = 0;
	for (; n > 0 && *at >= '0' && *at <= '9'; at++) {
		ticks = ticks * 10 + (uint64_t)(*at - '0');
	}
	return ticks;
}

/** The namespace of our pid, by its inode. 0: unknown. */
static uint32_t read_pid_space(void) {
	char link[32] = ""; // pid:[4026531836]
	long n = syscall_4(__NR_readlinkat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)link,
			(long)sizeof link - 1);
	uint32_t inode = 0;
	for (long i = 0; i < n; i++) {
		inode = link[i] >= '0' && link[i] <= '9' ? inode * 10 + (uint32_t)(link[i] - '0') : inode;
	}
	return inode;
}

/** Take a free entry (`pid` 0), or the one that this process made before an exec. NULL: none. */
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
	uint32_t space = read_pid_space();
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
	size_t n = read_file("/proc/self/comm", child->comm, sizeof child->comm);
	if (n > 0 && child->comm[n - 1] == '\n') {
		child->comm[n - 1] = '\0';
	}
	long length = syscall_4(__NR_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)child->exe,
			(long)sizeof child->exe - 1);
	child->exe[sys_failed(length) ? 0 : length] = '\0';
	atomic_store_explicit(&child->pid, pid, memory_order_release);
	_Atomic uint32_t *bell = &header->common.bell;
	if (atomic_exchange(bell, 1) == 0) { // it may be gone before the collector wakes by itself
		(void)syscall_3(__NR_futex, (long)bell, FUTEX_WAKE, 1);
	}
}
