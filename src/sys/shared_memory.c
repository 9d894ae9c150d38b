// SPDX-License-Identifier: MIT
/* Creates memory files, and maps them. */
#include "sys/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static bool size_and_map(struct shared_memory *m, int fd, uint64_t bytes, struct err *err) {
	*m = (struct shared_memory){.fd = fd, .bytes = bytes};
	if (m->fd < 0) {
		return err_system(err, errno, "cannot make shared memory");
	}
	if (ftruncate(m->fd, (off_t)bytes) != 0) {
		(void)err_system(err, errno, "cannot make shared memory of %" PRIu64 " MiB", bytes >> 20);
		goto fail;
	}
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, m->fd, 0);
	if (base == MAP_FAILED) {
		(void)err_system(err, errno, "cannot map shared memory of %" PRIu64 " MiB", bytes >> 20);
		goto fail;
	}
	(void)madvise(base, bytes, MADV_DONTDUMP);
	// Shrinking the memory would kill every process that uses it, by SIGBUS
	(void)fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	m->base = base;
	return true;

fail:
	shared_memory_finish(m);
	return false;
}

bool shared_memory_init(struct shared_memory *m, const char *name, uint64_t bytes,
		struct err *err) {
	return size_and_map(m, memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), bytes, err);
}

bool shared_memory_adopt(struct shared_memory *m, int fd, uint64_t bytes, struct err *err) {
	return size_and_map(m, fcntl(fd, F_DUPFD_CLOEXEC, 3), bytes, err);
}

bool shared_memory_clear(struct shared_memory *m, uint64_t offset, uint64_t bytes) {
	return fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
				   (off_t)bytes) == 0;
}

void shared_memory_finish(struct shared_memory *m) {
	if (!m) {
		return;
	}
	if (m->base) {
		(void)munmap(m->base, m->bytes);
	}
	if (m->bytes != 0 && m->fd >= 0) {
		(void)close(m->fd);
	}
	*m = (struct shared_memory){.fd = -1};
}
