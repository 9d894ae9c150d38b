// SPDX-License-Identifier: MIT
/* What a look reads of the process: its mappings, which pages are resident, and whose some are. */
#include "collector/looks/view.h"

#include "base/sorted.h"
#include "elf/image.h"
#include "sys/clock.h"
#include "sys/process.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { HEADER_BYTES = 4096, BSS_MOST_BYTES = 1 << 20 };

static bool add_range(struct view *v, bool is_ours, uint64_t start, uint64_t end) {
	struct parts_range *range = is_ours ? vec_push(&v->ours) : vec_push(&v->modules);
	if (range) {
		*range = (struct parts_range){start, end};
	}
	return range != NULL;
}

/** The segment, and the recorder with its memory, by the names that they have. */
static bool is_named_ours(const char *name) {
	const char *base = strrchr(name, '/');
	return strncmp(name, "/memfd:" SEGMENT_MAPPING_NAME, 7 + strlen(SEGMENT_MAPPING_NAME)) == 0 ||
			strcmp(name, "[anon:" SEGMENT_MAPPING_NAME "]") == 0 ||
			strcmp(name, "[anon_shmem:" SEGMENT_MAPPING_NAME "]") == 0 ||
			(base && strncmp(base, "/libheaptrack_", 14) == 0);
}

/** Its bss has no name: it follows the file. */
static bool find_ours(struct view *v) {
	bool was_ours = false;
	for (size_t i = 0; i < v->areas.n; i++) {
		const struct smaps_area *a = &v->areas.items[i];
		bool is_bss = was_ours && !*a->name && a[-1].end == a->start && a[-1].kind == SMAPS_FILE &&
				a->end - a->start <= BSS_MOST_BYTES;
		was_ours = is_named_ours(a->name) || is_bss;
		if (was_ours && !add_range(v, true, a->start, a->end)) {
			return false;
		}
	}
	return true;
}

/** Called before find_ours; it is the program's memory: ranges may be anything. */
static bool take_own(struct view *v, const struct wire_range own[WIRE_N_OWN]) {
	for (unsigned i = 0; i < WIRE_N_OWN; i++) {
		uint64_t at = atomic_load(&own[i].at), bytes = atomic_load(&own[i].bytes);
		if (at != 0 && bytes != 0 && bytes < UINT64_MAX - at &&
				!add_range(v, true, at, at + bytes)) {
			return false;
		}
	}
	return true;
}

/** By the header that lies in its first page. */
static bool find_module(struct view *v, int memory, const struct smaps_area *a) {
	uint8_t bytes[HEADER_BYTES];
	struct elf_image elf;
	struct elf_segment s;
	struct err err;
	uint64_t low = UINT64_MAX, high = 0;
	ssize_t n = pread(memory, bytes, sizeof bytes, (off_t)a->start);
	if (n <= 0 || !elf_image_init(&elf, slice_of(bytes, (size_t)n), &err)) {
		return true;
	}
	for (uint32_t i = 0; elf_segment_at(&elf, i, &s); i++) {
		if (s.type == PT_LOAD) {
			uint64_t end = s.address + s.memory_bytes;
			low = s.address < low ? s.address : low;
			high = end > high && end >= s.address ? end : high;
		}
	}
	low &= -(uint64_t)sysconf(_SC_PAGESIZE);
	return low >= high || add_range(v, false, a->start, a->start + high - low);
}

static bool find_modules(struct view *v, pid_t pid) {
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	int memory = open(path, O_RDONLY | O_CLOEXEC);
	bool ok = true;
	for (size_t i = 0; memory >= 0 && ok && i < v->areas.n; i++) {
		const struct smaps_area *a = &v->areas.items[i];
		bool may_begin = a->kind == SMAPS_FILE && a->offset == 0 && a->rss_bytes > 0;
		ok = !may_begin || find_module(v, memory, a);
	}
	if (memory >= 0) {
		(void)close(memory);
	}
	return ok;
}

static uint64_t rss_of(pid_t pid) {
	struct process_memory memory;
	return process_memory(pid, &memory) ? memory.rss_bytes : 0;
}

bool view_read(struct view *v, pid_t pid, const struct wire_range own[WIRE_N_OWN]) {
	uint64_t start_ns = clock_thread_cpu_ns();
	v->rss_before_bytes = rss_of(pid);
	bool ok = smaps_read(&v->areas, pid) && pagemap_look(&v->pages, pid, &v->areas, true);
	v->rss_after_bytes = ok ? rss_of(pid) : 0;
	ok = ok && take_own(v, own) && find_ours(v) && find_modules(v, pid);
	if (v->ours.n > 1) {
		qsort(v->ours.items, v->ours.n, sizeof *v->ours.items, by_number);
	}
	v->cost_ns = clock_thread_cpu_ns() - start_ns;
	return ok;
}

void view_take_rss(struct view *v, pid_t pid) {
	v->rss_after_bytes = rss_of(pid);
}

void view_finish(struct view *v) {
	smaps_finish(&v->areas);
	pagemap_finish(&v->pages);
	vec_finish(&v->ours);
	vec_finish(&v->modules);
}
