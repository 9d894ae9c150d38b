// SPDX-License-Identifier: MIT
#ifndef HEAPTRACK_API_H
#define HEAPTRACK_API_H

/*
 * For programs with allocators of their own: tell heaptrack about the blocks that they hand out.
 *
 *     heaptrack_report_alloc(ptr, size);               a block of `size` bytes exists at `ptr`
 *     heaptrack_report_realloc(from, size, to);        it has been resized, and may have moved
 *     heaptrack_report_free(ptr);                      it is about to be handed back
 *
 * Report a free before the block can be handed out again, an allocation after. Without heaptrack
 * each is a test of a pointer. Nothing is to be linked: the functions are weak, and the recorder
 * defines them when it is there.
 *
 * Where weak symbols do not do (main programs that are linked statically or without -rdynamic's
 * kin), define HEAPTRACK_API_DLSYM before including this header, in any number of source files:
 * the functions are then looked up at their first use.
 *
 * HEAPTRACK_DEFINE_VALGRIND_MACROS gives valgrind's names for pools the same meaning, so that
 * code with such annotations needs none of its own.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void heaptrack_malloc(void *ptr, size_t size) __attribute__((weak));
void heaptrack_realloc(void *from, size_t size, void *to) __attribute__((weak));
void heaptrack_free(void *ptr) __attribute__((weak));

#ifdef HEAPTRACK_API_DLSYM

#include <dlfcn.h>

struct heaptrack_api {
	void (*malloc)(void *, size_t);
	void (*realloc)(void *, size_t, void *);
	void (*free)(void *);
};

/* One per source file: no two files clash, whatever links them */
static inline const struct heaptrack_api *heaptrack_api_find(void) {
	static struct heaptrack_api api;
	static int is_found; /* two threads may both look: they find the same */
	if (!__atomic_load_n(&is_found, __ATOMIC_ACQUIRE)) {
		*(void **)&api.malloc = dlsym(RTLD_DEFAULT, "heaptrack_malloc");
		*(void **)&api.realloc = dlsym(RTLD_DEFAULT, "heaptrack_realloc");
		*(void **)&api.free = dlsym(RTLD_DEFAULT, "heaptrack_free");
		__atomic_store_n(&is_found, 1, __ATOMIC_RELEASE);
	}
	return &api;
}

/* Code written for the classic header may call this; nothing needs to */
static inline void heaptrack_init_api(void) {
	(void)heaptrack_api_find();
}

#define HEAPTRACK_FUNCTION(name) (heaptrack_api_find()->name)

#else

#define HEAPTRACK_FUNCTION(name) heaptrack_##name

#endif

#define heaptrack_report_alloc(ptr, size)          \
	do {                                           \
		if (HEAPTRACK_FUNCTION(malloc)) {          \
			HEAPTRACK_FUNCTION(malloc)(ptr, size); \
		}                                          \
	} while (0)

#define heaptrack_report_realloc(from, size, to)         \
	do {                                                 \
		if (HEAPTRACK_FUNCTION(realloc)) {               \
			HEAPTRACK_FUNCTION(realloc)(from, size, to); \
		}                                                \
	} while (0)

#define heaptrack_report_free(ptr)         \
	do {                                   \
		if (HEAPTRACK_FUNCTION(free)) {    \
			HEAPTRACK_FUNCTION(free)(ptr); \
		}                                  \
	} while (0)

#ifdef HEAPTRACK_DEFINE_VALGRIND_MACROS

#define VALGRIND_MEMPOOL_ALLOC(pool, ptr, size) heaptrack_report_alloc(ptr, size)
#define VALGRIND_MEMPOOL_FREE(pool, ptr)        heaptrack_report_free(ptr)

#define VALGRIND_CREATE_MEMPOOL(pool, redzone, is_zeroed) ((void)0)
#define VALGRIND_DESTROY_MEMPOOL(pool)                    ((void)0)
#define VALGRIND_MAKE_MEM_NOACCESS(ptr, size)             ((void)0)
#define VALGRIND_MAKE_MEM_UNDEFINED(ptr, size)            ((void)0)
#define VALGRIND_DISABLE_ERROR_REPORTING                  ((void)0)
#define VALGRIND_ENABLE_ERROR_REPORTING                   ((void)0)

#endif

#ifdef __cplusplus
}
#endif

#endif
