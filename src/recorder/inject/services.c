// SPDX-License-Identifier: MIT
/* What the core needs from the process that the recorder was put into, and its table of threads. */
#include "host.h"
#include "recorder/core/switch.h"

struct resident *inject_resident;

enum segment_role host_open_segment(void) {
	own_begin(OWN_LENT, inject_resident->mappings, RESIDENT_MAPPINGS);
	return inject_resident->token[0] != '\0' ? segment_ask(inject_resident->token)
											 : segment_adopt(inject_resident->fd);
}

uint64_t host_clock_ns(void) {
	struct timespec t = {0};
	if (inject_resident->clock != 0 && !atomic_load(&segment.has_no_clock)) {
		(void)inject_call(inject_resident->clock, CLOCK_MONOTONIC, (uint64_t)&t);
	} else {
		(void)syscall_2(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&t);
	}
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t host_main_stack_end(void) {
	return inject_resident->stack_end;
}

// ---- threads, by open addressing, in place of thread-local storage

struct thread_words inject_threads[1 << RESIDENT_THREADS_LOG2];
uint32_t inject_has_tids;

/** For threads without a place in the table: never gets a slot, so their events count as lost. */
static struct thread_words nobody = {.n_until_search = UINT32_MAX};

/** The offset of the thread's id in the C library's data (glibc, musl). 0: at neither place. */
static uint32_t place_of_tid(uint64_t fs_base, uint32_t tid) {
	static const uint16_t places[] = {0x2d0, 0x30};
	for (unsigned i = 0; fs_base != 0 && i < sizeof places / sizeof *places; i++) {
		uint64_t at = fs_base + places[i];
		if (sys_is_readable(at & ~7ull) && *(const volatile uint32_t *)at == tid) {
			return places[i];
		}
	}
	return 0;
}

/** The place of `key`, taken now if it is new. NULL: none. */
static struct thread_words *place_of(uint64_t key) {
	for (unsigned i = 0; i < RESIDENT_THREAD_PROBES; i++) {
		unsigned at = (resident_thread_place(key) + i) & ((1u << RESIDENT_THREADS_LOG2) - 1);
		struct thread_words *t = &inject_threads[at];
		uint64_t seen = atomic_load(&t->key);
		if (seen == key || (seen == 0 && atomic_compare_exchange_strong(&t->key, &seen, key)) ||
				seen == key) {
			return t;
		}
	}
	return NULL;
}

struct thread_words *inject_find_thread(uint64_t fs_base) {
	if (!segment_may_call_system()) {
		return &nobody;
	}
	uint32_t tid = (uint32_t)syscall_0(__NR_gettid);
	uint32_t tid_at = place_of_tid(fs_base, tid);
	// A child of vfork has its parent's FS base, with its parent's id
	inject_has_tids |= tid_at == 0;
	struct thread_words *t = place_of(tid_at != 0 ? fs_base : RESIDENT_KEY_IS_TID | tid);
	if (t == NULL) {
		return &nobody;
	}
	if (t->tid != tid) { // new, or its last thread has ended
		t->slot = NULL;
		t->n_refused = 0;
		t->n_until_search = 0;
		t->tid_at = tid_at;
		atomic_signal_fence(memory_order_seq_cst);
		t->tid = tid;
	}
	return t;
}
