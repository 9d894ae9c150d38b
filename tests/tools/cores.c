// SPDX-License-Identifier: MIT
/* To preload: as on a machine of four cores. */
#include <sched.h>
#include <string.h>

__attribute__((visibility("default"))) int sched_getaffinity(pid_t pid, size_t size,
		cpu_set_t *set) {
	(void)pid;
	memset(set, 0, size);
	for (size_t i = 0; i < 4; i++) {
		CPU_SET_S(i, size, set);
	}
	return 0;
}
