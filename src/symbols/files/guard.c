// SPDX-License-Identifier: MIT
/*
 * Answers SIGBUS in guarded ranges with pages of zeros.
 *
 * The handler may run in any thread at any time, so the ranges are a fixed table of atomics: `end`
 * is written last when a range is added and cleared first when it goes, and the handler reads it
 * first (release in add, acquire in the handler).
 */
#include "symbols/files/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANGES_MAX = 4096 };

static struct {
	_Atomic uintptr_t start, end; // end 0: the slot is free
} ranges[RANGES_MAX];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of add and remove
static struct sigaction before;
static uintptr_t page_bytes;

static bool is_guarded(uintptr_t address) {
	for (size_t i = 0; i < RANGES_MAX; i++) {
		uintptr_t end = atomic_load_explicit(&ranges[i].end, memory_order_acquire);
		if (address < end &&
				address >= atomic_load_explicit(&ranges[i].start, memory_order_relaxed)) {
			return true;
		}
	}
	return false;
}

static void on_sigbus(int signal, siginfo_t *info, void *context) {
	(void)signal;
	(void)context;
	uintptr_t page = (uintptr_t)info->si_addr & ~(page_bytes - 1);
	if (is_guarded((uintptr_t)info->si_addr) &&
			mmap((void *)page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
					0) != MAP_FAILED) {
		return;
	}
	// Not ours: as it was, and the instruction faults again
	sigaction(SIGBUS, &before, NULL);
}

/** Asked for with each range: somebody else may have taken the handler since. */
static void install(void) {
	struct sigaction now, action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction != on_sigbus) {
		(void)sigaction(SIGBUS, &action, &before);
	}
}

bool guard_add(const void *start, size_t bytes) {
	bool ok = false;
	pthread_mutex_lock(&lock);
	install();
	for (size_t i = 0; !ok && i < RANGES_MAX; i++) {
		if (!atomic_load_explicit(&ranges[i].end, memory_order_relaxed)) {
			atomic_store_explicit(&ranges[i].start, (uintptr_t)start, memory_order_relaxed);
			atomic_store_explicit(&ranges[i].end, (uintptr_t)start + bytes, memory_order_release);
			ok = true;
		}
	}
	pthread_mutex_unlock(&lock);
	return ok;
}

void guard_remove(const void *start) {
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < RANGES_MAX; i++) {
		if (atomic_load_explicit(&ranges[i].end, memory_order_relaxed) &&
				atomic_load_explicit(&ranges[i].start, memory_order_relaxed) == (uintptr_t)start) {
			atomic_store_explicit(&ranges[i].end, 0, memory_order_release);
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}
