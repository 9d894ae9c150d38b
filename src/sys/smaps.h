// SPDX-License-Identifier: MIT
#pragma once
/**
 * What a process has mapped, and which of its pages are resident.
 *
 * For /proc/PID/smaps the kernel walks every page of the process: some 14 ms for 1 GB in 1,000
 * mappings, 35 ms for 10,000 mappings. The process is not stopped; its own calls that map wait
 * meanwhile.
 */

#include "base/base.h"

#include <sys/types.h>

enum smaps_kind {
	SMAPS_ANONYMOUS, // with a name, if the process gave it one (PR_SET_VMA)
	SMAPS_HEAP,      // what brk moves
	SMAPS_STACK,     // of the main thread
	SMAPS_FILE,
	SMAPS_SHARED, // shared memory: memfd, /dev/shm, System V, anonymous and shared
	SMAPS_DEVICE, // of a driver: its pages are in no resident size
	SMAPS_KERNEL, // [vdso] and the like
};

struct smaps_area {
	uint64_t start, end;
	uint64_t offset, inode; // in the file, of the file
	uint64_t rss_bytes, pss_bytes, anonymous_bytes, shared_bytes;
	uint64_t swap_bytes, lazy_free_bytes, huge_bytes;
	const char *name; // as the kernel writes it, "" for none
	enum smaps_kind kind;
	bool is_shared, is_readable, is_writable, is_executable;
	bool is_hugetlb;  // its pages are in no resident size
	bool is_left_out; // of the memory of forked children
};

/** By rising address. A zeroed struct is empty. */
struct smaps {
	VEC(struct smaps_area);
	uint64_t rss_bytes; // of all of them
	struct arena names;
};

/**
 * Adds to `out` what "smaps" tells, or "maps": that has no sizes and walks no page, 3 ms for 10,000
 * mappings. False: not permitted, the process is gone, or no memory.
 */
bool smaps_read(struct smaps *out, pid_t pid, const char *name);

/** What an address lies in, or NULL. */
static inline struct smaps_area *smaps_at(const struct smaps *s, uint64_t at) {
	const size_t i = sorted_first_of(s->items, s->n, sizeof *s->items, at + 1);
	return i > 0 && at < s->items[i - 1].end ? &s->items[i - 1] : NULL;
}

/** One line of it, without its end, after all lines before. False: no memory. */
bool smaps_take_line(struct smaps *out, char *line);

void smaps_finish(struct smaps *s);

// ---- which pages are resident

/** Whole pages that are in memory. */
struct pagemap_range {
	uint64_t start, end;
	bool is_file; // of a file or of shared memory, and not copied since
};

enum pagemap_how {
	PAGEMAP_REFUSED, // nothing is known
	PAGEMAP_READ,    // beside pages shared with a fork, a page of zeros may be taken for one
	PAGEMAP_SCANNED,
};

/** By rising address, neighbours of one sort joined. A zeroed struct is empty. */
struct pagemap {
	VEC(struct pagemap_range);
	enum pagemap_how how;
	uint64_t skipped_bytes; // resident bytes of areas that were too large to read
};

/**
 * Of the areas that have something resident, by the ioctl PAGEMAP_SCAN (Linux 6.7), else by reading
 * /proc/PID/pagemap. A running process is read as it is: what it touches or unmaps meanwhile may be
 * there or not. `can_scan` false: as if there were no such ioctl.
 * False: more than the 4 Mi ranges that are taken at most.
 */
bool pagemap_look(struct pagemap *out, pid_t pid, const struct smaps *areas, bool can_scan);

/** The words of /proc/PID/pagemap of the pages from `start` on. */
bool pagemap_take(struct pagemap *out, uint64_t start, uint64_t page_bytes, const uint64_t *words,
		size_t n);
