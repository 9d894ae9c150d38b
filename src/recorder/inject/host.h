// SPDX-License-Identifier: MIT
#pragma once
/**
 * How the core reaches its thread's data and the loader in the injected recorder. Defines the names
 * of preload/host.h for a recorder put into a running or static process, without thread-local
 * storage and nothing to link with. A thread is known by its FS base or its id.
 */

#include "machine.h"
#include "recorder/core/attr.h"
#include "recorder/core/unwind/mapped_image.h"
#include "wire/resident.h"

#define thread_words resident_thread

extern struct thread_words inject_threads[1 << RESIDENT_THREADS_LOG2]
		__attribute__((visibility("default"), aligned(64)));

/** Not 0 if some threads are known by ids. */
extern uint32_t inject_has_tids __attribute__((visibility("default")));

/** What the injector wrote down for us. */
extern struct resident *inject_resident __attribute__((visibility("default")));

struct thread_words *inject_find_thread(uint64_t fs_base);

/**
 * The calling thread, if it is at its first place in the table. NULL: inject_thread() finds it. FS
 * bases are reused after a thread's end; the thread id that the C library stores near the FS base
 * tells without a system call whether it is the same thread.
 */
static inline struct thread_words *inject_known_thread(void) {
	uint64_t fs_base = machine_fs_base();
	struct thread_words *t = &inject_threads[resident_thread_place(fs_base)];
	bool is_it = atomic_load_explicit(&t->key, memory_order_relaxed) == fs_base && t->tid_at != 0 &&
			*(const volatile uint32_t *)(fs_base + t->tid_at) == t->tid;
	return likely(is_it) ? t : NULL;
}

static inline struct thread_words *inject_thread(void) {
	struct thread_words *t = inject_known_thread();
	return likely(t != NULL) ? t : inject_find_thread(machine_fs_base());
}
#define thread_self (*inject_thread())

static inline bool host_sees_prctl(void) {
	return false; // it may have been called before
}

static inline uint64_t host_stack_end(void) {
	return machine_fs_base();
}

/** Call a function of the process that may use vector registers, preserving them. */
long inject_call(uint64_t function, uint64_t a, uint64_t b);

static inline bool host_has_finder(void) {
	return inject_resident->find_object != 0;
}

static inline bool host_find_object(uint64_t pc, struct host_object *object) {
	return (int)inject_call(inject_resident->find_object, pc, (uint64_t)object) == 0;
}

static inline uint64_t host_in_loader(void) {
	return inject_resident->in_loader;
}

/** What /proc/self/maps said of mapped files when we came. */
static inline const char *host_maps(void) {
	return inject_resident->maps;
}
