// SPDX-License-Identifier: MIT

/* Memory, by /proc/PID/mem: also what the process itself cannot write to. */

#include "injector/tracee/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool tracee_open(struct tracee *t, pid_t pid, struct err *err) {
	char path[64];
	*t = (struct tracee){.pid = pid};
	(void)snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	t->memory = open(path, O_RDWR | O_CLOEXEC);
	if (t->memory < 0) {
		return err_system(err, errno, "cannot open the memory of process %d", (int)pid);
	}
	return true;
}

bool tracee_read(const struct tracee *t, uint64_t at, void *out, size_t bytes) {
	return pread(t->memory, out, bytes, (off_t)at) == (ssize_t)bytes;
}

bool tracee_write(const struct tracee *t, uint64_t at, const void *from, size_t bytes,
		struct err *err) {
	ssize_t n = pwrite(t->memory, from, bytes, (off_t)at);
	if (n == (ssize_t)bytes) {
		return true;
	}
	return err_system(err, n < 0 ? errno : EIO, "cannot write to the memory of process %d",
			(int)t->pid);
}
