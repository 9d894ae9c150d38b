// SPDX-License-Identifier: MIT

/*
 * Random processes, joined, against a slow version that asks of every resident page, and of each
 * byte of a page with blocks, who comes first. Longer: PARTS_SEEDS=100000.
 */

#include "parts_world.h"

#include <malloc.h>

static uint8_t bytes_of_page[1 << 16];

enum { NOTHING, ROUNDED, ASKED };

// ---- the slow version

struct slow_row {
	uint64_t bytes, lazy_bytes;
	const char *name;
	uint32_t mapping;
	uint8_t part;
};

static struct {
	struct slow_row rows[256];
	size_t n;
	uint64_t asked[STACKS], resident[STACKS];
	uint32_t blocks[STACKS];
	uint64_t pinned[STACKS + 1], free_of_area, huge_free;
	uint64_t pages[REC_FULLNESS]; // of the heap
} slow;

static struct slow_row *slow_add(uint8_t part, uint32_t mapping, const char *name, uint64_t bytes) {
	bool has_maker = part == REC_PART_MAPPED || part == REC_PART_STACKS || part == REC_PART_SHARED;
	mapping = has_maker ? mapping : 0;
	name = name && *name ? name : NULL;
	size_t i = 0;
	while (i < slow.n &&
			(slow.rows[i].part != part || slow.rows[i].mapping != mapping ||
					(name != slow.rows[i].name &&
							(!name || !slow.rows[i].name || strcmp(name, slow.rows[i].name))))) {
		i++;
	}
	assert_true(i < sizeof slow.rows / sizeof *slow.rows);
	if (i == slow.n) {
		slow.rows[slow.n++] = (struct slow_row){0, 0, name, mapping, part};
	}
	slow.rows[i].bytes += bytes;
	return &slow.rows[i];
}

/** What the allocator has given for a block: by walking its classes. */
static uint64_t slow_class(const struct world *w, const struct block *b) {
	uint64_t page = w->in.page_bytes, class = 16, step = 16;
	if (b->bytes > 1 << 24) { // too far to walk, and nothing is resident there
		return b->bytes;
	}
	if (w->in.is_glibc && b->bytes >= 128 << 10 && b->start % page == 16) {
		for (class = page - 16; class < (b->bytes + 8 + 15) / 16 * 16 + 8 - 16; class += page) {}
		return class;
	}
	if (w->in.is_glibc) { // with the word before the next block
		for (class = 32; class < b->bytes + 8; class += 16) {}
		return class;
	}
	for (int k = 0; class < b->bytes; class += step, k++) {
		step = class >= 128 && (class & (class - 1)) == 0 ? class / 4 : step;
	}
	return class;
}

static uint64_t end_of(const struct block *b) {
	return b->start + (b->bytes ? b->bytes : 1);
}

static bool any_block(const struct world *w, uint64_t start, uint64_t end) {
	for (size_t i = 0; i < w->n_laid; i++) {
		if (w->laid[i].start < end && end_of(&w->laid[i]) > start) {
			return true;
		}
	}
	return false;
}

static void paint(uint64_t page, uint64_t bytes, uint64_t from, uint64_t to, uint8_t as) {
	for (uint64_t at = from > page ? from : page; at < to && at < page + bytes; at++) {
		bytes_of_page[at - page] = as;
	}
}

/** What is free of a page is kept by the block before it there, else by the first. */
static void slow_pins(const struct world *w, uint64_t page) {
	const struct block *owner = NULL, *next = w->laid, *end = w->laid + w->n_laid;
	while (end_of(next) <= page) {
		next++;
	}
	for (uint64_t i = 0; i < w->in.page_bytes; i++) {
		while (next < end && (!owner || next->start <= page + i)) {
			owner = next++;
		}
		if (bytes_of_page[i] == NOTHING) {
			slow.free_of_area++;
			slow.pinned[owner->stack == UINT32_MAX ? STACKS : owner->stack]++;
		}
	}
}

/** True if the page has blocks: its bytes are theirs. */
static bool slow_blocks(const struct world *w, uint64_t page) {
	uint64_t size = w->in.page_bytes, count[3] = {0};
	if (!any_block(w, page, page + size)) {
		return false;
	}
	memset(bytes_of_page, NOTHING, size);
	for (size_t i = 0; i < w->n_laid; i++) {
		const struct block *b = &w->laid[i];
		if (b->start >= page + size || end_of(b) <= page) {
			continue;
		}
		uint64_t end = b->start + slow_class(w, b);
		end = i + 1 < w->n_laid && b[1].start < end ? b[1].start : end;
		paint(page, size, b->start + b->bytes, end, ROUNDED);
		paint(page, size, b->start, b->start + b->bytes, ASKED);
		uint64_t from = b->start > page ? b->start : page, to = b->start + b->bytes;
		to = to < page + size ? to : page + size;
		if (b->stack != UINT32_MAX && to > from) {
			slow.resident[b->stack] += to - from;
		}
	}
	for (uint64_t i = 0; i < size; i++) {
		count[bytes_of_page[i]]++;
	}
	slow_pins(w, page);
	uint64_t tenth = 0;
	while (tenth * size < count[ASKED] * 10) {
		tenth++;
	}
	slow.pages[tenth]++;
	slow_add(REC_PART_HEAP_LIVE, 0, NULL, count[ASKED]);
	slow_add(REC_PART_HEAP_ROUNDING, 0, NULL, count[ROUNDED]);
	slow_add(REC_PART_HEAP_PARTLY_FREE, 0, NULL, count[NOTHING]);
	return true;
}

static bool is_in(const struct parts_range *ranges, size_t n, uint64_t at) {
	for (size_t i = 0; i < n; i++) {
		if (at >= ranges[i].start && at < ranges[i].end) {
			return true;
		}
	}
	return false;
}

static bool is_plain(const struct smaps_area *a) {
	return a->kind == SMAPS_ANONYMOUS && !a->is_shared && !*a->name;
}

struct slow_owner {
	const char *name;
	uint32_t mapping;
	uint8_t part;
};

static bool slow_call(const struct world *w, uint64_t page, struct slow_owner *out) {
	for (size_t i = 0; i < w->n_ranges; i++) {
		const struct mapped_range *r = &w->ranges[i];
		if (page < r->start || page >= r->end) {
			continue;
		}
		bool has_sp = false, ever = false;
		for (size_t k = 0; k < w->in.n_threads; k++) {
			has_sp |= w->threads[k].sp >= r->start && w->threads[k].sp < r->end;
		}
		for (size_t k = 0; k < w->n_ever; k++) {
			ever |= w->ever[k] >> 22 >= r->start >> 22 && w->ever[k] >> 22 <= (r->end - 1) >> 22;
		}
		uint32_t what = r->sort >> 4;
		out->part = any_block(w, r->start, r->end)                         ? REC_PART_HEAP_FREE
				: what == WIRE_MAP_STACK || has_sp                         ? REC_PART_STACKS
				: what != WIRE_MAP_INSIDE && !is_allocators(NULL, r->node) ? REC_PART_MAPPED
				: ever                                                     ? REC_PART_HEAP_FREE
					   : REC_PART_ALLOCATOR_TABLES;
		out->mapping = r->mapping + 1;
		out->name = NULL;
		return true;
	}
	return false;
}

static bool slow_arena(const struct world *w, size_t i, uint64_t page) {
	const struct smaps_area *a = &w->areas.items[i];
	uint64_t start = page >> 26 << 26, end = start + (64 << 20);
	if (!w->in.is_glibc || a->is_shared || !a->is_writable || start < a->start) {
		return false;
	}
	bool has_small = false;
	for (size_t k = 0; k < w->n_laid; k++) {
		const struct block *b = &w->laid[k];
		bool is_mapped = b->bytes >= 128 << 10 && b->start % w->in.page_bytes == 16;
		has_small |= b->start >= start && b->start < end && !is_mapped;
	}
	bool has_reserve = i + 1 < w->areas.n && a->end < end && a[1].start == a->end &&
			!a[1].is_writable && is_plain(&a[1]) && a[1].end >= end && start >= 1ull << 40;
	return has_reserve || (has_small && a->end >= end);
}

/** As far as a line begins with the bss of the file before it. */
static uint64_t slow_bss_end(const struct world *w, size_t i) {
	const struct smaps_area *a = &w->areas.items[i];
	if (i == 0 || a[-1].end != a->start || a[-1].kind != SMAPS_FILE) {
		return a->start;
	}
	uint64_t end = w->in.n_modules ? a->start : a->end;
	for (size_t k = 0; k < w->in.n_modules; k++) {
		if (w->modules[k].start < a->start) {
			end = w->modules[k].end;
		}
	}
	end = (end + w->in.page_bytes - 1) / w->in.page_bytes * w->in.page_bytes;
	return end < a->start ? a->start : end > a->end ? a->end : end;
}

static bool slow_stack(const struct world *w, size_t i, uint64_t page) {
	const struct smaps_area *a = &w->areas.items[i];
	uint64_t size = w->in.page_bytes;
	if (!is_plain(a) || page < slow_bss_end(w, i)) {
		return false;
	}
	for (size_t k = 0; k < w->in.n_threads; k++) {
		const struct parts_thread *t = &w->threads[k];
		bool has_sp = t->sp >= a->start && t->sp < a->end && !any_block(w, t->sp, t->sp + 1);
		bool has_fs = t->fs_base >= a->start && t->fs_base < a->end;
		bool is_elsewhere = t->sp != 0 && !has_sp; // what is here are its thread's variables
		uint64_t from = a->start, to = has_fs ? (t->fs_base / size + 1) * size : a->end;
		if (has_fs && is_elsewhere && (t->fs_base / size - 2) * size > from) {
			from = (t->fs_base / size - 2) * size;
		}
		bool is_sure = has_sp && has_fs && t->sp < t->fs_base;
		if (has_sp && has_fs && t->sp >= t->fs_base) {
			to = a->end;
		}
		if ((has_sp || has_fs) && page >= from && page < to && (is_sure || to - from <= 16 << 20)) {
			return true;
		}
	}
	return false;
}

/** Whose page it is that no block lies on. */
static struct slow_owner slow_owner(const struct world *w, size_t i, uint64_t page, bool is_file) {
	const struct smaps_area *a = &w->areas.items[i];
	struct slow_owner o = {.name = a->name};
	if (is_in(w->ours, w->in.n_ours, page)) {
		return (struct slow_owner){.part = REC_PART_OURS};
	}
	if (a->kind == SMAPS_SHARED || a->kind == SMAPS_FILE || a->kind == SMAPS_KERNEL) {
		o.part = a->kind == SMAPS_SHARED             ? REC_PART_SHARED
				: is_file || a->kind == SMAPS_KERNEL ? REC_PART_FILES
													 : REC_PART_MODULES_WRITTEN;
		struct slow_owner call = {0};
		o.mapping = o.part == REC_PART_SHARED && slow_call(w, page, &call) ? call.mapping : 0;
		return o;
	}
	if (a->kind == SMAPS_DEVICE) {
		o.part = is_file ? REC_PART_FILES : REC_PART_UNKNOWN;
		return o;
	}
	if (a->kind != SMAPS_STACK && slow_call(w, page, &o)) {
		return o;
	}
	o.part = a->kind == SMAPS_HEAP ? REC_PART_HEAP_FREE : REC_PART_STACKS;
	o.name = NULL;
	if (a->kind != SMAPS_ANONYMOUS || slow_arena(w, i, page)) {
		o.part = a->kind == SMAPS_STACK ? REC_PART_STACKS : REC_PART_HEAP_FREE;
		return o;
	}
	if (slow_stack(w, i, page)) {
		return o;
	}
	if (*a->name) {
		return (struct slow_owner){.part = REC_PART_MAPPED, .name = a->name};
	}
	if (page < slow_bss_end(w, i)) {
		return (struct slow_owner){.part = REC_PART_MODULES_WRITTEN, .name = a[-1].name};
	}
	if (i > 0 && a[-1].end == a->start && is_plain(&a[-1]) && !a[-1].is_writable &&
			a->is_writable && a[-1].end - a[-1].start <= 1 << 20 && a->end - a->start <= 16 << 20) {
		return o;
	}
	bool is_heap = !w->in.is_glibc && any_block(w, a->start, a->end), was_before = false;
	const struct parts_seen *seen = NULL;
	for (size_t k = 0; k < w->in.n_seen && w->in.mappings; k++) {
		const struct parts_seen *s = &w->seen[k];
		bool is_newer = !seen || s->time_ns > seen->time_ns;
		seen = page >= s->start && page < s->end && is_newer ? s : seen;
	}
	if (!is_heap && seen) {
		return (struct slow_owner){.part = REC_PART_MAPPED, .name = seen->name};
	}
	for (size_t k = 0; k < w->before.n; k++) {
		was_before |= page >= w->before.items[k].start && page < w->before.items[k].end;
	}
	o.part = is_heap ? REC_PART_HEAP_FREE : was_before ? REC_PART_MAPPED : REC_PART_UNKNOWN;
	o.name = !is_heap && was_before ? "before the attach" : NULL;
	return o;
}

static void slow_pages(const struct world *w) {
	for (size_t i = 0; i < w->n_resident; i++) {
		const struct page *p = &w->resident[i];
		struct slow_owner o = slow_owner(w, p->area, p->at, p->is_file);
		if (o.part == REC_PART_OURS || !slow_blocks(w, p->at)) {
			slow_add(o.part, o.mapping, o.name, w->in.page_bytes);
			slow.free_of_area += o.part == REC_PART_HEAP_FREE ? w->in.page_bytes : 0;
			slow.pages[0] += o.part == REC_PART_HEAP_FREE;
		}
		if (i + 1 == w->n_resident || p[1].area != p->area) {
			uint64_t huge = w->areas.items[p->area].huge_bytes;
			slow.huge_free += huge < slow.free_of_area ? huge : slow.free_of_area;
			slow.free_of_area = 0;
		}
	}
}

/** Without pages: who owns all of a line has it, else nobody. */
static void slow_lines(const struct world *w) {
	for (size_t i = 0; i < w->areas.n; i++) {
		const struct smaps_area *a = &w->areas.items[i];
		bool is_file = a->kind == SMAPS_FILE || a->kind == SMAPS_SHARED;
		uint64_t of_file = is_file ? a->rss_bytes - a->anonymous_bytes : 0;
		struct slow_owner first = slow_owner(w, i, a->start, false);
		bool is_ours = first.part == REC_PART_OURS;
		for (uint64_t at = a->start; a->rss_bytes && at < a->end; at += w->in.page_bytes) {
			struct slow_owner o = slow_owner(w, i, at, false);
			bool is_same_name = strcmp(o.name ? o.name : "", first.name ? first.name : "") == 0;
			if (o.part != first.part || o.mapping != first.mapping || !is_same_name) {
				first = (struct slow_owner){.part = REC_PART_UNKNOWN};
			}
			is_ours &= is_in(w->ours, w->in.n_ours, at);
		}
		of_file = is_ours ? 0 : of_file;
		if (a->rss_bytes > of_file) {
			slow_add(first.part, first.mapping, first.name, a->rss_bytes - of_file);
		}
		if (of_file) {
			bool is_shared = a->kind == SMAPS_SHARED;
			slow_add(is_shared ? REC_PART_SHARED : REC_PART_FILES, is_shared ? first.mapping : 0,
					a->name, of_file);
		}
	}
}

static void slow_join(const struct world *w) {
	memset(&slow, 0, sizeof slow);
	bool has_pages = w->in.pages->how != PAGEMAP_REFUSED;
	if (has_pages) {
		slow_pages(w);
	} else {
		slow_lines(w);
	}
	uint64_t sum = 0;
	for (size_t i = 0; i < slow.n; i++) {
		sum += slow.rows[i].bytes;
	}
	if (w->areas.rss_bytes > sum) {
		slow_add(REC_PART_UNKNOWN, 0, NULL, w->areas.rss_bytes - sum);
	}
	for (size_t i = 0; i < w->n_laid; i++) {
		if (w->laid[i].stack != UINT32_MAX) {
			slow.asked[w->laid[i].stack] += w->laid[i].bytes;
			slow.blocks[w->laid[i].stack]++;
		}
	}
	for (size_t i = 0; i < slow.n; i++) {
		bool is_heap = slow.rows[i].part <= REC_PART_HEAP_FREE;
		if (is_heap && (!has_pages || !w->in.knows_all_blocks)) {
			slow.rows[i].part = REC_PART_HEAP;
		}
	}
}

// ---- comparing

static uint64_t sum_of(const struct parts *p, uint8_t part) {
	uint64_t sum = 0;
	for (size_t i = 0; i < p->rows.n; i++) {
		sum += p->rows.items[i].part == part ? p->rows.items[i].resident_bytes : 0;
	}
	return sum;
}

/** Each row is one of the slow ones, if no part has so many that some are joined. */
static void compare_rows(const struct parts *p, uint8_t part, size_t n_slow) {
	size_t n = 0;
	for (size_t i = 0; i < p->rows.n; i++) {
		const struct parts_row *r = &p->rows.items[i];
		if (r->part != part || r->resident_bytes == 0) {
			continue;
		}
		assert_true(n == 0 || r[-1].resident_bytes >= r->resident_bytes);
		n++;
		for (size_t k = 0; n_slow < PARTS_NAMES && k <= slow.n && part != REC_PART_HEAP; k++) {
			assert_true(k < slow.n);
			const struct slow_row *s = &slow.rows[k];
			if (s->part == part && s->mapping == r->mapping &&
					(r->name ? s->name && strcmp(r->name, s->name) == 0 : !s->name)) {
				assert_int_equal(r->resident_bytes, s->bytes);
				break;
			}
		}
	}
	size_t most = part == REC_PART_HEAP ? 1 : part == REC_PART_MAPPED ? PARTS_MAKERS : PARTS_NAMES;
	assert_int_equal(n, n_slow < most ? n_slow : most);
}

static void compare_untouched(const struct world *w, const struct parts *p) {
	bool can_tell = w->in.pages->how != PAGEMAP_REFUSED && w->in.knows_all_blocks &&
			w->in.pages->skipped_bytes == 0 && p->look.swap_bytes == 0;
	size_t n = 0, n_notable = 0;
	for (uint32_t i = 0; i < STACKS && can_tell; i++) {
		bool is_notable = slow.asked[i] - slow.resident[i] >= PARTS_ABSENT ||
				slow.pinned[i] >= PARTS_PINNED;
		n += is_notable || slow.resident[i] > 0;
		n_notable += is_notable;
	}
	assert_int_equal(p->untouched.n, n);
	for (size_t i = 0; i < n; i++) {
		const struct rec_untouched *u = &p->untouched.items[i];
		assert_int_equal(u->asked_bytes, slow.asked[u->stack]);
		assert_int_equal(u->resident_bytes, slow.resident[u->stack]);
		assert_int_equal(u->pinned_bytes, slow.pinned[u->stack]);
		assert_int_equal(u->blocks, slow.blocks[u->stack]);
		bool is_notable = u->asked_bytes - u->resident_bytes >= PARTS_ABSENT ||
				u->pinned_bytes >= PARTS_PINNED;
		assert_int_equal(is_notable, i < n_notable); // they come first
	}
}

static void compare_fullness(const struct world *w, const struct parts *p) {
	uint64_t live = 0, pages[REC_FULLNESS] = {0};
	for (size_t i = 0; i < p->fullness.n; i++) {
		const struct rec_fullness *f = &p->fullness.items[i];
		assert_true((f->start != 0) == (f->kind == REC_ARENA_AT));
		assert_true(w->in.is_glibc || f->kind == REC_ARENA_AT);
		for (size_t k = 0; k < i; k++) {
			assert_true(
					p->fullness.items[k].kind != f->kind || p->fullness.items[k].start != f->start);
		}
		live += f->live_bytes;
		for (size_t k = 0; k < REC_FULLNESS; k++) {
			pages[k] += f->pages[k];
		}
	}
	bool can_tell = w->in.pages->how != PAGEMAP_REFUSED && w->in.knows_all_blocks;
	assert_int_equal(live, can_tell ? sum_of(p, REC_PART_HEAP_LIVE) : 0);
	for (size_t k = 0; k < REC_FULLNESS; k++) {
		assert_int_equal(pages[k], can_tell ? slow.pages[k] : 0);
	}
}

static void compare(const struct world *w) {
	struct parts p = {0};
	parts_join(&w->in, &p);
	slow_join(w);
	uint64_t sum = 0, asked = 0;
	for (uint8_t part = 0; part < REC_PARTS; part++) {
		uint64_t expected = 0;
		size_t n = 0;
		for (size_t i = 0; i < slow.n; i++) {
			expected += slow.rows[i].part == part ? slow.rows[i].bytes : 0;
			n += slow.rows[i].part == part && slow.rows[i].bytes > 0;
		}
		if (sum_of(&p, part) != expected) {
			world_print(w);
			fail_msg("part %d: %llu instead of %llu bytes", part,
					(unsigned long long)sum_of(&p, part), (unsigned long long)expected);
		}
		compare_rows(&p, part, n);
		sum += expected;
	}
	for (size_t i = 0; i < p.rows.n; i++) {
		asked += p.rows.items[i].asked_bytes;
	}
	assert_int_equal(p.look.rss_bytes, sum);
	assert_int_equal(asked, w->asked_bytes);
	assert_true(p.look.rss_bytes >= w->areas.rss_bytes);
	compare_untouched(w, &p);
	compare_fullness(w, &p);
	assert_int_equal(p.look.huge_free_bytes, slow.huge_free);
	parts_finish(&p);
}

// ---- tests

static void random_processes_have_the_same_parts(void **state) {
	(void)state;
	const char *wanted = getenv("PARTS_SEEDS");
	int n_seeds = wanted ? atoi(wanted) : 1500;
	for (int seed = 0; seed < n_seeds; seed++) {
		struct world w;
		world_make(&w, (unsigned)seed);
		compare(&w);
		world_finish(&w);
	}
}

static struct world failing_world;

static void join_once(void) {
	struct parts p = {0};
	parts_join(&failing_world.in, &p);
	parts_finish(&p);
}

static void each_lack_of_memory_ends_the_process(void **state) {
	(void)state;
	uint64_t n = 0;
	for (unsigned seed = 0; seed < 40; seed++) {
		world_make(&failing_world, seed);
		n += ends_at_each(join_once);
		world_finish(&failing_world);
	}
	assert_true(n > 200);
}

/** Blocks of the real malloc: what one has beyond what was asked for is what malloc says of it. */
static void glibc_rounds_as_it_says(void **state) {
	(void)state;
	enum { MOST = 200000 };
	uint8_t *one = malloc(1);
	size_t usable_of_one = malloc_usable_size(one);
	free(one);
	if (usable_of_one != 24) {
		skip(); // another malloc, as a sanitizer's
	}
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct world w;
	size_t n_exact = 0;
	world_begin(&w, page);
	for (size_t bytes = 1; bytes <= MOST; bytes++) {
		uint8_t *block = malloc(bytes);
		assert_non_null(block);
		world_of_one(&w, (uintptr_t)block, bytes);
		struct parts p = {0};
		parts_join(&w.in, &p);
		uint64_t start = (uintptr_t)block, end = start + bytes, page_end = (end + page - 1) & -page;
		// With the word before the next block, unless it has a mapping of its own
		bool is_mapped = bytes >= 128 << 10 && start % page == 16;
		uint64_t usable = start + malloc_usable_size(block) + (is_mapped ? 0 : 8);
		usable = usable < page_end ? usable : page_end;
		assert_int_equal(sum_of(&p, REC_PART_HEAP_LIVE), bytes);
		uint64_t rounding = sum_of(&p, REC_PART_HEAP_ROUNDING);
		// A rest that is too small for a block stays with the one before
		assert_true(rounding == usable - end || rounding + 16 == usable - end);
		n_exact += rounding == usable - end;
		parts_finish(&p);
		free(block);
	}
	assert_true(n_exact > MOST - 100);
	world_finish(&w);
}

static void untouched_pages_are_counted_exactly(void **state) {
	(void)state;
	for (uint64_t n = 0; n <= 64; n++) {
		struct world w;
		world_begin(&w, 4096);
		world_of_one(&w, 0x7f0000000010, 64 * 4096 - 32);
		for (uint64_t i = 0; i < n; i++) {
			w.touched[i] = 0x7f0000000000 + i * 37 % 64 * 4096;
		}
		world_take_touched(&w, n);
		struct parts p = {0};
		parts_join(&w.in, &p);
		uint64_t resident = 0;
		for (uint64_t i = 0; i < n; i++) {
			uint64_t at = w.touched[i];
			resident += at == 0x7f0000000000 || at == 0x7f0000000000 + 63 * 4096 ? 4080 : 4096;
		}
		assert_int_equal(sum_of(&p, REC_PART_HEAP_LIVE), resident);
		assert_int_equal(p.untouched.n, 1);
		if (n < 64) {
			assert_int_equal(p.untouched.items[0].asked_bytes, 64 * 4096 - 32);
			assert_int_equal(p.untouched.items[0].resident_bytes, resident);
		}
		parts_finish(&p);
		world_finish(&w);
	}
}

/** How full the pages of a block's arena are, if the block begins at `start`. */
static struct rec_fullness fullness_of(uint64_t start, uint64_t bytes, enum smaps_kind kind,
		bool is_glibc) {
	struct world w;
	struct parts p = {0};
	world_begin(&w, 4096);
	world_of_one(&w, start, bytes);
	w.in.is_glibc = is_glibc;
	w.areas.items[0].kind = kind;
	parts_join(&w.in, &p);
	assert_int_equal(p.fullness.n, 1);
	struct rec_fullness f = p.fullness.items[0];
	assert_int_equal(f.live_bytes, bytes);
	parts_finish(&p);
	world_finish(&w);
	return f;
}

static void arenas_are_told_apart(void **state) {
	(void)state;
	// 16 bytes on the first page, 4080 on the next two, 410 on the last
	struct rec_fullness f = fullness_of(0x7f0000000ff0, 16 + 8192 + 410, SMAPS_HEAP, true);
	assert_int_equal(f.kind, REC_ARENA_MAIN);
	assert_int_equal(f.start, 0);
	assert_int_equal(f.pages[1], 1);
	assert_int_equal(f.pages[2], 1); // 410 is more than a tenth
	assert_int_equal(f.pages[10], 2);
	f = fullness_of(0x7f0000000010, 128 << 10, SMAPS_ANONYMOUS, true);
	assert_int_equal(f.kind, REC_ARENA_BLOCKS);
	f = fullness_of(0x7f0000001010, 409, SMAPS_ANONYMOUS, false);
	assert_int_equal(f.kind, REC_ARENA_AT);
	assert_int_equal(f.start, 0x7f0000000000);
	assert_int_equal(f.pages[1], 1); // a tenth
}

/** The last of many are told as one, and none of their pages is lost. */
static void many_arenas_are_joined(void **state) {
	(void)state;
	enum { RANGES = 500 };
	struct world w;
	struct parts p = {0};
	world_begin(&w, 4096);
	world_of_one(&w, 0x100000000000, 4096);
	w.in.is_glibc = false;
	for (uint64_t i = 1; i < RANGES; i++) {
		const uint64_t word = 1ull << 63, at = 0x100000000000 + (i << 27);
		w.at = at;
		put_area(&w, SMAPS_ANONYMOUS, 2, "");
		struct trace_event e = {.kind = TRACE_ALLOC, .ptr = at, .size = 2048, .node = 1};
		aggregate_events(w.blocks, &e, 1);
		assert_true(pagemap_take(&w.pages, at, 4096, &word, 1));
		assert_true(pagemap_take(&w.pages, at + 4096, 4096, &word, 1));
	}
	parts_join(&w.in, &p);
	assert_int_equal(p.fullness.n, PARTS_ARENAS);
	const struct rec_fullness *rest = &p.fullness.items[PARTS_ARENAS - 1];
	assert_int_equal(rest->kind, REC_ARENA_REST);
	assert_int_equal(rest->start, 0);
	assert_int_equal(rest->pages[5], RANGES - PARTS_ARENAS + 1);
	assert_int_equal(rest->pages[0], RANGES - PARTS_ARENAS + 1);
	assert_int_equal(rest->live_bytes, 2048 * (RANGES - PARTS_ARENAS + 1));
	parts_finish(&p);
	world_finish(&w);
}

/** What its line has and no page of it that was read: it went meanwhile, whatever RSS says. */
static void what_went_meanwhile_is_said(void **state) {
	(void)state;
	for (uint64_t went = 0; went <= 8; went++) {
		struct world w;
		world_begin(&w, 4096);
		world_of_one(&w, 0x7f0000000010, 64 * 4096 - 32);
		for (uint64_t i = 0; i < 16; i++) {
			w.touched[i] = 0x7f0000000000 + i * 4096;
		}
		world_take_touched(&w, 16);
		w.areas.rss_bytes += went * 4096;
		w.in.rss_before_bytes = 64 * 4096;
		for (uint64_t came = 0; came <= 8; came += 4) {
			w.in.rss_after_bytes = (64 + came) * 4096;
			struct parts p = {0};
			parts_join(&w.in, &p);
			uint64_t half = came * 4096 / 2, all = went * 4096;
			assert_int_equal(p.look.changed_bytes, came && all > half ? all : half);
			assert_int_equal(sum_of(&p, REC_PART_UNKNOWN), all);
			parts_finish(&p);
		}
		world_finish(&w);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(random_processes_have_the_same_parts),
			cmocka_unit_test(each_lack_of_memory_ends_the_process),
			cmocka_unit_test(glibc_rounds_as_it_says),
			cmocka_unit_test(untouched_pages_are_counted_exactly),
			cmocka_unit_test(arenas_are_told_apart),
			cmocka_unit_test(many_arenas_are_joined),
			cmocka_unit_test(what_went_meanwhile_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
