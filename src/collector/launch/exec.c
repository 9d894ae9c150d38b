// SPDX-License-Identifier: MIT
/* Judges the executable by launch/elf.h, and the environment by what the recorder needs in it. */
#include "collector/launch/exec.h"

#include "base/path.h"
#include "collector/launch/elf.h"
#include "sys/file.h"
#include "wire/segment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENVIRONMENT_MAX = 4 << 20 };

/** Does its environment bring the preloaded recorder, and tell it where to write? */
static bool is_preloaded(pid_t pid) {
	char path[64];
	char *text = malloc(ENVIRONMENT_MAX);
	(void)snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	long n = text ? file_read_small(path, text, ENVIRONMENT_MAX) : 0;
	bool has_library = false, has_segment = false;
	for (long i = 0; i < n; i += (long)strlen(text + i) + 1) {
		has_library |= strncmp(text + i, "LD_PRELOAD=", 11) == 0 &&
				strstr(text + i, "libheaptrack_preload.so") != NULL;
		has_segment |= strncmp(text + i, SEGMENT_ENV "=", sizeof SEGMENT_ENV) == 0;
	}
	free(text);
	return has_library && has_segment;
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
