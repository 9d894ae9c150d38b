// SPDX-License-Identifier: MIT
/* Finds the group of a process, and reads its limits and counters. */
#include "sys/cgroup.h"

#include "sys/file.h"
#include "sys/process.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/** Version 1 has a hierarchy for memory alone; where there is none, memory is version 2's. */
static char *find_group(char *text, bool *is_v2) {
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
		} else if (strstr(controllers, "memory")) {
			group_v1 = group;
		}
	}
	*is_v2 = !group_v1;
	return group_v1 ? group_v1 : group_v2;
}

bool cgroup_parse(struct cgroup *c, char *text, const char *root) {
	*c = (struct cgroup){0};
	const char *group = find_group(text, &c->is_v2);
	if (!group) {
		return false;
	}
	c->root_bytes = (uint32_t)snprintf(c->path, sizeof c->path, "%s%s", root,
			c->is_v2 ? "" : "/memory");
	int n = snprintf(c->path + c->root_bytes, sizeof c->path - c->root_bytes, "%s", group);
	return (size_t)n < sizeof c->path - c->root_bytes;
}

bool cgroup_of_process(struct cgroup *c, pid_t pid) {
	char text[8192];
	*c = (struct cgroup){0};
	return process_read(pid, "cgroup", text, sizeof text) > 0 && cgroup_parse(c, text, CGROUP_ROOT);
}

/** Of a limit or a use. */
static uint64_t bytes_in(const char *file) {
	char text[64];
	if (file_read_small(file, text, sizeof text) <= 0 || !isdigit((unsigned char)text[0])) {
		return 0; // no such file, or "max"
	}
	uint64_t bytes = strtoull(text, NULL, 10);
	return bytes >= UINT64_C(1) << 60 ? 0 : bytes; // version 1 says "none" by a huge number
}

/** Go to the group around it. False: it was the outermost. */
static bool go_up(const struct cgroup *c, char *path) {
	char *slash = strrchr(path + c->root_bytes, '/');
	if (slash) {
		*slash = 0;
	}
	return slash != NULL;
}

uint64_t cgroup_memory_limit(struct cgroup *c) {
	char path[sizeof c->path];
	memcpy(path, c->path, sizeof path);
	uint64_t smallest = 0;
	c->limiting = 0;
	do {
		char file[sizeof path + 32];
		(void)snprintf(file, sizeof file, "%s/%s", path,
				c->is_v2 ? "memory.max" : "memory.limit_in_bytes");
		uint64_t bytes = bytes_in(file);
		if (bytes > 0 && (smallest == 0 || bytes < smallest)) {
			smallest = bytes;
			c->limiting = (uint32_t)strlen(path);
		}
	} while (go_up(c, path));
	return smallest;
}

uint64_t cgroup_memory_used(const struct cgroup *c, uint64_t least_bytes) {
	char file[sizeof c->path + 32], text[8192];
	const char *inactive = c->is_v2 ? "\ninactive_file " : "\ntotal_inactive_file ";
	(void)snprintf(file, sizeof file, "%.*s/%s", (int)c->limiting, c->path,
			c->is_v2 ? "memory.current" : "memory.usage_in_bytes");
	uint64_t used = c->limiting > 0 ? bytes_in(file) : 0;
	if (used <= least_bytes) {
		return 0;
	}
	(void)snprintf(file, sizeof file, "%.*s/memory.stat", (int)c->limiting, c->path);
	const char *at = file_read_small(file, text, sizeof text) > 0 ? strstr(text, inactive) : NULL;
	uint64_t droppable = at ? strtoull(at + strlen(inactive), NULL, 10) : 0;
	return used > droppable ? used - droppable : 0;
}

// In a container the group's own folder may be the mounted one: the innermost that is there counts
bool cgroup_memory_kills(const struct cgroup *c, uint64_t *kills) {
	char path[sizeof c->path];
	memcpy(path, c->path, sizeof path);
	*kills = 0;
	do {
		char file[sizeof path + 32], text[1024];
		(void)snprintf(file, sizeof file, "%s/%s", path,
				c->is_v2 ? "memory.events" : "memory.oom_control");
		if (file_read_small(file, text, sizeof text) > 0) {
			const char *at = strstr(text, "oom_kill ");
			*kills = at ? strtoull(at + strlen("oom_kill "), NULL, 10) : 0;
			return at != NULL;
		}
	} while (go_up(c, path));
	return false;
}
