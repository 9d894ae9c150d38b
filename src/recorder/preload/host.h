// SPDX-License-Identifier: MIT
#pragma once
/**
 * How the core reaches its thread's data and the loader in the preloaded recorder. inject/host.h
 * defines the same names; the build's include path picks one. Any thread, any signal handler.
 */

#include "machine.h"
#include "recorder/core/unwind/mapped_image.h"

struct thread_slot;

/** The thread's own words, in static thread-local storage, which is scarce. */
struct thread_words {
	struct thread_slot *slot; // NULL: none yet
	uint32_t n_refused;       // failed searches for a free slot
	uint32_t n_until_search;  // events to skip until the next search
};
extern _Thread_local struct thread_words thread_self
		__attribute__((tls_model("initial-exec"), visibility("hidden")));

/** The end of the stack of a thread other than the main one; 0: unknown. */
static inline uint64_t host_stack_end(void) {
	return machine_thread_pointer();
}

// glibc's loader's, under another name than in dlfcn.h, where its answer is another struct
int loader_find_object(void *pc, struct host_object *result) __asm__("_dl_find_object")
		__attribute__((weak));
extern void *__libc_stack_end __attribute__((weak)); // a variable of glibc's loader

/** Can the loader be asked without a lock (glibc 2.35)? */
static inline bool host_has_finder(void) {
	return &loader_find_object != NULL;
}

/** Ask it for the object that `pc` lies in. False: none. */
bool host_find_object(uint64_t pc, struct host_object *object);

/** An address in glibc's loader; 0: another C library. */
static inline uint64_t host_in_loader(void) {
	return &__libc_stack_end == NULL ? 0 : (uint64_t)&__libc_stack_end;
}

/** What to read if /proc/self/maps cannot be opened. */
static inline const char *host_maps(void) {
	return "";
}

/** Do we see the program's calls of prctl from its first instruction on? */
static inline bool host_sees_prctl(void) {
	return true;
}
