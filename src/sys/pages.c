// SPDX-License-Identifier: MIT
/* Maps, remaps and clears anonymous memory. */
#include "sys/pages.h"

#include "sys/sys.h"

void *pages_take(size_t bytes) {
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);
	return p == MAP_FAILED ? memory_lacks() : p;
}

void pages_clear(void *from, size_t bytes) {
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = from;
	size_t before = -(uintptr_t)at & (page - 1);
	before = before < bytes ? before : bytes;
	size_t whole = (bytes - before) & ~(page - 1);
	memset(at, 0, before);
	if (madvise(at + before, whole, MADV_DONTNEED) != 0) {
		memset(at + before, 0, whole);
	}
	memset(at + before + whole, 0, bytes - before - whole);
}

void pages_give(void *pages, size_t bytes) {
	if (pages) {
		(void)munmap(pages, bytes);
	}
}

enum { FIRST_BYTES = 1 << 18 };

void pages_reserve(void **items, size_t *capacity, size_t need, size_t item_bytes) {
	if (need <= *capacity) {
		return;
	}
	size_t wanted = *capacity ? *capacity * 2 : FIRST_BYTES / item_bytes;
	RAISE_TO(wanted, need);
	size_t bytes;
	bool is_too_much = __builtin_mul_overflow(wanted, item_bytes, &bytes);
	void *grown = is_too_much ? MAP_FAILED
			: *items          ? mremap(*items, *capacity * item_bytes, bytes, MREMAP_MAYMOVE)
							  : pages_take(bytes);
	*items = grown == MAP_FAILED ? memory_lacks() : grown;
	*capacity = wanted;
}

// ---- memory files

bool shared_memory_init(struct shared_memory *m, int fd, uint64_t bytes, struct err *err) {
	*m = (struct shared_memory){.fd = fd, .bytes = bytes};
	bool is_there = fd >= 0 && ftruncate(fd, (off_t)bytes) == 0;
	void *base = is_there
			? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0)
			: MAP_FAILED;
	if (base == MAP_FAILED) {
		(void)err_system(err, errno, "cannot make shared memory of %" PRIu64 " MiB", bytes >> 20);
		shared_memory_finish(m);
		return false;
	}
	(void)madvise(base, bytes, MADV_DONTDUMP);
	// Shrinking it would kill every process that uses it by SIGBUS
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	m->base = base;
	return true;
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
