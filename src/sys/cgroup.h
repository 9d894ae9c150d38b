// SPDX-License-Identifier: MIT
#pragma once
/**
 * The control group that accounts for a process's memory or limits its CPU time, of either version.
 *
 * A group may vanish at any time: then it has no limit and counts nothing.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

struct cgroup {
	char path[4096];     // of its folder
	uint32_t root_bytes; // of that, the file system's own part
	uint32_t limiting;   // bytes of the path of the group around it whose limit is the smallest
	bool is_v2;
};

/** The group of process `pid` for "memory" or "cpu". False: it has none, or is gone. */
bool cgroup_of_process(struct cgroup *c, pid_t pid, const char *controller);

/**
 * The same from the contents of a /proc/PID/cgroup (changed) and where control groups are mounted.
 */
bool cgroup_parse(struct cgroup *c, char *text, const char *root, const char *controller);

/**
 * How many processors' time the group for "cpu" and the groups around it may take, rounded down. No
 * limit is a huge number.
 */
uint64_t cgroup_cores(const struct cgroup *c);

/** The smallest memory limit of the group and the groups around it; 0: none. Sets c->limiting. */
uint64_t cgroup_memory_limit(struct cgroup *c);

/** Of the group whose limit that is, with all groups in it: what is charged to it. */
struct cgroup_memory {
	uint64_t used_bytes, anonymous_bytes, swap_bytes;
	uint64_t file_bytes;     // page cache, with shared memory
	uint64_t shared_bytes;   // of that, shared memory
	uint64_t inactive_bytes; // of file_bytes: the kernel can take them back
	uint64_t kernel_bytes;
	uint64_t limit_hits; // times that the limit was reached
};

/** After the limit was asked for. False: there is none, or nothing is known of its use. */
bool cgroup_memory(const struct cgroup *c, struct cgroup_memory *out);

/**
 * What is used of that limit, after it was asked for: all memory that is charged to the group,
 * without files that were read and can be dropped, if it is more than `least_bytes` with them. 0:
 * less, or unknown.
 */
uint64_t cgroup_memory_used(const struct cgroup *c, uint64_t least_bytes);

/**
 * The number of processes of the group that the kernel has killed because memory ran out. False:
 * unknown.
 */
bool cgroup_memory_kills(const struct cgroup *c, uint64_t *kills);
