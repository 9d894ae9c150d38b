// SPDX-License-Identifier: MIT
/* Calls the kernel's futex operations. */
#include "sys/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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
