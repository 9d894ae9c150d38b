// SPDX-License-Identifier: MIT
/*
 * The hooks of patched functions.
 *
 * The injector patches the beginnings of allocation functions: they jump to an island near them,
 * which jumps to inject_stub (arch/<machine>/stubs.S), which calls
 *
 *     inject_enter ─► the real function, by its moved beginning ─► inject_leave
 *
 * with every register as the caller and the real function have left it. malloc and free have
 * shorter stubs and shorter hooks, in fast_hooks.c.
 */
#include "recorder/inject/inject.h"

#include "recorder/core/awaiting.h"
#include "recorder/core/errand.h"
#include "recorder/core/hook/mapping.h"
#include "recorder/core/unwind/runtimes.h"

struct resident_range inject_thread_caches[RESIDENT_THREAD_CACHES];

__attribute__((visibility("default"))) long inject_begin(struct resident *resident) {
	inject_resident = resident;
	for (unsigned i = 0; i < RESIDENT_THREAD_CACHES; i++) {
		inject_thread_caches[i] = resident->thread_caches[i];
	}
	bool is_open = switch_find_out();
	if (is_open) {
		own_note(OWN_TOLD, (const void *)resident->at, resident->bytes);
		registered_add((const void *)resident->frames_at);
		for (unsigned i = 0; i < RESIDENT_TABLES; i++) {
			registered_add((const void *)resident->tables[i]); // ignores 0
		}
		resident->header_at = (uint64_t)segment.header;
		errand_offer((const void *)(resident->at + RESIDENT_ERRAND_AT));
		runtimes_look(); // while no other thread runs
	}
	return is_open;
}

// ---- hooks

static inline uint64_t size_of(const struct inject_frame *f, const struct resident_hook *what) {
	uint64_t size = f->arguments[what->size];
	uint64_t bytes;
	return what->times == RESIDENT_NO_REGISTER                                ? size
			: __builtin_mul_overflow(size, f->arguments[what->times], &bytes) ? SIZE_MAX
																			  : bytes;
}

_Static_assert(offsetof(struct inject_frame, arguments) == INJECT_RDI &&
				offsetof(struct inject_frame, rax) == INJECT_RAX &&
				offsetof(struct inject_frame, r11) == INJECT_R11 &&
				offsetof(struct inject_frame, what) == INJECT_WHAT &&
				offsetof(struct resident_hook, called) == INJECT_CALLED &&
				sizeof(struct inject_frame) % 16 == 0,
		"as layout.h has it; the real function finds the stack aligned as its caller aligned it");

/** Inlined into the function of each kind of call, so that frequent ones save few registers. */
INLINE bool begin(struct inject_frame *f, const struct thread_words *self, enum inject_kind kind,
		bool wants_stack) {
	const struct capture_regs caller = {.pc = f->pc, .sp = (uint64_t)(f + 1), .bp = f->bp};
	bool is_recorded = hook_enter_as(self, &f->hook, caller, wants_stack, NULL);
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
		if (unlikely(module_is_loader(f->pc))) {
			capture_modules_changed();
		}
		hook_free(&f->hook, block);
	}
}

/** Begins no hook: what the function calls is recorded as if it were not hooked. */
static void enter_allocation_within(struct inject_frame *f, struct thread_words *self) {
	f->size = f->what->size == RESIDENT_NIM_STRING ? 0 : size_of(f, f->what);
	f->kind = INJECT_ALLOCATES_WITHIN;
	self->last_block = 0;
}

static void enter_other(struct inject_frame *f, const struct thread_words *self) {
	bool resizes = f->what->what != RESIDENT_ALLOCATES_AT;
	f->ptr = f->arguments[f->what->ptr];
	f->size = size_of(f, f->what);
	if (f->what->what == RESIDENT_REALLOCATES_AT) {
		f->ptr = *(const uint64_t *)f->ptr;
	}
	if (begin(f, self, resizes ? INJECT_RESIZES : INJECT_ALLOCATES_AT, true) && resizes) {
		hook_resize(&f->hook, (const void *)f->ptr, f->size);
	}
}

static inline enum resident_what mapping_does(const struct inject_frame *f) {
	return f->what->what == RESIDENT_CALLS ? mapping_of_call((long)f->arguments[0]) : f->what->what;
}

struct mapping_arguments {
	uint64_t values[MAPPING_ARGUMENTS];
};

/** `size` is rdx, after the call the real function's; `ptr`: where the heap ended. */
static struct mapping_arguments mapping_arguments(const struct inject_frame *f) {
	const uint64_t *a = f->arguments;
	return f->what->what == RESIDENT_CALLS
			? (struct mapping_arguments){{a[1], f->size, a[3], a[4], a[5]}}
			: f->what->what == RESIDENT_BREAKS
			? (struct mapping_arguments){{f->ptr}}
			: (struct mapping_arguments){{a[0], a[1], f->size, a[3], a[4]}};
}

static void enter_mapping(struct inject_frame *f, const struct thread_words *self) {
	const struct capture_regs caller = {.pc = f->pc, .sp = (uint64_t)(f + 1), .bp = f->bp};
	f->size = f->arguments[2];
	f->ptr = f->what->what == RESIDENT_BREAKS ? mapping_break() : 0;
	const struct mapping_arguments a = mapping_arguments(f);
	f->how = mapping_enter(self, &f->hook, caller, mapping_does(f), a.values);
	f->kind = f->how == MAPPING_PASSES ? INJECT_PASSES : INJECT_MAPS;
}

/** If it is late, a range that would have moved counts as unchanged. */
static void leave_mapping(struct inject_frame *f) {
	bool is_late = inject_is_late(f);
	enum resident_what does = mapping_does(f);
	if (is_late && does != RESIDENT_REMAPS) {
		hook_leave(&f->hook);
		return;
	}
	const struct mapping_arguments a = mapping_arguments(f);
	mapping_leave(&f->hook, (enum mapping_how)f->how, does, a.values,
			is_late ? UINT64_MAX : f->rax);
}

static bool is_exec(const struct inject_frame *f) {
	return f->what->what == RESIDENT_EXECS ||
			(f->what->what == RESIDENT_CALLS && segment_is_exec((long)f->arguments[0]));
}

static void note_exec(struct thread_words *self, bool has_failed) {
	machine_local_bump(&self->inside, 1);
	if (switch_find_out()) { // a copy made by a bare system call announces itself
		segment_note_exec(has_failed ? 0 : host_clock_ns());
	}
	machine_local_bump(&self->inside, UINT64_MAX);
}

/**
 * `inside` is not 0 from the first line that depends on the recorder's data to the last. If all
 * threads are stopped and it is 0 in each, the data may be reset.
 */
void inject_enter(struct inject_frame *f) {
	f->size = 0;
	if (inject_resident == NULL || switch_is_off()) {
		f->self = NULL;
		return;
	}
	struct thread_words *self = inject_thread();
	if (is_exec(f)) {
		f->self = NULL;
		note_exec(self, false);
		return;
	}
	machine_local_bump(&self->inside, 1);
	const struct capture_regs caller = {.pc = f->pc, .sp = (uint64_t)(f + 1), .bp = f->bp};
	if (f->what->what == RESIDENT_ENDS || f->what->what == RESIDENT_FORKS) {
		f->self = NULL;
		if (f->what->what == RESIDENT_ENDS) {
			awaiting_look(SEGMENT_ENDING);
			hook_note_end(caller);
		} else {
			f->size = hook_note_fork(caller);
			atomic_fetch_add(&inject_resident->n_forks, f->size != 0);
		}
		machine_local_bump(&self->inside, UINT64_MAX);
		return;
	}
	f->self = self;
	switch (f->what->what) {
	case RESIDENT_ALLOCATES:
	case RESIDENT_ALLOCATES_OR_THROWS: enter_allocation(f, self); break;
	case RESIDENT_FREES: enter_free(f, self); break;
	case RESIDENT_ALLOCATES_WITHIN: enter_allocation_within(f, self); break;
	case RESIDENT_CONFINES:
		segment_note_prctl((int)f->arguments[f->what->ptr], f->arguments[f->what->size]);
		enter_mapping(f, self);
		break;
	case RESIDENT_MAPS ... RESIDENT_CALLS: enter_mapping(f, self); break;
	default: enter_other(f, self); break;
	}
}

/** The block that a call returned, or stored where an argument says. NULL: it failed. */
static const void *block_of(const struct inject_frame *f) {
	bool is_stored = f->what->what == RESIDENT_ALLOCATES_AT ||
			f->what->what == RESIDENT_REALLOCATES_AT;
	return !is_stored          ? (const void *)f->rax
			: (int)f->rax == 0 ? *(void *const *)f->arguments[f->what->ptr]
							   : NULL;
}

/** The hook begins only now, since parts of the call were recorded. */
static void record_within(struct inject_frame *f) {
	uint64_t block = f->rax - f->what->behind;
	if (f->rax == 0 || f->self->last_block == block || inject_is_late(f)) {
		return;
	}
	// A string is struct { int64_t len, reserved; char text[]; }, with a zero at its end
	uint64_t size = f->what->size == RESIDENT_NIM_STRING
			? sizeof(uint64_t[2]) + ((const uint64_t *)f->rax)[1] + 1
			: f->size;
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
		return;
	}
	if (f->kind == INJECT_MAPS) {
		leave_mapping(f);
		return;
	}
	if (f->kind == INJECT_PASSES) {
		return;
	}
	bool is_late = inject_is_late(f);
	if (f->kind == INJECT_RESIZES) {
		hook_resized(&f->hook, (const void *)f->ptr, f->size, block_of(f), is_late);
	} else if (f->kind != INJECT_FREES && !is_late) {
		const void *block = block_of(f);
		bool is_text = f->what->size == RESIDENT_TEXT && block != NULL;
		hook_allocated(&f->hook, block, is_text ? sys_text_length(block) + 1 : f->size);
	}
	if (!is_late && (f->kind == INJECT_ALLOCATES || (f->kind == INJECT_RESIZES && f->ptr == 0))) {
		f->self->last_block = (uint64_t)block_of(f);
	}
	hook_leave(&f->hook);
}

bool inject_leave(struct inject_frame *f) {
	if (f->self != NULL) {
		record_answer(f);
		machine_local_bump(&f->self->inside, UINT64_MAX);
	} else if (is_exec(f)) {
		note_exec(inject_thread(), true);
	} else if (f->what->what == RESIDENT_FORKS && f->size != 0 && !inject_is_late(f)) {
		if (f->rax == 0) {
			switch_join((uint32_t)f->size);
			atomic_store(&inject_resident->n_forks, 0); // with those of threads that it lacks
		} else {
			atomic_fetch_sub(&inject_resident->n_forks, 1);
		}
	}
	bool may_throw = f->what->what == RESIDENT_ALLOCATES_OR_THROWS ||
			f->what->what == RESIDENT_REALLOCATES_OR_THROWS;
	bool shall_throw = f->rax == 0 && may_throw;
	if (unlikely(shall_throw)) {
		f->goes_on_at = f->what->moved;
	}
	return shall_throw;
}
