// SPDX-License-Identifier: MIT

/**
 * The second opinion: a library that counts what it is asked for and does nothing else. Preloaded
 * behind the recorder it sees the calls that the recorder passes on, so both must agree.
 *
 *   HEAP_COUNTER=/folder/name LD_PRELOAD=counter.so PROGRAM
 *
 * Each image of each process writes /folder/name.<pid>.<0, 1, ...>, a struct counts, mapped and
 * shared: it is right at any moment and outlives any death. A forked child counts nothing.
 *
 * The words are those of the product: a realloc that returns a block is a free and an allocation,
 * size 0 counts, failed calls are counted apart. Sizes of live blocks lie in a table by address,
 * two levels of pages and no lock, so that a signal handler may come at any moment.
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HOOK __attribute__((visibility("default")))

enum { N_STRIPES = 64 };

// All little endian and 64 bits wide: tests/e2e/counting.py reads it
struct stripe {
	_Atomic uint64_t allocations, allocated_bytes, frees, freed_bytes, failed, unknown_frees;
	uint64_t unused[2];
};
struct counts {
	_Atomic uint64_t live_bytes, peak_bytes;
	uint64_t unused[6];
	struct stripe stripes[N_STRIPES];
};
_Static_assert(sizeof(struct stripe) == 64 && sizeof(struct counts) == 65 * 64, "layout");

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} real;

static struct counts *counts;
static _Atomic bool *is_ours; // on a page that a fork finds zeroed
static _Atomic unsigned n_threads;
static __thread unsigned thread __attribute__((tls_model("initial-exec")));

// --- what serves calls while dlsym looks for the real ones

static _Alignas(4096) char early[64 << 10];
static size_t n_early;

static bool is_early(const void *ptr) {
	return (uintptr_t)ptr - (uintptr_t)early < sizeof early;
}

static void *early_malloc(size_t size) {
	size_t at = n_early;
	n_early += (size + 31) & ~(size_t)15;
	return n_early <= sizeof early ? early + at : NULL;
}

// --- sizes of live blocks by address: size + 1, or 0

enum { LEAF_BITS = 19, TOP_BITS = 25 }; // 8 bytes apart, up to 47 bits
typedef _Atomic uint64_t *leaf;
static _Atomic(leaf) *top;

static void *pages(size_t size) {
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static _Atomic uint64_t *size_at(const void *ptr) {
	uintptr_t granule = (uintptr_t)ptr >> 3;
	_Atomic(leaf) *place = &top[(granule >> LEAF_BITS) & ((1u << TOP_BITS) - 1)];
	leaf known = atomic_load(place);
	if (!known) {
		leaf fresh = pages(sizeof(uint64_t) << LEAF_BITS);
		if (atomic_compare_exchange_strong(place, &known, fresh)) {
			known = fresh;
		} else {
			munmap((void *)fresh, sizeof(uint64_t) << LEAF_BITS);
		}
	}
	return &known[granule & ((1u << LEAF_BITS) - 1)];
}

// --- the start

/** The value of HEAP_COUNTER as the kernel handed it over: libc's environ may not be there yet. */
static bool find_name(char *name, size_t size) {
	static const char variable[] = "HEAP_COUNTER=";
	int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	char byte;
	size_t n = 0;
	bool is_found = false;
	for (bool skips = false; fd >= 0 && !is_found && read(fd, &byte, 1) == 1;) {
		if (byte == '\0') {
			is_found = !skips && n >= sizeof variable;
			name[n] = '\0';
			n = is_found ? n : 0;
			skips = false;
		} else if (!skips && n + 1 < size) {
			name[n++] = byte;
			skips = n < sizeof variable && memcmp(name, variable, n) != 0;
		}
	}
	close(fd);
	if (is_found) {
		memmove(name, name + sizeof variable - 1, n + 2 - sizeof variable);
	}
	return is_found;
}

static int open_file(const char *name) {
	char path[4200];
	int fd = -1;
	for (int image = 0; fd < 0 && image < 100; image++) {
		snprintf(path, sizeof path, "%s.%d.%d", name, (int)getpid(), image);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	}
	return fd;
}

static void start_counting(void) {
	char name[4096];
	int fd = find_name(name, sizeof name) ? open_file(name) : -1;
	if (fd < 0 || ftruncate(fd, sizeof *counts) != 0) {
		return;
	}
	void *at = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	void *own = pages(4096);
	top = pages(sizeof *top << TOP_BITS);
	if (at != MAP_FAILED && own && top && madvise(own, 4096, MADV_WIPEONFORK) == 0) {
		counts = at;
		is_ours = own;
		atomic_store(is_ours, true);
	}
}

static bool is_starting;

#define FIND(name) real.name = (__typeof__(real.name))dlsym(RTLD_NEXT, #name)

/** False: within dlsym, nothing is known yet. */
static bool is_started(void) {
	if (__builtin_expect(real.malloc != NULL && !is_starting, 1)) {
		return true;
	}
	if (is_starting) {
		return false;
	}
	is_starting = true;
	int error = errno;
	FIND(calloc);
	FIND(realloc);
	FIND(free);
	FIND(posix_memalign);
	FIND(aligned_alloc);
	FIND(memalign);
	FIND(valloc);
	FIND(pvalloc);
	FIND(malloc);
	start_counting();
	errno = error;
	is_starting = false;
	return true;
}

// --- counting

static struct stripe *stripe(void) {
	if (thread == 0) {
		thread = 1 + atomic_fetch_add(&n_threads, 1) % N_STRIPES;
	}
	return &counts->stripes[thread - 1];
}

static bool counts_now(void) {
	return counts && atomic_load_explicit(is_ours, memory_order_relaxed);
}

static void begin_life(void *ptr, size_t size) {
	struct stripe *s = stripe();
	atomic_store(size_at(ptr), (uint64_t)size + 1);
	uint64_t live = atomic_fetch_add(&counts->live_bytes, size) + size;
	uint64_t peak = atomic_load(&counts->peak_bytes);
	while (live > peak && !atomic_compare_exchange_weak(&counts->peak_bytes, &peak, live)) {}
	atomic_fetch_add(&s->allocated_bytes, size);
	atomic_fetch_add(&s->allocations, 1);
}

/** What to say to end_life, or to take back. */
static uint64_t suspend_life(void *ptr) {
	uint64_t known = atomic_exchange(size_at(ptr), 0);
	atomic_fetch_sub(&counts->live_bytes, known ? known - 1 : 0);
	return known;
}

static void end_life(uint64_t known) {
	struct stripe *s = stripe();
	atomic_fetch_add(known ? &s->frees : &s->unknown_frees, 1);
	atomic_fetch_add(&s->freed_bytes, known ? known - 1 : 0);
}

static void resume_life(void *ptr, uint64_t known) {
	atomic_store(size_at(ptr), known);
	atomic_fetch_add(&counts->live_bytes, known ? known - 1 : 0);
	atomic_fetch_add(&stripe()->failed, 1);
}

static void *allocated(void *ptr, size_t size) {
	if (counts_now()) {
		if (ptr) {
			begin_life(ptr, size);
		} else {
			atomic_fetch_add(&stripe()->failed, 1);
		}
	}
	return ptr;
}

// --- the functions

HOOK void *malloc(size_t size) {
	return is_started() ? allocated(real.malloc(size), size) : early_malloc(size);
}

HOOK void *calloc(size_t n, size_t size) {
	size_t whole;
	bool fits = !__builtin_mul_overflow(n, size, &whole);
	return is_started() ? allocated(real.calloc(n, size), whole)
						: (fits ? early_malloc(whole) : NULL);
}

HOOK void free(void *ptr) {
	if (!ptr || is_early(ptr) || !is_started()) {
		return;
	}
	if (counts_now()) {
		end_life(suspend_life(ptr));
	}
	real.free(ptr);
}

static void *reallocate(void *ptr, size_t size) {
	uint64_t known = suspend_life(ptr);
	void *moved = real.realloc(ptr, size);
	if (moved) {
		end_life(known);
		begin_life(moved, size);
	} else if (size == 0) {
		end_life(known);
	} else {
		resume_life(ptr, known);
	}
	return moved;
}

HOOK void *realloc(void *ptr, size_t size) {
	if (!ptr) {
		return malloc(size);
	}
	if (is_early(ptr)) {
		void *moved = malloc(size);
		size_t rest = (size_t)(early + sizeof early - (char *)ptr);
		return moved ? memcpy(moved, ptr, size < rest ? size : rest) : NULL;
	}
	return is_started() && counts_now() ? reallocate(ptr, size) : real.realloc(ptr, size);
}

HOOK void *reallocarray(void *ptr, size_t n, size_t size) {
	size_t whole;
	if (__builtin_mul_overflow(n, size, &whole)) {
		errno = ENOMEM;
		return allocated(NULL, 0);
	}
	return realloc(ptr, whole);
}

HOOK int posix_memalign(void **at, size_t alignment, size_t size) {
	is_started();
	int error = real.posix_memalign(at, alignment, size);
	allocated(error ? NULL : *at, size);
	return error;
}

HOOK void *aligned_alloc(size_t alignment, size_t size) {
	return is_started() ? allocated(real.aligned_alloc(alignment, size), size) : NULL;
}

HOOK void *memalign(size_t alignment, size_t size) {
	return is_started() ? allocated(real.memalign(alignment, size), size) : NULL;
}

HOOK void *valloc(size_t size) {
	return is_started() ? allocated(real.valloc(size), size) : NULL;
}

HOOK void *pvalloc(size_t size) {
	return is_started() ? allocated(real.pvalloc(size), size) : NULL;
}
