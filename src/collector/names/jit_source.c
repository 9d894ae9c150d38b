// SPDX-License-Identifier: MIT
/* The map has a known name; a jitdump may be anywhere, but the program has mapped it. */
#include "collector/names/jit.h"
#include "symbols/jit_dump.h"
#include "sys/process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OLDER_NS = 1000000000 }; // by which the kernel's clocks may differ

/** False for the file of an earlier process with that number, or of another user. */
static bool is_of_program(pid_t program, int fd) {
	struct stat file, process;
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d", (int)program);
	if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || stat(path, &process) != 0) {
		return false;
	}
	uint64_t written_ns = (uint64_t)file.st_mtim.tv_sec * 1000000000u +
			(uint64_t)file.st_mtim.tv_nsec;
	return (file.st_uid == process.st_uid || file.st_uid == 0) &&
			written_ns + OLDER_NS >= process_start_wall_ns(program);
}

static int open_if_of_program(pid_t program, const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd >= 0 && !is_of_program(program, fd)) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

static int open_map(pid_t program, pid_t inside) {
	char path[96];
	(void)snprintf(path, sizeof path, "/proc/%d/root/tmp/perf-%d.map", (int)program, (int)inside);
	int fd = open_if_of_program(program, path);
	if (fd < 0 && program == inside) {
		// The root of a process that has ended is gone: then ours is the best guess
		(void)snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)program);
		fd = open_if_of_program(program, path);
	}
	return fd;
}

static int open_if_dump(pid_t program, pid_t inside, const char *path) {
	uint8_t header[JIT_DUMP_HEADER_BYTES];
	int fd = open_if_of_program(program, path);
	if (fd >= 0 &&
			(pread(fd, header, sizeof header, 0) != (ssize_t)sizeof header ||
					!jit_dump_is_of(slice_of(header, sizeof header), (uint32_t)inside))) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

static int open_mapped_dump(pid_t program, pid_t inside) {
	char path[64], name[64];
	(void)snprintf(path, sizeof path, "/proc/%d/maps", (int)program);
	(void)snprintf(name, sizeof name, "/jit-%d.dump\n", (int)inside);
	FILE *maps = fopen(path, "re");
	char *line = NULL;
	size_t capacity = 0;
	int fd = -1;
	for (ssize_t n; maps && fd < 0 && (n = getline(&line, &capacity, maps)) > 0;) {
		char *at = strchr(line, '/');
		size_t n_name = strlen(name);
		char whole[PATH_MAX + 64];
		if (!at || (size_t)n < n_name || strcmp(line + n - n_name, name) != 0) {
			continue;
		}
		line[n - 1] = '\0';
		(void)snprintf(whole, sizeof whole, "/proc/%d/root%s", (int)program, at);
		fd = open_if_dump(program, inside, whole);
	}
	free(line);
	if (maps) {
		(void)fclose(maps);
	}
	return fd;
}

struct jit_source jit_source_open(pid_t program, pid_t inside, bool wants_dump) {
	int map = open_map(program, inside);
	if (map >= 0 || !wants_dump) {
		return (struct jit_source){.fd = map};
	}
	return (struct jit_source){.fd = open_mapped_dump(program, inside), .is_dump = true};
}
