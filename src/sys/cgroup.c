// SPDX-License-Identifier: MIT
/* Finds the group of a process, and reads its limits and counters. */
#include "sys/cgroup.h"

#include "sys/file.h"
#include "sys/process.h"

/** Version 1 has hierarchies for some controllers; a controller in none of them is version 2's. */
static char *find_group(char *text, const char *controller, bool *is_v2) {
	const char *item = FORMAT(32, ",%s,", controller);
	char *group_v1 = NULL, *group_v2 = NULL, *line;
	while ((line = strsep(&text, "\n"))) {
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group) {
			continue;
		}
		*group++ = 0;
		if (strcmp(controllers, ":") == 0) {
			group_v2 = group;
		} else if (strstr(FORMAT(256, ",%s,", controllers + 1), item)) {
			group_v1 = group;
		}
	}
	*is_v2 = !group_v1;
	return group_v1 ? group_v1 : group_v2;
}

bool cgroup_parse(struct cgroup *c, char *text, const char *root, const char *controller) {
	*c = (struct cgroup){0};
	const char *group = find_group(text, controller, &c->is_v2);
	if (!group) {
		return false;
	}
	c->root_bytes = (uint32_t)snprintf(c->path, sizeof c->path, "%s%s%s", root, c->is_v2 ? "" : "/",
			c->is_v2 ? "" : controller);
	int n = snprintf(c->path + c->root_bytes, sizeof c->path - c->root_bytes, "%s", group);
	return (size_t)n < sizeof c->path - c->root_bytes;
}

bool cgroup_of_process(struct cgroup *c, pid_t pid, const char *controller) {
	char text[8192];
	*c = (struct cgroup){0};
	return process_read(pid, "cgroup", text, sizeof text) > 0 &&
			cgroup_parse(c, text, CGROUP_ROOT, controller);
}

// ---- its files

/** Read a file of the group whose path is the first `bytes` of c->path. */
static bool read_of(const struct cgroup *c, size_t bytes, const char *name_v2, const char *name_v1,
		char *text, size_t size) {
	char file[sizeof c->path + 32];
	(void)snprintf(file, sizeof file, "%.*s/%s", (int)bytes, c->path, c->is_v2 ? name_v2 : name_v1);
	return file_read_small(file, text, size) > 0;
}

/** A limit or a usage; 0: none. */
static uint64_t bytes_of(const struct cgroup *c, size_t bytes, const char *name_v2,
		const char *name_v1) {
	char text[64];
	if (!read_of(c, bytes, name_v2, name_v1, text, sizeof text) ||
			!isdigit((unsigned char)text[0])) {
		return 0; // no such file, or "max"
	}
	uint64_t value = strtoull(text, NULL, 10);
	return value >= UINT64_C(1) << 60 ? 0 : value; // version 1 uses a huge number for "none"
}

/** The number in the line with this name. False: no such line. */
static bool take_field(const char *text, const char *name, uint64_t *out) {
	const char *value = process_line(text, name, ' ');
	*out = value ? strtoull(value, NULL, 10) : 0;
	return value != NULL;
}

/** The length of the enclosing group's path; 0: this is the outermost. */
static size_t outer(const struct cgroup *c, size_t bytes) {
	const char *root = c->path + c->root_bytes;
	const char *slash = bytes > c->root_bytes ? memrchr(root, '/', bytes - c->root_bytes) : NULL;
	return slash ? (size_t)(slash - c->path) : 0;
}

uint64_t cgroup_memory_limit(struct cgroup *c) {
	uint64_t smallest = 0;
	c->limiting = 0;
	for (size_t n = strlen(c->path); n > 0; n = outer(c, n)) {
		uint64_t bytes = bytes_of(c, n, "memory.max", "memory.limit_in_bytes");
		if (bytes > 0 && (smallest == 0 || bytes < smallest)) {
			smallest = bytes;
			c->limiting = (uint32_t)n;
		}
	}
	return smallest;
}

uint64_t cgroup_cores(const struct cgroup *c) {
	uint64_t fewest = UINT64_MAX, quota_us, period_us;
	for (size_t n = strlen(c->path); n > 0; n = outer(c, n)) {
		char quota[64] = "", period[64] = "";
		(void)read_of(c, n, "cpu.max", "cpu.cfs_quota_us", quota, sizeof quota);
		(void)(!c->is_v2 && read_of(c, n, "", "cpu.cfs_period_us", period, sizeof period));
		const char *both = FORMAT(160, "%s %s", quota, period); // no limit: -1 or a word
		if (sscanf(both, "%" SCNu64 " %" SCNu64, &quota_us, &period_us) == 2 && period_us > 0) {
			LOWER_TO(fewest, quota_us / period_us);
		}
	}
	return fewest;
}

bool cgroup_memory(const struct cgroup *c, struct cgroup_memory *out) {
	const size_t n = c->limiting;
	char text[8192];
	*out = (struct cgroup_memory){0};
	out->used_bytes = n > 0 ? bytes_of(c, n, "memory.current", "memory.usage_in_bytes") : 0;
	if (out->used_bytes == 0 || !read_of(c, n, "memory.stat", "memory.stat", text, sizeof text)) {
		return out->used_bytes > 0;
	}
	(void)take_field(text, c->is_v2 ? "anon" : "total_rss", &out->anonymous_bytes);
	(void)take_field(text, c->is_v2 ? "file" : "total_cache", &out->file_bytes);
	(void)take_field(text, c->is_v2 ? "shmem" : "total_shmem", &out->shared_bytes);
	LOWER_TO(out->shared_bytes, out->file_bytes); // they were not read at the same time
	(void)take_field(text, c->is_v2 ? "inactive_file" : "total_inactive_file",
			&out->inactive_bytes);
	if (!c->is_v2) {
		out->kernel_bytes = bytes_of(c, n, "", "memory.kmem.usage_in_bytes");
	} else if (!take_field(text, "kernel", &out->kernel_bytes)) { // before Linux 5.18
		static const char *const parts[] = {"slab", "kernel_stack", "pagetables", "percpu", "sock"};
		uint64_t bytes;
		for (size_t i = 0; i < N_OF(parts); i++) {
			out->kernel_bytes += take_field(text, parts[i], &bytes) ? bytes : 0;
		}
	}
	out->swap_bytes = c->is_v2 ? bytes_of(c, n, "memory.swap.current", "") : 0;
	(void)(!c->is_v2 && take_field(text, "total_swap", &out->swap_bytes));
	out->limit_hits = bytes_of(c, n, "", "memory.failcnt");
	if (c->is_v2 && read_of(c, n, "memory.events", "", text, sizeof text)) {
		(void)take_field(text, "max", &out->limit_hits);
	}
	return true;
}

uint64_t cgroup_memory_used(const struct cgroup *c, uint64_t least_bytes) {
	struct cgroup_memory m;
	uint64_t used = c->limiting > 0
			? bytes_of(c, c->limiting, "memory.current", "memory.usage_in_bytes")
			: 0;
	bool is_much = used > least_bytes && cgroup_memory(c, &m);
	return is_much && used > m.inactive_bytes ? used - m.inactive_bytes : 0;
}

// In a container the mounted folder may be the group's own: the innermost existing one counts
bool cgroup_memory_kills(const struct cgroup *c, uint64_t *kills) {
	char text[1024];
	*kills = 0;
	for (size_t n = strlen(c->path); n > 0; n = outer(c, n)) {
		if (read_of(c, n, "memory.events", "memory.oom_control", text, sizeof text)) {
			return take_field(text, "oom_kill", kills);
		}
	}
	return false;
}
