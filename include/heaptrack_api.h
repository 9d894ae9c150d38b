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
 * Pools, arenas, zones: what hands back all its blocks at once.
 *
 *     heaptrack_report_pool_create(pool);              any address that is the pool's alone
 *     heaptrack_report_pool_alloc(pool, ptr, size);    a block in it
 *     heaptrack_report_pool_free(pool, ptr);           one block goes
 *     heaptrack_report_pool_destroy(pool);             all that are left go, and the pool
 *
 * Blocks that are reported here and those of malloc are different things, even at one address: the
 * chunk that an allocator gets from malloc counts besides the blocks that it makes of it.
 *
 *     heaptrack_report_thread_label("reader 3");       what this thread is called in the recording
 *
 *     heaptrack_report_mark("requests served");        this moment has a name: reports show what came
 *                                                      before and after (the first 1024 of a run)
 *     heaptrack_report_look("requests served");        the same, and what the memory consists of now; with
 *                                                      heaptrack --leaks, what points to live blocks. Waits
 *                                                      until the program has been copied for that
 *
 * A part of a run is recorded with
 *
 *     heaptrack_report_pause();      new blocks are not recorded, the ends of known ones are
 *     heaptrack_report_resume();
 *     heaptrack_report_stop();       the recording ends here for good
 *
 * and where the recorder is there but was not asked to record (LD_PRELOAD alone, or linked), a program can
 * begin by itself, once: what KDE calls a raw stream is in the file after heaptrack_report_stop(), or after
 * the program's end. "$$" in the name is the pid. Under `heaptrack` this does nothing.
 *
 *     heaptrack_report_start("/tmp/trace.$$");
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
void heaptrack_pool_create(void *pool) __attribute__((weak));
void heaptrack_pool_malloc(void *pool, void *ptr, size_t size) __attribute__((weak));
void heaptrack_pool_free(void *pool, void *ptr) __attribute__((weak));
void heaptrack_pool_destroy(void *pool) __attribute__((weak));
void heaptrack_thread_label(const char *label) __attribute__((weak));
void heaptrack_mark(const char *name) __attribute__((weak));
void heaptrack_look(const char *name) __attribute__((weak));
void heaptrack_start(const char *file) __attribute__((weak));
void heaptrack_pause(void) __attribute__((weak));
void heaptrack_resume(void) __attribute__((weak));
void heaptrack_stop(void) __attribute__((weak));

#ifdef HEAPTRACK_API_DLSYM

#include <dlfcn.h>

struct heaptrack_api {
	void (*malloc)(void *, size_t);
	void (*realloc)(void *, size_t, void *);
	void (*free)(void *);
	void (*pool_create)(void *);
	void (*pool_malloc)(void *, void *, size_t);
	void (*pool_free)(void *, void *);
	void (*pool_destroy)(void *);
	void (*thread_label)(const char *);
	void (*mark)(const char *);
	void (*look)(const char *);
	void (*start)(const char *);
	void (*pause)(void);
	void (*resume)(void);
	void (*stop)(void);
};

/* One per source file: no two files clash, whatever links them */
static inline const struct heaptrack_api *heaptrack_api_find(void) {
	static struct heaptrack_api api;
	static int is_found; /* two threads may both look: they find the same */
	if (!__atomic_load_n(&is_found, __ATOMIC_ACQUIRE)) {
		*(void **)&api.malloc = dlsym(RTLD_DEFAULT, "heaptrack_malloc");
		*(void **)&api.realloc = dlsym(RTLD_DEFAULT, "heaptrack_realloc");
		*(void **)&api.free = dlsym(RTLD_DEFAULT, "heaptrack_free");
		*(void **)&api.pool_create = dlsym(RTLD_DEFAULT, "heaptrack_pool_create");
		*(void **)&api.pool_malloc = dlsym(RTLD_DEFAULT, "heaptrack_pool_malloc");
		*(void **)&api.pool_free = dlsym(RTLD_DEFAULT, "heaptrack_pool_free");
		*(void **)&api.pool_destroy = dlsym(RTLD_DEFAULT, "heaptrack_pool_destroy");
		*(void **)&api.thread_label = dlsym(RTLD_DEFAULT, "heaptrack_thread_label");
		*(void **)&api.mark = dlsym(RTLD_DEFAULT, "heaptrack_mark");
		*(void **)&api.look = dlsym(RTLD_DEFAULT, "heaptrack_look");
		*(void **)&api.start = dlsym(RTLD_DEFAULT, "heaptrack_start");
		*(void **)&api.pause = dlsym(RTLD_DEFAULT, "heaptrack_pause");
		*(void **)&api.resume = dlsym(RTLD_DEFAULT, "heaptrack_resume");
		*(void **)&api.stop = dlsym(RTLD_DEFAULT, "heaptrack_stop");
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

#define HEAPTRACK_REPORT(name, arguments)       \
	do {                                        \
		if (HEAPTRACK_FUNCTION(name)) {         \
			HEAPTRACK_FUNCTION(name) arguments; \
		}                                       \
	} while (0)

/* A recorder that knows no pools is told of the blocks all the same */
#define HEAPTRACK_REPORT_EITHER(name, arguments, other, other_arguments) \
	do {                                                                 \
		if (HEAPTRACK_FUNCTION(name)) {                                  \
			HEAPTRACK_FUNCTION(name) arguments;                          \
		} else if (HEAPTRACK_FUNCTION(other)) {                          \
			HEAPTRACK_FUNCTION(other) other_arguments;                   \
		}                                                                \
	} while (0)

#define heaptrack_report_alloc(ptr, size)        HEAPTRACK_REPORT(malloc, (ptr, size))
#define heaptrack_report_realloc(from, size, to) HEAPTRACK_REPORT(realloc, (from, size, to))
#define heaptrack_report_free(ptr)               HEAPTRACK_REPORT(free, (ptr))

#define heaptrack_report_pool_create(pool)  HEAPTRACK_REPORT(pool_create, (pool))
#define heaptrack_report_pool_destroy(pool) HEAPTRACK_REPORT(pool_destroy, (pool))
#define heaptrack_report_pool_alloc(pool, ptr, size) \
	HEAPTRACK_REPORT_EITHER(pool_malloc, (pool, ptr, size), malloc, (ptr, size))
#define heaptrack_report_pool_free(pool, ptr) \
	HEAPTRACK_REPORT_EITHER(pool_free, (pool, ptr), free, (ptr))

#define heaptrack_report_thread_label(label) HEAPTRACK_REPORT(thread_label, (label))
#define heaptrack_report_mark(name)          HEAPTRACK_REPORT(mark, (name))
#define heaptrack_report_look(name)          HEAPTRACK_REPORT(look, (name))
#define heaptrack_report_start(file)         HEAPTRACK_REPORT(start, (file))
#define heaptrack_report_pause()             HEAPTRACK_REPORT(pause, ())
#define heaptrack_report_resume()            HEAPTRACK_REPORT(resume, ())
#define heaptrack_report_stop()              HEAPTRACK_REPORT(stop, ())

#ifdef HEAPTRACK_DEFINE_VALGRIND_MACROS

#define VALGRIND_CREATE_MEMPOOL(pool, redzone, is_zeroed) heaptrack_report_pool_create(pool)
#define VALGRIND_DESTROY_MEMPOOL(pool)                    heaptrack_report_pool_destroy(pool)
#define VALGRIND_MEMPOOL_ALLOC(pool, ptr, size)           heaptrack_report_pool_alloc(pool, ptr, size)
#define VALGRIND_MEMPOOL_FREE(pool, ptr)                  heaptrack_report_pool_free(pool, ptr)

#define VALGRIND_MAKE_MEM_NOACCESS(ptr, size)  ((void)0)
#define VALGRIND_MAKE_MEM_UNDEFINED(ptr, size) ((void)0)
#define VALGRIND_DISABLE_ERROR_REPORTING       ((void)0)
#define VALGRIND_ENABLE_ERROR_REPORTING        ((void)0)

#endif

#ifdef __cplusplus
}
#endif

#endif
