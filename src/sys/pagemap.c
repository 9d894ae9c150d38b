// SPDX-License-Identifier: MIT
/*
 * The ioctl walks mapped pages only. The file has a word for each page of addresses, mapped or not,
 * so of a large reserve it is not read.
 */
#include "sys/pagemap.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	RANGES_MAX = 4 << 20,
	BATCH = 4096,     // ranges, or words, at a time
	SPARSE = 1024,    // an area is not read of which less than one page in so many is there,
	LARGE_SHIFT = 34, // if it has more than 16 GiB
};

// linux/fs.h has these since 6.7
struct scan {
	uint64_t size, flags, start, end, walk_end, ranges, n_ranges, max_pages;
	uint64_t inverted, mask, any_of, wanted;
};
struct scanned {
	uint64_t start, end, categories;
};
#define SCAN         _IOWR('f', 16, struct scan)
#define SCAN_FILE    (1ull << 2)
#define SCAN_PRESENT (1ull << 3)
#define SCAN_ZEROS   (1ull << 5)

#define WORD_FILE    (1ull << 61)
#define WORD_PRESENT (1ull << 63)

static bool add(struct pagemap *out, uint64_t start, uint64_t end, bool is_file) {
	struct pagemap_range *last = out->n > 0 ? &out->items[out->n - 1] : NULL;
	if (last && last->end == start && last->is_file == is_file) {
		last->end = end;
		return true;
	}
	struct pagemap_range *range = out->n < RANGES_MAX ? vec_push(out) : NULL;
	if (range) {
		*range = (struct pagemap_range){start, end, is_file};
	}
	return range != NULL;
}

/** -1: there is no such ioctl, or it is not permitted. */
static int scan(struct pagemap *out, int fd, const struct smaps_area *a) {
	struct scanned ranges[BATCH];
	struct scan s = {.size = sizeof s, .start = a->start, .end = a->end};
	s.ranges = (uintptr_t)ranges;
	s.n_ranges = BATCH;
	s.mask = SCAN_PRESENT | SCAN_ZEROS;
	s.inverted = SCAN_ZEROS;
	s.wanted = SCAN_FILE;
	for (int n = BATCH; n == BATCH;) {
		n = ioctl(fd, SCAN, &s);
		if (n < 0) {
			return -1;
		}
		for (int i = 0; i < n; i++) {
			if (!add(out, ranges[i].start, ranges[i].end, ranges[i].categories & SCAN_FILE)) {
				return 0;
			}
			s.start = ranges[i].end; // walk_end may be less (seen with Linux 6.18)
		}
	}
	return 1;
}

bool pagemap_take(struct pagemap *out, uint64_t start, uint64_t page_bytes, const uint64_t *words,
		size_t n) {
	for (size_t i = 0; i < n; i++) {
		uint64_t at = start + i * page_bytes;
		if ((words[i] & WORD_PRESENT) != 0 &&
				!add(out, at, at + page_bytes, (words[i] & WORD_FILE) != 0)) {
			return false;
		}
	}
	return true;
}

/** False: no memory. What cannot be read is not there: it was unmapped meanwhile. */
static bool read_words(struct pagemap *out, int fd, const struct smaps_area *a) {
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), words[BATCH];
	uint64_t bytes = a->end - a->start;
	if (bytes >> LARGE_SHIFT != 0 && a->rss_bytes < bytes / SPARSE) {
		out->skipped_bytes += a->rss_bytes;
		return true;
	}
	uint64_t known = out->n > 0 ? out->items[out->n - 1].end : 0; // if a scan has begun it
	for (uint64_t at = known > a->start ? known : a->start; at < a->end;) {
		size_t n = (size_t)((a->end - at) / page_bytes);
		n = n < BATCH ? n : BATCH;
		ssize_t got = pread(fd, words, n * sizeof *words, (off_t)(at / page_bytes * sizeof *words));
		if (got < (ssize_t)sizeof *words) {
			return true;
		}
		n = (size_t)got / sizeof *words;
		if (!pagemap_take(out, at, page_bytes, words, n)) {
			return false;
		}
		at += n * page_bytes;
	}
	return true;
}

bool pagemap_look(struct pagemap *out, pid_t pid, const struct smaps *areas, bool can_scan) {
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok = true;
	out->how = fd < 0 ? PAGEMAP_REFUSED : can_scan ? PAGEMAP_SCANNED : PAGEMAP_READ;
	for (size_t i = 0; fd >= 0 && ok && i < areas->n; i++) {
		const struct smaps_area *a = &areas->items[i];
		if (a->rss_bytes == 0 || a->is_hugetlb) {
			continue;
		}
		int scanned = out->how == PAGEMAP_SCANNED ? scan(out, fd, a) : -1;
		if (scanned < 0) {
			out->how = PAGEMAP_READ;
		}
		ok = scanned < 0 ? read_words(out, fd, a) : scanned > 0;
	}
	if (fd >= 0) {
		(void)close(fd);
	}
	return ok;
}

void pagemap_finish(struct pagemap *p) {
	vec_finish(p);
}
