// SPDX-License-Identifier: MIT
#pragma once
/**
 * The hooks of functions that map (wire/mappings.def).
 *
 *      const uint64_t arguments[MAPPING_ARGUMENTS] = {at, bytes, protection, flags, fd};
 *      struct hook h;
 *      enum mapping_how how = mapping_enter(&thread_self, &h, MACHINE_CALLER(), MAPPING_MAPS,
 *                      arguments);
 *      void *mapping = real_mmap(...);
 *      if (how != MAPPING_PASSES) {
 *          mapping_leave(&h, how, MAPPING_MAPS, arguments, (uint64_t)mapping);
 *      }
 *
 * An allocator's own calls are recorded like any: what maps inside a hooked allocation function is
 * another event than the block, and says so. Any thread, any signal handler; errno is unchanged.
 * Only mapping_enter may wait, as hook_enter. The order of the two events of a call and of the call
 * itself is that of wire/event.h.
 */

#include "recorder/core/hook/progress.h"
#include "syscall.h"

enum { MAPPING_ARGUMENTS = 5 };

enum mapping_does {
	MAPPING_MAPS,
	MAPPING_UNMAPS,
	MAPPING_REMAPS,
	MAPPING_PROTECTS,
	MAPPING_ATTACHES,
	MAPPING_DETACHES,
	MAPPING_ADVISES,
	MAPPING_LOCKS,
	MAPPING_UNLOCKS,
	MAPPING_CREATES,
	MAPPING_BREAKS, // argument: mapping_break() before
	MAPPING_NAMES,  // arguments of prctl, which may be about something else
	MAPPING_OTHER,  // nothing that is recorded
};

enum mapping_how {
	MAPPING_PASSES = 0, // not recorded: call the real function and nothing else
	MAPPING_OUTSIDE = 1,
	MAPPING_INSIDE = 2, // of a hooked allocation function
};

/** What a system call of that number does. Its arguments are those of the functions. */
static inline enum mapping_does mapping_of_call(long number) {
	switch (number) {
	case __NR_mmap: return MAPPING_MAPS;
	case __NR_munmap: return MAPPING_UNMAPS;
	case __NR_mremap: return MAPPING_REMAPS;
	case __NR_mprotect:
	case __NR_pkey_mprotect: return MAPPING_PROTECTS;
	case __NR_shmat: return MAPPING_ATTACHES;
	case __NR_shmdt: return MAPPING_DETACHES;
	case __NR_madvise: return MAPPING_ADVISES;
	case __NR_mlock:
	case __NR_mlock2: return MAPPING_LOCKS;
	case __NR_munlock: return MAPPING_UNLOCKS;
	case __NR_memfd_create: return MAPPING_CREATES;
	case __NR_prctl: return MAPPING_NAMES;
	default: return MAPPING_OTHER;
	}
}

/** Where the heap ends that brk moves; 0: not to be found out. */
uint64_t mapping_break(void);

/** Begin a hook, and record that a range is about to be released. */
enum mapping_how mapping_enter(const struct thread_words *self, struct hook *h,
		struct capture_regs caller, enum mapping_does does,
		const uint64_t arguments[MAPPING_ARGUMENTS]);

/** Record what the real function has done, and end the hook. */
void mapping_leave(struct hook *h, enum mapping_how how, enum mapping_does does,
		const uint64_t arguments[MAPPING_ARGUMENTS], uint64_t result);
