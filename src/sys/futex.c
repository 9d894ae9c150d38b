// SPDX-License-Identifier: MIT
/* Calls the kernel's futex operations. */
#include "sys/futex.h"

#include "sys/sys.h"

#include <linux/futex.h>

void futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns) {
	struct timespec t = {
			.tv_sec = (time_t)(timeout_ns / 1000000000u),
			.tv_nsec = (long)(timeout_ns % 1000000000u),
	};
	(void)syscall(SYS_futex, word, FUTEX_WAIT, expected, &t, NULL, 0);
}

void futex_wake(_Atomic uint32_t *word, int n) {
	(void)syscall(SYS_futex, word, FUTEX_WAKE, n, NULL, NULL, 0);
}

/*
 * The kernel walks a thread's robust list when the thread dies. An entry is any address of the
 * process; its word is `futex_offset` bytes away. So the list can be in our own memory while the
 * word is in shared memory, where others may overwrite it.
 */
static struct robust_list_head list;
static struct robust_list entry;

bool robust_hold(_Atomic uint32_t *word, struct err *err) {
	entry.next = &list.list;
	list.list.next = &entry;
	list.futex_offset = (long)((uintptr_t)word - (uintptr_t)&entry);
	list.list_op_pending = NULL;
	if (syscall(SYS_set_robust_list, &list, sizeof list) != 0) {
		return err_system(err, errno, "cannot register a robust lock");
	}
	atomic_store(word, (uint32_t)syscall(SYS_gettid));
	return true;
}

void robust_release(_Atomic uint32_t *word) {
	list.list.next = &list.list;
	atomic_store(word, 0);
}
