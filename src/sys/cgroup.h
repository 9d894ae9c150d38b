// SPDX-License-Identifier: MIT
#pragma once
/** The control group (v1, v2) of a process's memory or CPU time. A vanished one limits nothing. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

struct cgroup {
	char path[4096];     // of its folder
	uint32_t root_bytes; // the part of the path that is the file system's
	uint32_t limiting;   // length of the path of the enclosing group with the least limit
	bool is_v2;
};

/** The group of process `pid` for "memory" or "cpu". False: none, or the process is gone. */
bool cgroup_of_process(struct cgroup *c, pid_t pid, const char *controller);

/** The same from the text of a /proc/PID/cgroup (modified) and the mount point. */
bool cgroup_parse(struct cgroup *c, char *text, const char *root, const char *controller);

/**
 * How many CPUs' time the "cpu" group and enclosing ones allow, rounded down; huge without a limit.
 */
uint64_t cgroup_cores(const struct cgroup *c);

/** The smallest memory limit of the group and enclosing ones; 0: none. Sets c->limiting. */
uint64_t cgroup_memory_limit(struct cgroup *c);

/** What is charged to the group with that limit, and all groups in it. */
struct cgroup_memory {
	uint64_t used_bytes, anonymous_bytes, swap_bytes;
	uint64_t file_bytes;     // page cache, including shared memory
	uint64_t shared_bytes;   // of file_bytes
	uint64_t inactive_bytes; // of file_bytes: the kernel can reclaim them
	uint64_t kernel_bytes;
	uint64_t limit_hits; // how often the limit was reached
};

/** Call after cgroup_memory_limit. False: no limit, or its usage is unknown. */
bool cgroup_memory(const struct cgroup *c, struct cgroup_memory *out);

/**
 * The usage of that limit, after cgroup_memory_limit: all charged memory without file pages that
 * can be reclaimed, if it is more than `least_bytes` with them; 0: less, or unknown.
 */
uint64_t cgroup_memory_used(const struct cgroup *c, uint64_t least_bytes);

/** How many processes of the group the kernel killed for lack of memory. False: unknown. */
bool cgroup_memory_kills(const struct cgroup *c, uint64_t *kills);
