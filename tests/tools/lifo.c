// SPDX-License-Identifier: MIT

/**
 * The allocator that is hardest on a recorder: what one thread frees, the next allocation of any
 * thread gets, at once. One stack of free blocks per power of two, shared by all threads, without
 * a lock, so that a signal handler may allocate at any moment, in the middle of malloc too. Memory
 * is never given back. Every realloc moves its block.
 *
 *   LD_PRELOAD=lifo.so PROGRAM
 *
 * A block is known by its distance from `base` in units of 16 bytes: 32 bits, next to a count that
 * changes with every push and pop, so that a compare-and-swap cannot be fooled by a block that
 * left and came back.
 */

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HOOK __attribute__((visibility("default")))

enum { N_CLASSES = 33, CLASS_MIN = 5 }; // of 32 bytes and up, the header included

// Before each block. `next` stays readable when the block has left the stack
struct header {
	_Atomic uint32_t next;
	uint8_t class, unused[3];
	uint64_t back; // of an aligned block: from here to the header of the block it lies in
};
_Static_assert(sizeof(struct header) == 16, "layout");

static const uint64_t reserve = 32ull << 30;
static _Atomic(char *) base;
static _Atomic uint64_t n_used = 16; // unit 0 names no block
static _Atomic uint64_t heads[N_CLASSES];

static char *start(void) {
	char *at = atomic_load(&base);
	if (!at) {
		char *fresh = mmap(NULL, reserve, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (fresh == MAP_FAILED) {
			return NULL;
		}
		if (atomic_compare_exchange_strong(&base, &at, fresh)) {
			return fresh;
		}
		munmap(fresh, reserve);
	}
	return at;
}

static struct header *header_at(uint32_t unit) {
	return (struct header *)(atomic_load(&base) + (uint64_t)unit * 16);
}

static uint32_t unit_of(const struct header *h) {
	return (uint32_t)(((const char *)h - atomic_load(&base)) / 16);
}

static uint64_t with_unit(uint64_t head, uint32_t unit) {
	return ((head >> 32) + 1) << 32 | unit;
}

static struct header *pop(unsigned class) {
	uint64_t head = atomic_load(&heads[class]);
	while ((uint32_t)head != 0) {
		struct header *h = header_at((uint32_t)head);
		uint64_t next = with_unit(head, atomic_load(&h->next));
		if (atomic_compare_exchange_weak(&heads[class], &head, next)) {
			return h;
		}
	}
	return NULL;
}

static void push(struct header *h) {
	uint64_t head = atomic_load(&heads[h->class]);
	do {
		atomic_store(&h->next, (uint32_t)head);
	} while (!atomic_compare_exchange_weak(&heads[h->class], &head, with_unit(head, unit_of(h))));
}

static struct header *fresh(unsigned class) {
	uint64_t size = 1ull << class;
	uint64_t at = atomic_fetch_add(&n_used, size);
	if (!start() || at + size > reserve) {
		return NULL;
	}
	struct header *h = (struct header *)(atomic_load(&base) + at);
	h->class = (uint8_t) class;
	return h;
}

static void *take(uint64_t size) {
	unsigned class = CLASS_MIN;
	while (class < N_CLASSES && (1ull << class) - sizeof(struct header) < size) {
		class ++;
	}
	if (class == N_CLASSES) {
		errno = ENOMEM;
		return NULL;
	}
	struct header *h = pop(class);
	h = h ? h : fresh(class);
	if (!h) {
		errno = ENOMEM;
		return NULL;
	}
	h->back = 0;
	return h + 1;
}

static struct header *header_of(void *ptr) {
	struct header *h = (struct header *)ptr - 1;
	return (struct header *)((char *)h - h->back);
}

static uint64_t room(void *ptr) {
	struct header *h = header_of(ptr);
	return (uint64_t)((char *)h + (1ull << h->class) - (char *)ptr);
}

HOOK void *malloc(size_t size) {
	return take(size);
}

HOOK void free(void *ptr) {
	if (ptr) {
		push(header_of(ptr));
	}
}

HOOK void *calloc(size_t n, size_t size) {
	size_t whole;
	if (__builtin_mul_overflow(n, size, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	void *ptr = take(whole);
	return ptr ? memset(ptr, 0, whole) : NULL;
}

HOOK void *realloc(void *ptr, size_t size) {
	if (ptr && size == 0) {
		free(ptr);
		return NULL;
	}
	void *moved = take(size);
	if (moved && ptr) {
		memcpy(moved, ptr, room(ptr) < size ? room(ptr) : size);
		free(ptr);
	}
	return moved;
}

HOOK void *memalign(size_t alignment, size_t size) {
	if (alignment <= 16) {
		return take(size);
	}
	char *ptr = take((uint64_t)size + alignment);
	if (!ptr) {
		return NULL;
	}
	char *aligned = (char *)(((uintptr_t)ptr + alignment - 1) & ~(uintptr_t)(alignment - 1));
	((struct header *)aligned - 1)->back = (uint64_t)(aligned - ptr);
	return aligned;
}

HOOK void *aligned_alloc(size_t alignment, size_t size) {
	return memalign(alignment, size);
}

HOOK int posix_memalign(void **at, size_t alignment, size_t size) {
	void *ptr = memalign(alignment, size);
	if (!ptr) {
		return ENOMEM;
	}
	*at = ptr;
	return 0;
}

HOOK void *valloc(size_t size) {
	return memalign(4096, size);
}

HOOK void *pvalloc(size_t size) {
	return memalign(4096, size);
}

HOOK void *reallocarray(void *ptr, size_t n, size_t size) {
	size_t whole;
	if (__builtin_mul_overflow(n, size, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(ptr, whole);
}

HOOK size_t malloc_usable_size(void *ptr) {
	return ptr ? room(ptr) : 0;
}
