// SPDX-License-Identifier: MIT
/* Judges the executable by launch/elf.h, and the environment by what the recorder needs in it. */
#include "base/path.h"
#include "collector/launch/elf.h"
#include "collector/launch/parts.h"
#include "sys/process.h"
#include "wire/segment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/** Does its environment bring the preloaded recorder, and tell it where to write? */
static bool is_preloaded(pid_t pid) {
	size_t n;
	char *block = process_environment(pid, &n);
	const char *preload = block ? process_variable(block, n, "LD_PRELOAD") : NULL;
	bool is_preloaded = preload && strstr(preload, "libheaptrack_preload.so") &&
			process_variable(block, n, SEGMENT_ENV);
	free(block);
	return is_preloaded;
}

bool launch_exec_is_ours(pid_t pid, enum injector_start *start) {
	char path[64];
	struct launch_elf elf;
	(void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return false;
	}
	launch_elf_read(&elf, fd);
	(void)close(fd);
	if (!elf.is_ours || elf.is_torn || elf.is_loader || elf.sanitizer) {
		return false;
	}
	bool has_glibc = elf.has_loader && strncmp(path_base_name(elf.loader), "ld-musl", 7) != 0;
	*start = has_glibc ? INJECTOR_AT_LOAD : INJECTOR_AT_EXEC;
	return !has_glibc || elf.has_allocator || !is_preloaded(pid);
}
