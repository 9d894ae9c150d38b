// SPDX-License-Identifier: MIT
/*
 * Maps a file, and checks its build-id. A build may overwrite a library in place. So that this
 * process survives when a mapped file is truncated, SIGBUS in a mapped range is answered with pages
 * of zeros; our readers are safe for any bytes. The first range installs the process's handler; a
 * SIGBUS elsewhere does what it did before. The handler may run in any thread at any time, so the
 * ranges are a fixed table of atomics: `end` is written last when a range is added and cleared
 * first when it goes, and the handler reads it first (release in add, acquire in the handler).
 */
#include "base/parallel.h"
#include "symbols/files/files.h"
#include "sys/sys.h"

#include <zlib.h>

// ---- files that shrink

enum { RANGES_MAX = 4096 };

static struct {
	_Atomic uintptr_t start, end; // end 0: a free slot
} ranges[RANGES_MAX];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // for add and remove
static struct sigaction before;
static uintptr_t page_bytes;

static void on_sigbus(int signal, siginfo_t *info, void *context) {
	(void)signal;
	(void)context;
	uintptr_t address = (uintptr_t)info->si_addr, page = address & ~(page_bytes - 1);
	bool is_guarded = ANY(i, RANGES_MAX,
			address < atomic_load_explicit(&ranges[i].end, memory_order_acquire) &&
					address >= atomic_load_explicit(&ranges[i].start, memory_order_relaxed));
	if (is_guarded &&
			mmap((void *)page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
					0) != MAP_FAILED) {
		return;
	}
	// Not ours: restore the old handler, and the instruction faults again
	sigaction(SIGBUS, &before, NULL);
}

/** Beyond RANGES_MAX, ranges stay unguarded. */
static void guard_add(const void *start, size_t bytes) {
	LOCKED(&lock);
	struct sigaction now, action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	// Checked for each range: others may have replaced the handler since
	if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction != on_sigbus) {
		(void)sigaction(SIGBUS, &action, &before);
	}
	__auto_type unused = FIND(r, ranges, RANGES_MAX,
			!atomic_load_explicit(&r->end, memory_order_relaxed));
	if (unused) {
		atomic_store_explicit(&unused->start, (uintptr_t)start, memory_order_relaxed);
		atomic_store_explicit(&unused->end, (uintptr_t)start + bytes, memory_order_release);
	}
}

/** Call before the range is unmapped. */
static void guard_remove(const void *start) {
	LOCKED(&lock);
	__auto_type used = FIND(r, ranges, RANGES_MAX,
			atomic_load_explicit(&r->end, memory_order_relaxed) &&
					atomic_load_explicit(&r->start, memory_order_relaxed) == (uintptr_t)start);
	if (used) {
		atomic_store_explicit(&used->end, 0, memory_order_release);
	}
}

// ---- files

static bool map(struct mapped_file *m, int fd) {
	struct stat st;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		return false;
	}
	// Private and writable: elfutils marks decompressed sections in their headers
	void *data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		return false;
	}
	*m = (struct mapped_file){.bytes = slice_of(data, (size_t)st.st_size), .found = st};
	guard_add(data, m->bytes.size);
	return true;
}

bool mapped_file_open(struct mapped_file *m, int fd, const char *path, struct slice build_id) {
	*m = (struct mapped_file){0};
	// O_NONBLOCK: a fifo of that name must not block
	CLOSED int own = fd >= 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool ok = map(m, fd >= 0 ? fd : own) && (m->path = strdup(path)) &&
			elf_image_init(&m->elf, m->bytes) &&
			(!build_id.size || slice_equal(build_id, elf_build_id(&m->elf)));
	if (!ok) {
		mapped_file_close(m);
	}
	return ok;
}

static void relax(const uint8_t *from, const uint8_t *to) {
	uintptr_t first = round_up((uintptr_t)from, page_bytes);
	uintptr_t end = (uintptr_t)to & ~(page_bytes - 1);
	if (end > first) {
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
	}
}

// Must keep what elfutils wrote into the section headers
bool mapped_file_is_current(const struct mapped_file *m, int fd) {
	struct stat st;
	const struct timespec *then = &m->found.st_mtim, *now = &st.st_mtim;
	return m->bytes.size && (fd >= 0 ? fstat(fd, &st) : stat(m->path, &st)) == 0 &&
			st.st_dev == m->found.st_dev && st.st_ino == m->found.st_ino &&
			st.st_size == m->found.st_size && now->tv_sec == then->tv_sec &&
			now->tv_nsec == then->tv_nsec;
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
	enum { STEP = 16 << 20 }; // release pages on the way: a debug file may be huge
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
