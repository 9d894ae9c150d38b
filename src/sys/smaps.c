// SPDX-License-Identifier: MIT
/* A line that begins with an address begins a mapping; "Name: 12 kB" says something of the last. */
#include "sys/smaps.h"

#include "sys/file.h"
#include "sys/process.h"

#include <sys/ioctl.h>

/** A number in the base, and the byte behind it is skipped. */
static uint64_t take_number(char **at, int base) {
	uint64_t number = strtoull(*at, at, base);
	*at += **at != '\0';
	return number;
}

static enum smaps_kind kind_of(const struct smaps_area *a) {
	struct slice name = slice_of_text(a->name);
	if (starts_with(name, "[") && !starts_with(name, "[anon")) {
		return starts_with(name, "[heap]")    ? SMAPS_HEAP
				: starts_with(name, "[stack") ? SMAPS_STACK
											  : SMAPS_KERNEL;
	}
	if (starts_with(name, "/dev/zero")) {
		return a->is_shared ? SMAPS_SHARED : SMAPS_ANONYMOUS;
	}
	if (starts_with_any(name, "|/memfd:|/dev/shm/|/SYSV|[anon_shmem")) {
		return SMAPS_SHARED;
	}
	return starts_with(name, "/dev/") ? SMAPS_DEVICE : a->inode != 0 ? SMAPS_FILE : SMAPS_ANONYMOUS;
}

/** A mapping that grows while a process is read may be told once more. */
static void drop_from(struct smaps *out, uint64_t start) {
	while (out->n > 0 && out->items[out->n - 1].start >= start) {
		out->rss_bytes -= out->items[--out->n].rss_bytes;
	}
	if (out->n > 0) {
		LOWER_TO(out->items[out->n - 1].end, start);
	}
}

/** "start-end rwxp offset major:minor inode      name" */
static bool begin_area(struct smaps *out, char *line) {
	uint64_t start = take_number(&line, 16);
	drop_from(out, start);
	struct smaps_area *a = vec_push(out);
	if (!a) {
		return false;
	}
	a->start = start;
	a->end = take_number(&line, 16);
	if (strlen(line) > 4) {
		a->is_readable = line[0] == 'r';
		a->is_writable = line[1] == 'w';
		a->is_executable = line[2] == 'x';
		a->is_shared = line[3] == 's';
		line += 5;
	}
	a->offset = take_number(&line, 16);
	(void)take_number(&line, 16);
	(void)take_number(&line, 16);
	a->inode = take_number(&line, 10);
	line += strspn(line, " ");
	a->name = line[0] != '\0' ? arena_text(&out->names, slice_of_text(line)) : "";
	if (a->name) {
		a->kind = kind_of(a);
	}
	return a->name != NULL;
}

static uint64_t *field_of(struct smaps_area *a, const char *name, size_t n) {
	const struct {
		const char *name;
		uint64_t *field;
	} fields[] = {{"Rss", &a->rss_bytes}, {"Pss", &a->pss_bytes},
			{"Anonymous", &a->anonymous_bytes}, {"Shared_Clean", &a->shared_bytes},
			{"Shared_Dirty", &a->shared_bytes}, {"Swap", &a->swap_bytes},
			{"LazyFree", &a->lazy_free_bytes}, {"AnonHugePages", &a->huge_bytes}};
	__auto_type field = FIND(f, fields, N_OF(fields),
			strlen(f->name) == n && memcmp(f->name, name, n) == 0);
	return field ? field->field : NULL;
}

bool smaps_take_line(struct smaps *out, char *line) {
	char *colon = strchr(line, ':');
	if (line[0] < 'A' || line[0] > 'Z') { // addresses are written in small letters
		return begin_area(out, line);
	}
	if (!colon || out->n == 0) {
		return true;
	}
	struct smaps_area *a = &out->items[out->n - 1];
	if (strncmp(line, "VmFlags", 7) == 0) {
		a->is_hugetlb = strstr(colon, " ht") != NULL;
		a->is_left_out = strstr(colon, " dc") != NULL;
		a->kind = strstr(colon, " pf") || strstr(colon, " io") ? SMAPS_DEVICE : a->kind;
		return true;
	}
	uint64_t *field = field_of(a, line, (size_t)(colon - line));
	if (field) {
		uint64_t bytes = strtoull(colon + 1, NULL, 10) * 1024;
		*field += bytes; // what is shared is told in two fields
		out->rss_bytes += field == &a->rss_bytes ? bytes : 0;
	}
	return true;
}

bool smaps_read(struct smaps *out, pid_t pid, const char *name) {
	CLOSED_FILE *file = fopen(PROCESS_PATH(pid, "%s", name), "re");
	FREED char *line = NULL;
	size_t room = 0;
	bool ok = file != NULL;
	for (ssize_t n; ok && (n = getline(&line, &room, file)) > 0;) {
		line[n - (line[n - 1] == '\n')] = '\0';
		ok = smaps_take_line(out, line);
	}
	return ok && !ferror(file) && out->n > 0;
}

void smaps_finish(struct smaps *s) {
	vec_finish(s);
	arena_finish(&s->names);
	s->rss_bytes = 0;
}

// ---- which pages are resident

/* The ioctl walks mapped pages only; the file has a word for every page: not for large reserves. */

enum {
	RANGES_MAX = 4 << 20,
	BATCH = 512,      // ranges, or words, at a time: the stack may be small
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

#define WORD_EXCLUSIVE (1ull << 56)
#define WORD_FILE      (1ull << 61)
#define WORD_PRESENT   (1ull << 63)

static bool add_pages(struct pagemap *out, uint64_t start, uint64_t end, bool is_file) {
	struct pagemap_range *last = out->n > 0 ? &out->items[out->n - 1] : NULL;
	if (last && last->end == start && last->is_file == is_file) {
		last->end = end;
		return true;
	}
	return out->n < RANGES_MAX && vec_add(out, (struct pagemap_range){start, end, is_file});
}

/** -1: there is no such ioctl, or it is not permitted. */
static int scan(struct pagemap *out, int fd, const struct smaps_area *a) {
	struct scanned ranges[BATCH];
	struct scan s = {.size = sizeof s, .start = a->start, .end = a->end};
	s.ranges = (uintptr_t)ranges;
	s.n_ranges = BATCH;
	s.mask = SCAN_PRESENT | SCAN_ZEROS;
	s.inverted = SCAN_ZEROS;
	// To tell files apart, the kernel looks up every page: 26 ms for 1 GB instead of 4
	s.wanted = a->rss_bytes > a->anonymous_bytes ? SCAN_FILE : SCAN_PRESENT;
	for (int n = BATCH; n == BATCH;) {
		n = ioctl(fd, SCAN, &s);
		if (n < 0) {
			return -1;
		}
		for (int i = 0; i < n; i++) {
			if (!add_pages(out, ranges[i].start, ranges[i].end, ranges[i].categories & SCAN_FILE)) {
				return 0;
			}
			s.start = ranges[i].end; // walk_end may be less (seen with Linux 6.18)
		}
	}
	return 1;
}

bool pagemap_take(struct pagemap *out, uint64_t start, uint64_t page_bytes, const uint64_t *words,
		size_t n) {
	return ALL(i, n,
			(words[i] & WORD_PRESENT) == 0 ||
					add_pages(out, start + i * page_bytes, start + (i + 1) * page_bytes,
							(words[i] & WORD_FILE) != 0));
}

/** Drop pages of zeros: neither exclusive nor a file's, as are those shared with a fork (kept). */
static void drop_zeros(uint64_t *words, size_t n, uint64_t *n_shared) {
	for (size_t i = 0; i < n; i++) {
		bool may_be = (words[i] & (WORD_PRESENT | WORD_FILE | WORD_EXCLUSIVE)) == WORD_PRESENT;
		words[i] = may_be && *n_shared == 0 ? 0 : words[i];
		*n_shared -= may_be && *n_shared > 0;
	}
}

/** False: too many ranges. What cannot be read is not there: it was unmapped meanwhile. */
static bool read_words(struct pagemap *out, int fd, const struct smaps_area *a) {
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), words[BATCH], bytes = a->end - a->start;
	if (bytes >> LARGE_SHIFT != 0 && a->rss_bytes < bytes / SPARSE) {
		out->skipped_bytes += a->rss_bytes;
		return true;
	}
	uint64_t n_shared = a->shared_bytes / page_bytes;
	uint64_t known = out->n > 0 ? out->items[out->n - 1].end : 0; // if a scan has begun it
	for (uint64_t at = known > a->start ? known : a->start; at < a->end;) {
		size_t n = (size_t)((a->end - at) / page_bytes);
		n = n < BATCH ? n : BATCH;
		ssize_t got = pread(fd, words, n * sizeof *words, (off_t)(at / page_bytes * sizeof *words));
		if (got < (ssize_t)sizeof *words) {
			return true;
		}
		n = (size_t)got / sizeof *words;
		drop_zeros(words, n, &n_shared);
		if (!pagemap_take(out, at, page_bytes, words, n)) {
			return false;
		}
		at += n * page_bytes;
	}
	return true;
}

bool pagemap_look(struct pagemap *out, pid_t pid, const struct smaps *areas, bool can_scan) {
	CLOSED int fd = open(PROCESS_PATH(pid, "pagemap"), O_RDONLY | O_CLOEXEC);
	bool ok = true;
	out->how = fd < 0 ? PAGEMAP_REFUSED : can_scan ? PAGEMAP_SCANNED : PAGEMAP_READ;
	EACH_THAT(a, *areas, fd >= 0 && ok && a->rss_bytes > 0 && !a->is_hugetlb) {
		int scanned = out->how == PAGEMAP_SCANNED ? scan(out, fd, a) : -1;
		out->how = scanned < 0 ? PAGEMAP_READ : out->how;
		ok = scanned < 0 ? read_words(out, fd, a) : scanned > 0;
	}
	return ok;
}
