// SPDX-License-Identifier: MIT
/* Maps a file, and checks its build-id. */
#include "symbols/files/mapped.h"

#include "symbols/files/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static uint64_t changed_ns(const struct stat *st) {
	return (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
}

static bool map(struct mapped_file *m, int fd, const char *path, struct err *err) {
	struct stat st;
	if (fstat(fd, &st) != 0) {
		return err_system(err, errno, "%s", path);
	}
	if (!S_ISREG(st.st_mode)) {
		return err_set(err, ERR_FORMAT, "%s: not a regular file", path);
	}
	if (st.st_size <= 0) {
		return err_set(err, ERR_FORMAT, "%s: empty", path);
	}
	// Writable, but ours alone: elfutils marks sections that it uncompressed in their headers
	void *data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		return err_system(err, errno, "%s: cannot be mapped", path);
	}
	*m = (struct mapped_file){
			.bytes = slice_of(data, (size_t)st.st_size),
			.device = st.st_dev,
			.inode = st.st_ino,
			.changed_ns = changed_ns(&st),
	};
	(void)guard_add(data, m->bytes.size);
	return true;
}

static bool map_path(struct mapped_file *m, const char *path, struct err *err) {
	// O_NONBLOCK: a fifo of that name must not hold us up
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		enum err_code code = errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_SYSTEM;
		return err_set(err, code, "%s: %s", path, strerror(errno));
	}
	bool ok = map(m, fd, path, err);
	close(fd);
	return ok;
}

bool mapped_file_open(struct mapped_file *m, int fd, const char *path, struct slice build_id,
		struct err *err) {
	*m = (struct mapped_file){0};
	if (!(fd >= 0 ? map(m, fd, path, err) : map_path(m, path, err))) {
		return false;
	}
	m->path = strdup(path);
	if (!m->path) {
		err_memory(err);
		goto failed;
	}
	if (!elf_image_init(&m->elf, m->bytes, err)) {
		err_add(err, "%s", path);
		goto failed;
	}
	if (build_id.size && !slice_equal(build_id, elf_build_id(&m->elf))) {
		err_set(err, ERR_NOT_FOUND, "another build-id: %s", path);
		goto failed;
	}
	return true;

failed:
	mapped_file_close(m);
	return false;
}

static void relax(const uint8_t *from, const uint8_t *to) {
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)from + page - 1) & ~(page - 1);
	uintptr_t end = (uintptr_t)to & ~(page - 1);
	if (end > first) {
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
	}
}

// What elfutils wrote into the section headers must stay
bool mapped_file_is_current(const struct mapped_file *m, int fd) {
	struct stat st;
	return m->bytes.size && (fd >= 0 ? fstat(fd, &st) : stat(m->path, &st)) == 0 &&
			st.st_dev == m->device && st.st_ino == m->inode &&
			(size_t)st.st_size == m->bytes.size && changed_ns(&st) == m->changed_ns;
}

void mapped_file_relax(const struct mapped_file *m) {
	const struct slice *all = &m->bytes, *headers = &m->elf.sections;
	if (headers->size) {
		relax(all->data, headers->data);
		relax(headers->data + headers->size, all->data + all->size);
	} else {
		relax(all->data, all->data + all->size);
	}
}

uint32_t mapped_file_crc(const struct mapped_file *m) {
	enum { STEP = 16 << 20 }; // pages read so far are given back: a debug file may be huge
	uLong crc = crc32(0, NULL, 0);
	for (size_t at = 0; at < m->bytes.size; at += STEP) {
		size_t n = m->bytes.size - at < STEP ? m->bytes.size - at : STEP;
		crc = crc32(crc, m->bytes.data + at, (uInt)n);
		mapped_file_relax(m);
	}
	return (uint32_t)crc;
}

void mapped_file_close(struct mapped_file *m) {
	if (m) {
		if (m->bytes.size) {
			guard_remove(m->bytes.data);
			munmap((void *)m->bytes.data, m->bytes.size);
		}
		free(m->path);
		*m = (struct mapped_file){0};
	}
}
