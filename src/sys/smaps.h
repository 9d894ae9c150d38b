// SPDX-License-Identifier: MIT
#pragma once
/**
 * What a process has mapped, and which of its pages are resident. For /proc/PID/smaps the kernel
 * walks every page of the process: some 14 ms for 1 GB in 1,000 mappings, 35 ms for 10,000
 * mappings. The process is not stopped, but its calls that map wait meanwhile.
 */

#include "base/base.h"

#include <sys/types.h>

enum smaps_kind {
	SMAPS_ANONYMOUS, // maybe named by the process (PR_SET_VMA)
	SMAPS_HEAP,      // moved by brk
	SMAPS_STACK,     // the main thread's
	SMAPS_FILE,
	SMAPS_SHARED, // memfd, /dev/shm, System V, anonymous and shared
	SMAPS_DEVICE, // a driver's: not in any resident size
	SMAPS_KERNEL, // [vdso] and the like
};

struct smaps_area {
	uint64_t start, end;
	uint64_t offset, inode; // in the file; of the file
	uint64_t rss_bytes, pss_bytes, anonymous_bytes, shared_bytes;
	uint64_t swap_bytes, lazy_free_bytes, huge_bytes;
	const char *name; // as the kernel writes it, or ""
	enum smaps_kind kind;
	bool is_shared, is_readable, is_writable, is_executable;
	bool is_hugetlb;  // its pages are not in any resident size
	bool is_left_out; // from the memory of forked children
};

/** By rising address. Zeroed: empty. */
struct smaps {
	VEC(struct smaps_area);
	uint64_t rss_bytes; // of all
	struct arena names;
};

/**
 * Add the contents of "smaps", or of "maps", which has no sizes and walks no pages: 3 ms for 10,000
 * mappings. False: not permitted, process gone, or no memory.
 */
bool smaps_read(struct smaps *out, pid_t pid, const char *name);

/** The area of an address, or NULL. */
static inline struct smaps_area *smaps_at(const struct smaps *s, uint64_t at) {
	const size_t i = sorted_first_of(s->items, s->n, sizeof *s->items, at + 1);
	return i > 0 && at < s->items[i - 1].end ? &s->items[i - 1] : NULL;
}

/** Parse the next line, without its end. False: no memory. */
bool smaps_take_line(struct smaps *out, char *line);

void smaps_finish(struct smaps *s);

// ---- which pages are resident

/** Whole pages in memory. */
struct pagemap_range {
	uint64_t start, end;
	bool is_file; // a file's or shared memory's, not copied since
};

enum pagemap_how {
	PAGEMAP_REFUSED, // nothing is known
	PAGEMAP_READ,    // pages shared with a fork may be confused with pages of zeros
	PAGEMAP_SCANNED,
};

/** By rising address; equal neighbours are merged. Zeroed: empty. */
struct pagemap {
	VEC(struct pagemap_range);
	enum pagemap_how how;
	uint64_t skipped_bytes; // resident bytes of areas too large to read
};

/**
 * Find resident pages of the areas, by the ioctl PAGEMAP_SCAN (Linux 6.7), else from
 * /proc/PID/pagemap. What a running process touches or unmaps meanwhile may be missing or not.
 * `can_scan` false: do not use the ioctl. False: more than 4 Mi ranges.
 */
bool pagemap_look(struct pagemap *out, pid_t pid, const struct smaps *areas, bool can_scan);

/** Add pages from `start` on, by their words of /proc/PID/pagemap. */
bool pagemap_take(struct pagemap *out, uint64_t start, uint64_t page_bytes, const uint64_t *words,
		size_t n);
