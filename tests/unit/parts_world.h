// SPDX-License-Identifier: MIT
#pragma once

/** For tests of the parts: random processes, as they look from outside. */

#include "base/vec.h"
#include "engine/parts.h"
#include "failing.h"
#include "trace/recording.h"
#include "wire/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum {
	STACKS = 6,
	AREAS = 24,
	BLOCKS = 80,
	PAGES_MOST = 400,
	RANGES_MOST = 400,
	THREADS = 4,
	SEEN = 6
};

struct block {
	uint64_t start, bytes;
	uint32_t stack; // UINT32_MAX: from before an attach
};

struct page {
	uint64_t at;
	size_t area;
	bool is_file;
};

struct world {
	struct parts_input in; // made of what follows
	struct smaps areas;
	struct smaps before;
	struct pagemap pages;
	struct aggregate *blocks;
	struct mappings *mappings;
	struct parts_thread threads[THREADS];
	struct parts_seen seen[SEEN];
	struct parts_range ours[2], modules[AREAS];
	// The same, slow
	struct page resident[PAGES_MOST];
	struct block live[BLOCKS], laid[BLOCKS]; // `laid`: by address, without what overlaps
	struct mapped_range ranges[RANGES_MOST];
	uint64_t ever[BLOCKS]; // addresses
	uint64_t touched[64], asked_bytes, at;
	size_t n_resident, n_live, n_laid, n_ranges, n_ever;
	bool is_dense;
};

// ---- a random process

static uint64_t below(uint64_t n) {
	return (uint64_t)rand() % n;
}

static bool is_allocators(void *user, uint32_t node) {
	(void)user;
	return node == 3;
}

static struct smaps_area *put_area(struct world *w, enum smaps_kind kind, uint64_t pages,
		const char *name) {
	struct smaps_area *a = vec_push(&w->areas);
	assert_non_null(a);
	a->start = w->at;
	a->end = w->at += pages * w->in.page_bytes;
	a->kind = kind;
	a->name = name;
	a->is_writable = true;
	return a;
}

/** What is resident of the last area: every page in `one_in`. */
static void touch(struct world *w, unsigned one_in) {
	size_t i = w->areas.n - 1;
	struct smaps_area *a = &w->areas.items[i];
	bool may_be_file = a->kind == SMAPS_FILE || a->kind == SMAPS_SHARED;
	uint64_t mixed = below(3);
	uint64_t end = a->start + 40 * w->in.page_bytes;
	end = a->is_hugetlb ? a->start : end < a->end ? end : a->end;
	for (uint64_t at = a->start; at < end && w->n_resident < PAGES_MOST; at += w->in.page_bytes) {
		if (below(one_in)) {
			continue;
		}
		bool is_file = may_be_file && (a->kind == SMAPS_SHARED || below(3) < mixed);
		w->resident[w->n_resident++] = (struct page){at, i, is_file};
		uint64_t word = 1ull << 63 | (is_file ? 1ull << 61 : 0);
		assert_true(pagemap_take(&w->pages, at, w->in.page_bytes, &word, 1));
		a->rss_bytes += w->in.page_bytes;
		a->anonymous_bytes += is_file ? 0 : w->in.page_bytes;
	}
}

static void put_module(struct world *w) {
	static const char *const names[] = {"/lib/a.so", "/lib/b.so", "/usr/bin/c"};
	const char *name = names[below(3)];
	uint64_t start = w->at;
	put_area(w, SMAPS_FILE, 1 + below(6), name)->is_writable = false;
	touch(w, 2);
	put_area(w, SMAPS_FILE, 1 + below(3), name);
	touch(w, 1 + (unsigned)below(2));
	w->modules[w->in.n_modules++] = (struct parts_range){start, w->at + below(40000)};
	if (below(3)) { // bss, and perhaps what the kernel has joined with it
		put_area(w, SMAPS_ANONYMOUS, 1 + below(12), "");
		touch(w, 1 + (unsigned)below(3));
	}
}

static void put_arena(struct world *w) {
	w->at = (w->at + (64 << 20)) >> 26 << 26;
	w->at -= below(3) ? 0 : w->in.page_bytes; // joined with what was there before
	bool is_full = below(6) == 0;
	put_area(w, SMAPS_ANONYMOUS, is_full ? (64 << 20) / w->in.page_bytes + 3 : 1 + below(14), "");
	touch(w, 1 + (unsigned)below(2));
	uint64_t next = (w->at + (64 << 20) - 1) >> 26 << 26;
	if (next > w->at && below(5)) {
		put_area(w, SMAPS_ANONYMOUS, (next - w->at) / w->in.page_bytes + below(2), "")
				->is_writable = false;
	}
}

static void put_stack(struct world *w) {
	if (below(5)) {
		put_area(w, SMAPS_ANONYMOUS, 1 + below(3), "")->is_writable = false;
	}
	uint64_t start = w->at;
	put_area(w, SMAPS_ANONYMOUS, 4 + below(12), "");
	touch(w, 2);
	if (w->in.n_threads < THREADS && below(3)) {
		struct parts_thread *t = &w->threads[w->in.n_threads++];
		t->sp = below(4) ? start + below(w->at - start) : below(2);
		t->fs_base = below(4) ? start + below(w->at - start) : below(2);
	}
}

static void put_other(struct world *w) {
	static const struct {
		enum smaps_kind kind;
		const char *name;
	} others[] = {{SMAPS_ANONYMOUS, ""}, {SMAPS_ANONYMOUS, ""}, {SMAPS_ANONYMOUS, ""},
			{SMAPS_ANONYMOUS, "[anon:pool]"}, {SMAPS_HEAP, "[heap]"}, {SMAPS_STACK, "[stack]"},
			{SMAPS_SHARED, "/memfd:x (deleted)"}, {SMAPS_SHARED, "/dev/shm/y"},
			{SMAPS_DEVICE, "/dev/dri/card0"}, {SMAPS_KERNEL, "[vdso]"}, {SMAPS_FILE, "/data/base"},
			{SMAPS_FILE, "/anon_hugepage (deleted)"}};
	size_t which = below(12);
	bool is_huge = below(20) == 0 && w->at >> 46 == 0 && w->pages.how != PAGEMAP_REFUSED;
	uint64_t pages = is_huge ? (100ull << 40) / w->in.page_bytes : 1 + below(20);
	struct smaps_area *a = put_area(w, others[which].kind, pages, others[which].name);
	a->is_shared = a->kind == SMAPS_SHARED || a->kind == SMAPS_DEVICE;
	a->is_hugetlb = which == 11;
	a->is_writable = below(8) > 0;
	touch(w, 1 + (unsigned)below(4));
}

static void put_areas(struct world *w) {
	w->at = below(4) ? 0x100000000000 : 0xc000000000;
	while (w->areas.n < AREAS - 4 && below(14)) {
		w->at += below(2) ? 0 : below(8) * w->in.page_bytes;
		uint64_t which = below(10);
		(which == 0 ? put_module : which == 1 ? put_arena : which == 2 ? put_stack : put_other)(w);
	}
	for (size_t i = 0; i < w->areas.n; i++) {
		struct smaps_area *a = &w->areas.items[i];
		bool has_more = w->in.pages->how != PAGEMAP_REFUSED && below(12) == 0;
		a->rss_bytes += has_more && !a->is_hugetlb ? below(3) * w->in.page_bytes : 0;
		a->huge_bytes = below(3) ? 0 : a->anonymous_bytes / (1 + below(2));
		a->swap_bytes = below(100) ? 0 : w->in.page_bytes;
		w->areas.rss_bytes += a->rss_bytes;
	}
}

static uint64_t some_address(const struct world *w, uint64_t *room) {
	const struct smaps_area *a = &w->areas.items[below(w->areas.n)];
	uint64_t pages = (a->end - a->start) / w->in.page_bytes;
	uint64_t page = below(pages < 24 ? pages : 24);
	*room = pages - page;
	return a->start + page * w->in.page_bytes;
}

static void keep_range(void *user, const struct mapped_range *range) {
	struct world *w = user;
	assert_true(w->n_ranges < RANGES_MOST);
	w->ranges[w->n_ranges++] = *range;
}

static void call_maps(struct world *w) {
	static const uint32_t whats[] = {WIRE_MAP_PLAIN, WIRE_MAP_PLAIN, WIRE_MAP_FILE, WIRE_MAP_BRK,
			WIRE_MAP_STACK, WIRE_MAP_INSIDE, WIRE_MAP_INSIDE};
	w->mappings = mappings_create(w->in.page_bytes);
	for (uint64_t i = 0, n = below(40); i < n; i++) {
		uint64_t room, which = below(8);
		struct trace_event e = {.ptr = some_address(w, &room), .time_ns = i + 1, .thread = 1};
		e.kind = which < 5 ? KIND_MAP : which < 7 ? KIND_UNMAP : KIND_CHANGED;
		e.size = (1 + below(below(4) ? room < 24 ? room : 24 : 60)) * w->in.page_bytes -
				below(4096);
		e.ptr |= e.kind == KIND_MAP ? 3 | whats[below(7)] << 4 : below(8);
		e.ptr &= e.kind == KIND_UNMAP ? ~0xffull : ~0ull;
		e.node = e.kind == KIND_MAP ? 1 + (uint32_t)below(6) : 0;
		mappings_event(w->mappings, &e);
	}
	mappings_each(w->mappings, keep_range, w);
	w->in.mappings = w->mappings;
}

static void put_seen(struct world *w) {
	for (w->in.n_seen = 0; w->in.n_seen < below(SEEN + 1); w->in.n_seen++) {
		struct parts_seen *s = &w->seen[w->in.n_seen];
		uint64_t room;
		s->start = some_address(w, &room);
		s->end = s->start + (1 + below(30)) * w->in.page_bytes;
		s->time_ns = 1 + below(5) * SEEN + w->in.n_seen; // in no order
		(void)snprintf(s->name, sizeof s->name, "thread %zu", w->in.n_seen);
	}
	w->in.seen = w->seen;
}

static uint64_t some_size(const struct world *w, uint64_t at) {
	uint64_t kind = below(40);
	return kind == 0                      ? 1ull << (30 + below(17))
			: kind < 4                    ? 0
			: at % w->in.page_bytes == 16 ? (128 << 10) - 40 + below(80) * (1 + below(700))
			: kind < 8                    ? below(5 * w->in.page_bytes)
			: w->is_dense                 ? 1 + below(60)
										  : 1 + below(2000);
}

static void free_live(struct world *w, uint64_t ptr) {
	for (size_t i = 0; i < w->n_live; i++) {
		if (w->live[i].start == ptr) {
			w->live[i] = w->live[--w->n_live];
		}
	}
}

static void allocate(struct world *w, uint64_t ptr, uint64_t time_ns) {
	static uint32_t rows[STACKS];
	struct trace_event e = {.ptr = ptr, .size = some_size(w, ptr), .time_ns = time_ns, .thread = 1};
	e.kind = TRACE_ALLOC;
	e.node = 1 + (uint32_t)below(STACKS);
	uint32_t n = time_ns == 1 ? 0 : 1;
	for (size_t i = 0; i < STACKS; i++) {
		rows[i] = time_ns == 1 ? 0 : rows[i];
		n += rows[i] > 0;
	}
	n -= time_ns != 1;
	rows[e.node - 1] = rows[e.node - 1] ? rows[e.node - 1] : n + 1; // as they come
	free_live(w, ptr);
	w->live[w->n_live++] = (struct block){ptr, e.size, rows[e.node - 1] - 1};
	if (ptr % 16 == 0) {
		w->ever[w->n_ever++] = ptr;
	}
	aggregate_events(w->blocks, &e, 1);
}

static void put_blocks(struct world *w) {
	assert_int_equal(aggregate_thread(w->blocks, 1, 1, 0), 1);
	uint64_t room, last = some_address(w, &room);
	w->is_dense = below(2);
	for (uint64_t i = 1, n = below(BLOCKS - 10); i <= n; i++) {
		uint64_t ptr = some_address(w, &room) + below(w->in.page_bytes / 16) * 16;
		ptr = w->is_dense && below(8) ? last + (1 + below(3)) * 16 : ptr;
		ptr += below(10) ? 0 : below(16);
		ptr = below(6) ? ptr : (ptr & -w->in.page_bytes) + 16;
		last = ptr & ~15ull;
		allocate(w, ptr, i);
		if (below(5) == 0 && w->n_live > 0) {
			struct trace_event e = {.ptr = w->live[below(w->n_live)].start,
					.time_ns = i,
					.thread = 1};
			e.kind = TRACE_FREE;
			free_live(w, e.ptr);
			aggregate_events(w->blocks, &e, 1);
		}
	}
}

static bool is_live(const struct world *w, uint64_t at) {
	for (size_t i = 0; i < w->n_live; i++) {
		if (w->live[i].start == at) {
			return true;
		}
	}
	return false;
}

/** Blocks from before an attach, as its search finds them. */
static void put_old_blocks(struct world *w) {
	enum { OLD = 8 };
	struct extent *blocks = calloc(OLD, sizeof *blocks);
	uint64_t room, at = some_address(w, &room);
	for (size_t i = 0; i < OLD; i++) {
		do {
			at += 16 + below(200) * 16;
		} while (is_live(w, at));
		blocks[i] = (struct extent){at, 24 + below(100) * 16};
		w->live[w->n_live++] = (struct block){at, blocks[i].bytes, UINT32_MAX};
	}
	aggregate_old_blocks(w->blocks, blocks, OLD);
}

/** The first of two that overlap has the bytes. */
static void lay_blocks(struct world *w) {
	uint64_t end = 0;
	for (uint64_t from = 0; w->n_laid < BLOCKS;) {
		const struct block *first = NULL;
		for (size_t i = 0; i < w->n_live; i++) {
			const struct block *b = &w->live[i];
			first = b->start >= from && (!first || b->start < first->start) ? b : first;
		}
		if (!first) {
			return;
		}
		struct block b = *first;
		uint64_t b_end = b.start + b.bytes;
		from = b.start + 1;
		w->asked_bytes += b.bytes;
		if (b.start >= end || b_end > end) {
			b.bytes = b.start < end ? b_end - end : b.bytes;
			b.start = b.start < end ? end : b.start;
			w->laid[w->n_laid++] = b;
			end = b.start + (b.bytes ? b.bytes : 1);
		}
	}
}

/** Some ranges of addresses that have been mapped for long. */
static void put_before(struct world *w) {
	uint64_t end = 0;
	for (size_t i = 0; i < w->areas.n; i++) {
		uint64_t at = w->areas.items[i].start + below(4) * w->in.page_bytes;
		if (at >= end && below(2)) {
			struct smaps_area *a = vec_push(&w->before);
			assert_non_null(a);
			a->start = at;
			a->end = end = at + (1 + below(20)) * w->in.page_bytes;
		}
	}
	w->in.before = &w->before;
}

static void put_ours(struct world *w) {
	uint64_t room, pages = 1 + below(4);
	for (size_t i = 0, n = below(3) ? 0 : 1 + below(2); i < n; i++) {
		uint64_t at = some_address(w, &room);
		uint64_t end = at + pages * w->in.page_bytes;
		if (i == 0 || at >= w->ours[0].end) {
			w->ours[w->in.n_ours++] = (struct parts_range){at, end};
		}
	}
}

static void world_begin(struct world *w, uint64_t page_bytes) {
	memset(w, 0, sizeof *w);
	w->in = (struct parts_input){.page_bytes = page_bytes,
			.areas = &w->areas,
			.pages = &w->pages,
			.threads = w->threads,
			.ours = w->ours,
			.modules = w->modules,
			.is_allocators = is_allocators,
			.knows_all_blocks = true};
	w->pages.how = PAGEMAP_SCANNED;
	w->blocks = aggregate_create(NULL);
	w->in.blocks = w->blocks;
}

static inline void world_make(struct world *w, unsigned seed) {
	srand(seed);
	world_begin(w, below(5) ? 4096 : 65536);
	w->in.is_glibc = below(2);
	w->in.knows_all_blocks = below(4) > 0;
	w->pages.how = below(6) ? PAGEMAP_SCANNED : PAGEMAP_REFUSED;
	put_areas(w);
	if (w->areas.n > 0) {
		if (below(4)) {
			call_maps(w);
		}
		put_blocks(w);
		if (below(4) == 0) {
			put_old_blocks(w);
		}
		put_ours(w);
		if (below(3) == 0) {
			put_before(w);
		}
		if (below(2)) {
			put_seen(w);
		}
	}
	w->in.n_modules = below(8) ? w->in.n_modules : 0;
	lay_blocks(w);
}

/** A block of glibc's and nothing else, all of its pages resident. */
static inline void world_of_one(struct world *w, uint64_t start, uint64_t bytes) {
	uint64_t page = w->in.page_bytes;
	struct trace_event events[2] = {{.kind = TRACE_FREE, .ptr = w->live[0].start}};
	size_t n = w->n_live;
	w->in.is_glibc = true;
	w->areas.n = w->pages.n = 0;
	w->at = start & -page;
	struct smaps_area *a = put_area(w, SMAPS_ANONYMOUS, (start % page + bytes + page - 1) / page,
			"");
	a->rss_bytes = w->areas.rss_bytes = a->end - a->start;
	uint64_t word = 1ull << 63;
	for (uint64_t at = a->start; at < a->end; at += page) {
		assert_true(pagemap_take(&w->pages, at, page, &word, 1));
	}
	events[n].ptr = start;
	events[n].size = bytes;
	events[n].node = 1;
	events[n].kind = TRACE_ALLOC;
	w->live[0].start = start;
	w->n_live = 1;
	aggregate_events(w->blocks, events, n + 1);
}

/** Of these pages alone. */
static inline void world_take_touched(struct world *w, uint64_t n) {
	vec_finish(&w->pages);
	w->areas.rss_bytes = w->areas.items[0].rss_bytes = n * w->in.page_bytes;
	w->pages.how = PAGEMAP_SCANNED;
	qsort(w->touched, n, sizeof *w->touched, by_number);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t word = 1ull << 63;
		assert_true(pagemap_take(&w->pages, w->touched[i], w->in.page_bytes, &word, 1));
	}
}

static inline void world_finish(struct world *w) {
	mappings_destroy(w->mappings);
	aggregate_destroy(w->blocks);
	smaps_finish(&w->areas);
	smaps_finish(&w->before);
	vec_finish(&w->pages);
}

static inline void world_print(const struct world *w) {
	print_message("pages of %llu, glibc %d, all blocks %d, how %d\n",
			(unsigned long long)w->in.page_bytes, w->in.is_glibc, w->in.knows_all_blocks,
			w->pages.how);
	for (size_t i = 0; i < w->areas.n; i++) {
		const struct smaps_area *a = &w->areas.items[i];
		print_message("area %llx-%llx kind %d w %d rss %llu %s\n", (unsigned long long)a->start,
				(unsigned long long)a->end, a->kind, a->is_writable,
				(unsigned long long)a->rss_bytes, a->name);
	}
	for (size_t i = 0; i < w->n_laid; i++) {
		print_message("block %llx + %llu\n", (unsigned long long)w->laid[i].start,
				(unsigned long long)w->laid[i].bytes);
	}
	for (size_t i = 0; i < w->n_ranges; i++) {
		print_message("range %llx-%llx node %u sort %x\n", (unsigned long long)w->ranges[i].start,
				(unsigned long long)w->ranges[i].end, w->ranges[i].node, w->ranges[i].sort);
	}
	for (size_t i = 0; i < w->in.n_ours; i++) {
		print_message("ours %llx-%llx\n", (unsigned long long)w->ours[i].start,
				(unsigned long long)w->ours[i].end);
	}
	for (size_t i = 0; i < w->in.n_modules; i++) {
		print_message("module %llx-%llx\n", (unsigned long long)w->modules[i].start,
				(unsigned long long)w->modules[i].end);
	}
	for (size_t i = 0; i < w->in.n_threads; i++) {
		print_message("thread sp %llx fs %llx\n", (unsigned long long)w->threads[i].sp,
				(unsigned long long)w->threads[i].fs_base);
	}
}
