// SPDX-License-Identifier: MIT
/*
 * A range is recorded as released before the call that releases it, so that no other thread's
 * mapping of the same range overtakes it, and as mapped after the call. If the call fails after
 * all, a mapping of what it was said to release follows. Arguments that the kernel will refuse
 * release nothing, and a smaller mapping only its end.
 */
#include "recorder/core/hook/mapping.h"

#include "recorder/core/awaiting.h"
#include "recorder/core/hook/hook.h"

#include <linux/errno.h>
#include <sys/shm.h>

#define SURE_END (1ull << 47) // of addresses that every process may have

struct range {
	uint64_t at, bytes; // bytes 0: none
};

static uint64_t whole_pages(uint64_t bytes) {
	uint64_t page = segment.header->page_bytes;
	return (bytes + page - 1) & -page;
}

/** A range that the kernel will accept; else none. */
static struct range sure_range(uint64_t at, uint64_t bytes) {
	bool is_sure = at % WIRE_PAGE_LEAST == 0 && bytes - 1 < SURE_END && at + bytes <= SURE_END;
	return (struct range){at, is_sure ? bytes : 0};
}

uint64_t mapping_break(void) {
	bool may_ask = switch_is_on_or_paused() && segment_may_call_system();
	return may_ask ? (uint64_t)syscall_1(__NR_brk, 0) : 0;
}

/** What the call is about to release. */
static struct range released(enum resident_what does, const uint64_t *arguments) {
	const struct range none = {0}, all = sure_range(arguments[0], arguments[1]);
	if (does == RESIDENT_UNMAPS) {
		return all;
	}
	if (does == RESIDENT_DETACHES) { // the kernel knows how much
		return sure_range(arguments[0], WIRE_PAGE_LEAST);
	}
	uint64_t flags = arguments[3];
	if (does != RESIDENT_REMAPS || all.bytes == 0 || (flags & MREMAP_DONTUNMAP) != 0) {
		return none;
	}
	uint64_t before = whole_pages(all.bytes), after = whole_pages(arguments[2]);
	if ((flags & MREMAP_FIXED) != 0 || (after > before && (flags & MREMAP_MAYMOVE) != 0)) {
		return all;
	}
	return after < before && after > 0 ? (struct range){all.at + after, before - after} : none;
}

/** The low bits of a KIND_MAP. */
static uint32_t sort_of(enum mapping_how how, const uint64_t *arguments) {
	uint64_t flags = arguments[3];
	enum wire_map_what what = how == MAPPING_INSIDE ? WIRE_MAP_INSIDE
			: (flags & MAP_HUGETLB) != 0            ? WIRE_MAP_HUGETLB
			: (flags & MAP_ANONYMOUS) == 0          ? WIRE_MAP_FILE
			: (flags & MAP_STACK) != 0              ? WIRE_MAP_STACK
													: WIRE_MAP_PLAIN;
	bool is_shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	return wire_map_sort((uint32_t)arguments[2], is_shared, what);
}

/** What a call of mmap mapped. Huge pages are of the size in the flags, or of 2 MiB. */
static struct range mapped(uint64_t at, const uint64_t *arguments) {
	uint64_t flags = arguments[3], log2 = flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
	uint64_t page = (flags & MAP_HUGETLB) != 0 ? 1ull << (log2 != 0 ? log2 : 21) : 1;
	return (struct range){at, (arguments[1] + page - 1) & -page};
}

static bool returns_address(enum resident_what does) {
	return does == RESIDENT_MAPS || does == RESIDENT_REMAPS || does == RESIDENT_ATTACHES ||
			does == RESIDENT_BREAKS;
}

/** What a call changes other than protection. WIRE_CHANGE_PROTECTION: nothing that matters. */
static enum wire_change change_of(enum resident_what does, const uint64_t *arguments) {
	uint64_t advice = does == RESIDENT_ADVISES ? (uint32_t)arguments[2] : 0;
	bool names = does == RESIDENT_CONFINES && (uint32_t)arguments[0] == PR_SET_VMA &&
			arguments[1] == PR_SET_VMA_ANON_NAME;
	return does == RESIDENT_LOCKS      ? WIRE_CHANGE_LOCKS
			: does == RESIDENT_UNLOCKS ? WIRE_CHANGE_UNLOCKS
			: does == RESIDENT_CREATES ? WIRE_CHANGE_CREATES
			: names                    ? WIRE_CHANGE_NAMES
			: advice == MADV_FREE      ? WIRE_CHANGE_FREES
			: advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED || advice == MADV_REMOVE
			? WIRE_CHANGE_GIVES_BACK
			: WIRE_CHANGE_PROTECTION;
}

/** Record a change other than of protection: locked and named memory may begin anywhere. */
static void write_change(const struct hook *h, enum mapping_how how, enum wire_change change,
		const uint64_t *arguments) {
	uint64_t in_page = arguments[0] % WIRE_PAGE_LEAST, at = arguments[0] - in_page;
	uint32_t sort = (uint32_t)change << 4 | (uint32_t)(how == MAPPING_INSIDE) << 3;
	if (change == WIRE_CHANGE_CREATES || arguments[1] != 0) {
		hook_write(h->slot, KIND_CHANGED, at | wire_map_in_ptr(sort), arguments[1] + in_page,
				h->node);
	}
}

static void write(const struct hook *h, enum wire_kind kind, struct range range, uint32_t sort) {
	if (range.bytes != 0) {
		hook_write(h->slot, kind, range.at | wire_map_in_ptr(sort), range.bytes,
				kind == KIND_UNMAP ? 0 : h->node);
	}
}

/**
 * The huge page size, of which shmctl does not tell: mremap to the same place and size changes
 * nothing, and fails at an address within a huge page (Linux 5.16).
 */
static uint64_t huge_page_at(uint64_t at) {
	uint64_t page = 1;
	for (uint64_t least = WIRE_PAGE_LEAST; least < 1ull << 30; least = page) {
		long found = syscall_6(__NR_mremap, (long)(at + least), WIRE_PAGE_LEAST, WIRE_PAGE_LEAST, 0,
				0, 0);
		if (found != -EINVAL) {
			break;
		}
		page = page == 1 ? 1ull << 21 : 1ull << 30;
	}
	return page;
}

/** Whoever may attach shared memory may also ask for its size, unless a sandbox forbids it. */
static void write_attached(struct hook *h, const uint64_t *arguments, uint64_t at) {
	struct shmid_ds shm;
	uint64_t flags = arguments[2];
	uint32_t protection = PROT_READ | ((flags & SHM_RDONLY) != 0 ? 0 : PROT_WRITE) |
			((flags & SHM_EXEC) != 0 ? PROT_EXEC : 0);
	if (segment_may_ask() && syscall_3(__NR_shmctl, (int)arguments[0], IPC_STAT, (long)&shm) == 0) {
		uint64_t page = huge_page_at(at);
		write(h, KIND_MAP, (struct range){at, (shm.shm_segsz + page - 1) & -page},
				wire_map_sort(protection, true, WIRE_MAP_SHM));
	}
}

/**
 * Only after the call can one see what brk did: an end below the heap's start is no failure, and
 * changes nothing. Nobody maps there meanwhile.
 */
static void write_break(struct hook *h, enum mapping_how how, uint64_t before) {
	uint64_t from = whole_pages(before), to = whole_pages(mapping_break());
	if (before == 0 || to == 0) {
		return;
	}
	if (to < from) {
		write(h, KIND_UNMAP, (struct range){to, from - to}, 0);
	} else if (switch_is_on()) {
		enum wire_map_what what = how == MAPPING_INSIDE ? WIRE_MAP_INSIDE : WIRE_MAP_BRK;
		write(h, KIND_MAP, (struct range){from, to - from}, wire_map_sort(3, false, what));
	}
}

/** Memory found readable may be so no longer: noted before the call, and again after it. */
static void note_unmapping(enum resident_what does, const uint64_t *arguments) {
	bool only_adds = does == RESIDENT_MAPS && (arguments[3] & MAP_FIXED) == 0;
	bool may_unmap = does < RESIDENT_ADVISES && does != RESIDENT_CONFINES;
	if (!only_adds && may_unmap && !switch_is_off()) {
		atomic_fetch_add(&segment.header->unmap_epoch, 1);
	}
}

/** A runtime may be about to free its functions: wait a little for a collector that is behind. */
static void await_units(void) {
	enum { MOST_MS = 100, IN_ALL_NS = 1000000000, LATE_NS = 5000000 };
	static _Atomic uint64_t waited_ns;
	struct segment_header *h = segment.header;
	uint32_t n_read = atomic_load(&h->n_units_read);
	if (likely(atomic_load(&h->n_units) == n_read) || !awaiting_is_allowed()) {
		return;
	}
	uint64_t tick = atomic_load(&segment.common->tick_ns), from_ns = host_clock_ns();
	if ((tick == 0 || from_ns - h->start_ns > tick + LATE_NS) &&
			atomic_load(&waited_ns) < IN_ALL_NS) {
		awaiting_change(&h->n_units_read, n_read, MOST_MS);
		atomic_fetch_add(&waited_ns, host_clock_ns() - from_ns);
	}
}

/** False if the collector wants no calls that map (--no-memory). */
static bool is_recorded(void) {
	return likely((segment.options & SEGMENT_NO_MAPPINGS) == 0);
}

enum mapping_how mapping_enter(const struct thread_words *self, struct hook *h,
		struct capture_regs caller, enum resident_what does,
		const uint64_t arguments[MAPPING_ARGUMENTS]) {
	bool changes = change_of(does, arguments) != WIRE_CHANGE_PROTECTION;
	if ((does == RESIDENT_ADVISES || does == RESIDENT_CONFINES) && !changes) {
		return MAPPING_PASSES;
	}
	note_unmapping(does, arguments);
	if (does == RESIDENT_UNMAPS && !switch_is_off()) {
		await_units();
	}
	bool wants_stack = is_recorded() && (returns_address(does) || changes), is_inside = false;
	if (!hook_enter_as(self, h, caller, wants_stack, &is_inside)) {
		return MAPPING_PASSES;
	}
	if (!is_recorded()) {
		hook_leave(h);
		return MAPPING_PASSES;
	}
	enum wire_map_what what = does == RESIDENT_DETACHES ? WIRE_MAP_SHM : WIRE_MAP_PLAIN;
	write(h, KIND_UNMAP, released(does, arguments), wire_map_sort(0, false, what));
	return is_inside ? MAPPING_INSIDE : MAPPING_OUTSIDE;
}

void mapping_leave(struct hook *h, enum mapping_how how, enum resident_what does,
		const uint64_t arguments[MAPPING_ARGUMENTS], uint64_t result) {
	bool has_failed = returns_address(does) ? result == UINT64_MAX : (int)result < 0;
	enum wire_change change = change_of(does, arguments);
	struct range given = released(does, arguments), whole = {arguments[0], arguments[1]};
	note_unmapping(does, arguments);
	if (!switch_is_still_on_or_paused()) {
		return;
	}
	if (does == RESIDENT_BREAKS) {
		write_break(h, how, arguments[0]);
	} else if (has_failed && does != RESIDENT_DETACHES && does != RESIDENT_CONFINES) {
		write(h, KIND_MAP, given, wire_map_sort(0, false, WIRE_MAP_BACK));
	} else if (does == RESIDENT_MAPS && switch_is_on()) {
		write(h, KIND_MAP, mapped(result, arguments), sort_of(how, arguments));
	} else if (does == RESIDENT_ATTACHES && switch_is_on()) {
		write_attached(h, arguments, result);
	} else if (does == RESIDENT_UNMAPS && given.bytes == 0) {
		write(h, KIND_UNMAP, whole, 0);
	} else if (does == RESIDENT_PROTECTS) {
		write(h, KIND_CHANGED, whole, wire_map_sort((uint32_t)arguments[2], false, 0));
	} else if (change != WIRE_CHANGE_PROTECTION && switch_is_on()) {
		static const uint64_t nowhere[2];
		write_change(h, how, change,
				does == RESIDENT_CONFINES          ? arguments + 2
						: does == RESIDENT_CREATES ? nowhere
												   : arguments);
	} else if (does == RESIDENT_REMAPS &&
			(result != whole.at || whole_pages(arguments[2]) > whole_pages(whole.bytes))) {
		enum wire_map_what what = how == MAPPING_INSIDE ? WIRE_MAP_MOVED_INSIDE : WIRE_MAP_MOVED;
		write(h, KIND_MAP, (struct range){result, arguments[2]}, wire_map_sort(0, false, what));
	}
	hook_leave(h);
}
