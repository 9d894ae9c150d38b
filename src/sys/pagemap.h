// SPDX-License-Identifier: MIT
#pragma once

/**
 * Which pages of a process are resident.
 *
 * By the ioctl PAGEMAP_SCAN (Linux 6.7), else by reading /proc/PID/pagemap. A running process is
 * read as it is: what it touches or unmaps meanwhile may be there or not.
 */

#include "sys/smaps.h"

/** Whole pages that are in memory. */
struct pagemap_range {
	uint64_t start, end;
	bool is_file; // of a file or of shared memory, and not copied since
};

enum pagemap_how {
	PAGEMAP_REFUSED, // nothing is known
	PAGEMAP_READ,    // the page of zeros, which is in no resident size, looks as any
	PAGEMAP_SCANNED,
};

/** By rising address, neighbours of one sort joined. A zeroed struct is empty. */
struct pagemap {
	struct pagemap_range *items;
	size_t n, capacity;
	enum pagemap_how how;
	uint64_t skipped_bytes; // resident bytes of areas that were too large to read
};

/**
 * Of the areas that have something resident. `can_scan` false: as if there were no such ioctl.
 * False: out of memory, or more than the 4 Mi ranges that are taken at most.
 */
bool pagemap_look(struct pagemap *out, pid_t pid, const struct smaps *areas, bool can_scan);

/** The words of /proc/PID/pagemap of the pages from `start` on. */
bool pagemap_take(struct pagemap *out, uint64_t start, uint64_t page_bytes, const uint64_t *words,
		size_t n);

void pagemap_finish(struct pagemap *p);
