// SPDX-License-Identifier: MIT

/*
 * The injection door. Whoever puts the recorder into a process calls inject_begin once, on a
 * stack of our own, and then patches the beginnings of allocation functions: they jump to an
 * island near them, which jumps to inject_stub (arch/<machine>/stubs.S), which calls
 *
 *     inject_enter ─► the real function, by its moved beginning ─► inject_leave
 *
 * with every register as the caller and the real function have left it. Calls that are most of all have
 * shorter ways, in usual.c.
 */

#include "recorder/inject/inject.h"

#include "recorder/core/hook/hook.h"
#include "recorder/core/sys.h"

#include <time.h>

struct resident *inject_resident;
struct thread_words inject_threads[1 << RESIDENT_THREADS_LOG2];
uint32_t inject_has_tids;
struct resident_range inject_thread_caches[RESIDENT_THREAD_CACHES];

/** For threads that find no place in the table: never gets a slot, their events count as lost. */
static struct thread_words nobody = {.n_until_search = UINT32_MAX};

// ---- threads

/** Where the C library keeps the thread's id: glibc, musl. 0: in neither place. */
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

/** The place of `key`, taken now if it is new. NULL: there is none. */
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
	if (!door_may_call_system()) {
		return &nobody;
	}
	uint32_t tid = (uint32_t)syscall_0(__NR_gettid);
	uint32_t tid_at = place_of_tid(fs_base, tid);
	// A child of vfork runs with its parent's FS base, where its parent's id stands
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

// ---- what the core needs of the process

static enum segment_role open_segment(void) {
	return segment_adopt(inject_resident->fd);
}

static uint64_t clock_ns(void) {
	struct timespec t = {0};
	if (inject_resident->clock != 0 && !atomic_load(&segment.has_no_clock)) {
		(void)inject_call(inject_resident->clock, CLOCK_MONOTONIC, (uint64_t)&t);
	} else {
		(void)syscall_2(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&t);
	}
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t stack_end(void) {
	return inject_resident->stack_end;
}

const struct door_services door_services = {
		.open_segment = open_segment,
		.clock_ns = clock_ns,
		.stack_end = stack_end,
};

void host_mapped(void *at, size_t bytes) {
	struct resident_range *ranges = inject_resident->mappings;
	for (unsigned i = 0; i < RESIDENT_MAPPINGS; i++) {
		uint64_t none = 0;
		if (__atomic_compare_exchange_n(&ranges[i].bytes, &none, bytes, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED)) {
			ranges[i].at = (uint64_t)at;
			return;
		}
	}
}

/** Whole, or the end of one. */
void host_unmapped(void *at, size_t bytes) {
	struct resident_range *ranges = inject_resident->mappings;
	for (unsigned i = 0; i < RESIDENT_MAPPINGS; i++) {
		uint64_t end = ranges[i].at + ranges[i].bytes;
		if (ranges[i].bytes != 0 && (uint64_t)at >= ranges[i].at && (uint64_t)at < end &&
				(uint64_t)at + bytes >= end) {
			ranges[i].bytes = (uint64_t)at - ranges[i].at;
			return;
		}
	}
}

__attribute__((visibility("default"))) long inject_begin(struct resident *resident) {
	inject_resident = resident;
	for (unsigned i = 0; i < RESIDENT_THREAD_CACHES; i++) {
		inject_thread_caches[i] = resident->thread_caches[i];
	}
	bool is_open = door_find_out();
	if (is_open) {
		capture_register_frames((const void *)resident->frames_at);
		for (unsigned i = 0; i < RESIDENT_TABLES; i++) {
			capture_register_frames((const void *)resident->tables[i]); // passes 0 by
		}
		resident->header_at = (uint64_t)segment.header;
	}
	return is_open;
}

// ---- hooks

static inline uint64_t size_of(const struct inject_frame *f, const struct resident_hook *what) {
	uint64_t size = f->arguments[what->size];
	uint64_t bytes;
	if (what->times == RESIDENT_NO_REGISTER) {
		return size;
	}
	return __builtin_mul_overflow(size, f->arguments[what->times], &bytes) ? SIZE_MAX : bytes;
}

_Static_assert(offsetof(struct inject_frame, arguments) == INJECT_RDI &&
				offsetof(struct inject_frame, rax) == INJECT_RAX &&
				offsetof(struct inject_frame, r11) == INJECT_R11 &&
				offsetof(struct inject_frame, what) == INJECT_WHAT &&
				offsetof(struct resident_hook, called) == INJECT_CALLED &&
				sizeof(struct inject_frame) % 16 == 0,
		"as layout.h has it; the real function finds the stack aligned as its caller aligned it");

/** Each kind of call has a way in of its own, so that the two that matter keep few registers. */
static inline __attribute__((always_inline)) bool begin(struct inject_frame *f,
		const struct thread_words *self, enum inject_kind kind, bool wants_stack) {
	const struct capture_regs caller = {.pc = f->pc, .sp = (uint64_t)(f + 1), .bp = f->bp};
	bool is_recorded = hook_enter_as(self, &f->hook, caller, wants_stack);
	f->kind = is_recorded ? (uint32_t)kind : INJECT_PASSES;
	return is_recorded;
}

static void enter_allocation(struct inject_frame *f, const struct thread_words *self) {
	f->size = f->what->size == RESIDENT_TEXT ? 0 : size_of(f, f->what);
	(void)begin(f, self, INJECT_ALLOCATES, true);
}

static void enter_free(struct inject_frame *f, struct thread_words *self) {
	uint64_t pointer = f->arguments[f->what->ptr];
	const void *block = (const void *)(pointer - f->what->behind);
	if (pointer == 0 || inject_is_thread_cache(f->pc)) {
		f->kind = INJECT_PASSES;
		return;
	}
	if (self->last_block == (uint64_t)block) {
		self->last_block = 0;
	}
	if (begin(f, self, INJECT_FREES, hook_wants_free_stacks())) {
		if (__builtin_expect(capture_is_loader(f->pc), 0)) {
			capture_modules_changed();
		}
		hook_free(&f->hook, block);
	}
}

/** Nothing is begun: what it calls is recorded as if it were not hooked. */
static void enter_allocation_within(struct inject_frame *f, struct thread_words *self) {
	f->size = f->what->size == RESIDENT_NIM_STRING ? 0 : size_of(f, f->what);
	f->kind = INJECT_ALLOCATES_WITHIN;
	self->last_block = 0;
}

static void enter_other(struct inject_frame *f, const struct thread_words *self) {
	f->ptr = f->arguments[f->what->ptr];
	f->size = size_of(f, f->what);
	if (f->what->what == RESIDENT_REALLOCATES_AT) {
		f->ptr = *(const uint64_t *)f->ptr;
	}
	enum inject_kind kind = f->what->what == RESIDENT_ALLOCATES_AT ? INJECT_ALLOCATES_AT
			: f->ptr == 0                                          ? INJECT_ALLOCATES
			: f->size == 0                                         ? INJECT_FREES_BY_REALLOC
																   : INJECT_MOVES;
	if (!begin(f, self, kind, true)) {
		return;
	}
	if (kind == INJECT_FREES_BY_REALLOC) {
		hook_free(&f->hook, (const void *)f->ptr);
	} else if (kind == INJECT_MOVES) {
		hook_realloc(&f->hook, (const void *)f->ptr);
	}
}

/**
 * From the first line of ours that depends on our data to the last, `inside` says so: whoever stops
 * all threads and finds it 0 may make the data anew. What comes before and after only reads what stays.
 */
void inject_enter(struct inject_frame *f) {
	if (inject_resident == NULL ||
			atomic_load_explicit(&door_page.word, memory_order_relaxed) == DOOR_CLOSED) {
		f->self = NULL;
		return;
	}
	struct thread_words *self = inject_thread();
	machine_local_bump(&self->inside, 1);
	f->self = self;
	switch (f->what->what) {
	case RESIDENT_ALLOCATES:
	case RESIDENT_ALLOCATES_OR_THROWS: enter_allocation(f, self); break;
	case RESIDENT_FREES: enter_free(f, self); break;
	case RESIDENT_ALLOCATES_WITHIN: enter_allocation_within(f, self); break;
	case RESIDENT_CONFINES:
		segment_note_prctl((int)f->arguments[f->what->ptr], f->arguments[f->what->size]);
		f->kind = INJECT_PASSES;
		break;
	default: enter_other(f, self); break;
	}
}

/** The block that a call that moves one has answered with. NULL: it failed. */
static const void *moved_block(const struct inject_frame *f) {
	if (f->what->what != RESIDENT_REALLOCATES_AT) {
		return (const void *)f->rax;
	}
	return (int)f->rax == 0 ? *(void *const *)f->arguments[f->what->ptr] : NULL;
}

static void leave_other(struct inject_frame *f) {
	const void *result = moved_block(f);
	switch (f->kind) {
	case INJECT_ALLOCATES_AT:
		hook_allocated(&f->hook, (int)f->rax == 0 ? *(void *const *)f->ptr : NULL, f->size);
		break;
	case INJECT_MOVES: hook_realloc_answer(&f->hook, (const void *)f->ptr, result, f->size); break;
	case INJECT_FREES_BY_REALLOC:
		if (result != NULL) {
			hook_allocated(&f->hook, result, 0);
		}
		break;
	default: break;
	}
}

/** The whole string, its zero at the end included: struct { int64_t len, reserved; char text[]; }. */
static uint64_t size_of_nim_string(uint64_t string) {
	return sizeof(uint64_t[2]) + ((const uint64_t *)string)[1] + 1;
}

/** The hook is as short as can be, since the call has been recorded in parts already. */
static void record_within(struct inject_frame *f) {
	uint64_t block = f->rax - f->what->behind;
	if (f->rax == 0 || f->self->last_block == block || inject_is_late(f)) {
		return;
	}
	uint64_t size = f->what->size == RESIDENT_NIM_STRING ? size_of_nim_string(f->rax) : f->size;
	if (!begin(f, f->self, INJECT_ALLOCATES_WITHIN, true)) {
		return;
	}
	if (!inject_is_late(f)) { // it may have waited for room
		hook_allocated(&f->hook, (const void *)block, size + f->what->behind);
		f->self->last_block = block;
	}
	hook_leave(&f->hook);
}

static void record_answer(struct inject_frame *f) {
	if (f->kind == INJECT_ALLOCATES_WITHIN) {
		record_within(f);
		machine_local_bump(&f->self->inside, UINT64_MAX);
		return;
	}
	if (__builtin_expect(f->kind != INJECT_FREES && inject_is_late(f), 0)) {
		if (f->kind == INJECT_MOVES) {
			hook_realloc_unanswered(&f->hook, (const void *)f->ptr);
		}
	} else if (f->kind == INJECT_ALLOCATES) {
		const void *block = moved_block(f);
		bool is_text = f->what->size == RESIDENT_TEXT && block != NULL;
		hook_allocated(&f->hook, block, is_text ? sys_text_length(block) + 1 : f->size);
		f->self->last_block = (uint64_t)block;
	} else if (f->kind != INJECT_FREES) {
		leave_other(f);
	}
	if (f->kind != INJECT_PASSES) {
		hook_leave(&f->hook);
	}
	machine_local_bump(&f->self->inside, UINT64_MAX);
}

bool inject_leave(struct inject_frame *f) {
	if (f->self != NULL) {
		record_answer(f);
	}
	bool may_throw = f->what->what == RESIDENT_ALLOCATES_OR_THROWS ||
			f->what->what == RESIDENT_REALLOCATES_OR_THROWS;
	bool shall_throw = f->rax == 0 && may_throw;
	if (__builtin_expect(shall_throw, 0)) {
		f->goes_on_at = f->what->moved;
	}
	return shall_throw;
}
