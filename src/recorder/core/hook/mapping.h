// SPDX-License-Identifier: MIT
#pragma once
/**
 * The hooks of functions that map (wire/mappings.def).
 *
 *      const uint64_t arguments[MAPPING_ARGUMENTS] = {at, bytes, protection, flags, fd};
 *      struct hook h;
 *      enum mapping_how how = mapping_enter(&thread_self, &h, MACHINE_CALLER(), RESIDENT_MAPS,
 *                      arguments);
 *      void *mapping = real_mmap(...);
 *      if (how != MAPPING_PASSES) {
 *          mapping_leave(&h, how, RESIDENT_MAPS, arguments, (uint64_t)mapping);
 *      }
 *
 * What a call does has the same name where functions are patched. The argument of BREAKS is
 * mapping_break() from before; those of CONFINES may concern something else.
 *
 * An allocator's own calls are recorded, too: a mapping made inside a hooked allocation function is
 * an event besides the block, and says so. Any thread, any signal handler; errno is unchanged. Only
 * mapping_enter may wait, like hook_enter. wire/event.h has the order of a call and its two events.
 */

#include "recorder/core/hook/progress.h"
#include "syscall.h"
#include "wire/resident.h"

enum { MAPPING_ARGUMENTS = 5 };

enum mapping_how {
	MAPPING_PASSES = 0, // not recorded: call the real function and nothing else
	MAPPING_OUTSIDE = 1,
	MAPPING_INSIDE = 2, // of a hooked allocation function
};

/** What the system call with this number does; CALLS: nothing that is recorded. */
static inline enum resident_what mapping_of_call(long number) {
	switch (number) {
	case __NR_mmap: return RESIDENT_MAPS;
	case __NR_munmap: return RESIDENT_UNMAPS;
	case __NR_mremap: return RESIDENT_REMAPS;
	case __NR_mprotect:
	case __NR_pkey_mprotect: return RESIDENT_PROTECTS;
	case __NR_shmat: return RESIDENT_ATTACHES;
	case __NR_shmdt: return RESIDENT_DETACHES;
	case __NR_madvise: return RESIDENT_ADVISES;
	case __NR_mlock:
	case __NR_mlock2: return RESIDENT_LOCKS;
	case __NR_munlock: return RESIDENT_UNLOCKS;
	case __NR_memfd_create: return RESIDENT_CREATES;
	case __NR_prctl: return RESIDENT_CONFINES;
	default: return RESIDENT_CALLS;
	}
}

/** The end of the heap that brk moves; 0: unknown. */
uint64_t mapping_break(void);

/** Begin a hook, and record that a range is about to be released. */
enum mapping_how mapping_enter(const struct thread_words *self, struct hook *h,
		struct capture_regs caller, enum resident_what does,
		const uint64_t arguments[MAPPING_ARGUMENTS]);

/** Record what the real function has done, and end the hook. */
void mapping_leave(struct hook *h, enum mapping_how how, enum resident_what does,
		const uint64_t arguments[MAPPING_ARGUMENTS], uint64_t result);
