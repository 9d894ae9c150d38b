// SPDX-License-Identifier: MIT

/* What cannot be read twice is copied to an unnamed file first. */

#include "session/open/parts.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *temporary_folder(void) {
	const char *folder = getenv("TMPDIR");
	return folder && *folder ? folder : "/tmp";
}

/** A file without a name; -1: errno says why. */
static int make_file(void) {
	char *path;
	if (asprintf(&path, "%s/heaptrack-stdin.XXXXXX", temporary_folder()) < 0) {
		return -1;
	}
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0) {
		(void)unlink(path);
	}
	free(path);
	return fd;
}

static bool fill(int fd) {
	char bytes[1 << 16];
	ssize_t n;
	for (uint64_t at = 0; (n = read(STDIN_FILENO, bytes, sizeof bytes)) != 0; at += (uint64_t)n) {
		n = n < 0 && errno == EINTR ? 0 : n;
		if (n < 0 || !file_write_at(fd, at, bytes, (size_t)n, NULL)) {
			return false;
		}
	}
	return true;
}

/** A descriptor of what comes in; it stays open. */
static int open_input(struct err *err) {
	struct stat in;
	if (fstat(STDIN_FILENO, &in) == 0 && S_ISREG(in.st_mode)) {
		return STDIN_FILENO;
	}
	int fd = make_file();
	if (fd < 0 || !fill(fd)) {
		(void)err_system(err, errno, "cannot store standard input in %s", temporary_folder());
		if (fd >= 0) {
			(void)close(fd);
		}
		return -1;
	}
	return fd;
}

const char *spool_stdin(struct err *err) {
	static char path[32]; // there is one standard input, and it can be read once
	int fd = *path ? -1 : open_input(err);
	if (fd >= 0) {
		(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	return *path ? path : NULL;
}
