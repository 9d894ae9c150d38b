// SPDX-License-Identifier: MIT
/*
 * Joins resident pages, live blocks and owners, all sorted by address, in one pass.
 *
 * Blocks on common pages form a group. Its bytes are those that the blocks asked for, then what
 * rounding added, and the rest is free beside them; pages between groups are their owner's.
 *
 *   blocks   ##+  ##+        ####################+          #+
 *   pages   |--------|------|--------|--------|--------|---|------|
 *   owner     group    page   group                      page group
 */
#include "engine/costs/stacks.h"
#include "engine/parts/owners.h"

enum { GLIBC_HEAD = 8, GLIBC_LEAST = 32, ALIGNMENT = 16, SMALL = 128 };

struct joining {
	const struct parts_input *in;
	struct parts *out;
	struct live_blocks blocks;
	size_t next; // the first that does not end before the current page
	struct owners owners;
	struct index rows;              // by part, mapping and name
	struct rec_untouched *by_stack; // NULL: cannot be told
	const struct owner_span *span;  // of the current pages
	struct rec_fullness *arena;
	uint64_t page, live_of_page, tenth;
	uint32_t n_arenas[REC_ARENAS]; // in all, up to the last of a kind; 0: none
	uint64_t heap[REC_PART_HEAP_PARTLY_FREE + 1];
};

// ---- rows

static uint32_t row_of(struct joining *j, uint8_t part, uint32_t mapping, const char *name) {
	uint64_t hash = hash_u64((uint64_t)mapping << 8 | part);
	for (const char *c = name; c && *c; c++) {
		hash = hash_u64(hash ^ (uint8_t)*c);
	}
	return VEC_FIND_OR_ADD(&j->rows, &j->out->rows, hash, r,
			r->part == part && r->mapping == mapping &&
					strcmp(r->name ? r->name : "", name ? name : "") == 0,
			(struct parts_row){.name = name, .mapping = mapping, .part = part});
}

static uint32_t add(struct joining *j, struct owner owner, uint64_t bytes) {
	const char *name = owner.area == AREA_NONE ? ""
			: owner.area == AREA_BEFORE        ? "before the attach"
			: owner.area == AREA_UNREAD        ? "large mappings that old kernels do not list"
			: owner.area >= AREA_SEEN          ? j->in->seen[owner.area - AREA_SEEN].name
											   : j->in->areas->items[owner.area].name;
	j->out->has_seen |= owner.area >= AREA_SEEN && owner.area < AREA_UNREAD;
	bool has_maker = owner.part == REC_PART_MAPPED || owner.part == REC_PART_STACKS ||
			owner.part == REC_PART_SHARED;
	uint32_t row = row_of(j, owner.part, has_maker ? owner.mapping : 0, *name ? name : NULL);
	j->out->rows.items[row].resident_bytes += bytes;
	return row;
}

// ---- blocks

/** About where the memory ends that the allocator reserves for a block. */
static uint64_t end_of_class(const struct parts_input *in, const struct live_block *b) {
	uint64_t bytes = b->bytes ? b->bytes : 1, step = ALIGNMENT;
	if (glibc_has_mapped(in, b)) { // with two words before it and one after
		bytes = ((bytes + GLIBC_HEAD + step - 1) & -step) + GLIBC_HEAD;
		return b->start - ALIGNMENT + ((bytes + in->page_bytes - 1) & -in->page_bytes);
	}
	if (in->is_glibc) {
		bytes += GLIBC_HEAD;
		bytes = bytes < GLIBC_LEAST ? GLIBC_LEAST : bytes;
	} else if (bytes > SMALL) { // four classes from each power of 2 to the next
		step = (uint64_t)1 << (61 - __builtin_clzll(bytes - 1));
	}
	return b->start + ((bytes + step - 1) & -step);
}

// ---- pages

static uint64_t overlap(uint64_t start, uint64_t end, uint64_t from, uint64_t to) {
	start = start > from ? start : from;
	end = end < to ? end : to;
	return end > start ? end - start : 0;
}

/** The arena of a page; `b`: the first block on it, or NULL. Pages come by rising address. */
static struct rec_fullness *arena_at(struct joining *j, const struct live_block *b, uint64_t at) {
	struct parts_fullness *all = &j->out->fullness;
	bool is_brk = j->in->is_glibc && j->in->areas->items[j->span->area].kind == SMAPS_HEAP;
	const uint8_t kind = b && glibc_has_mapped(j->in, b) ? REC_ARENA_BLOCKS
			: is_brk                                     ? REC_ARENA_MAIN
														 : REC_ARENA_AT;
	const uint64_t start = kind == REC_ARENA_AT ? at & -ARENA_BYTES : 0;
	uint32_t *n = &j->n_arenas[kind];
	if (*n == 0 || all->items[*n - 1].start != start) {
		bool is_full = all->n == PARTS_ARENAS;
		struct rec_fullness *arena = &all->items[all->n - is_full];
		arena->start = is_full ? 0 : start;
		arena->kind = is_full ? REC_ARENA_REST : kind;
		*n = all->n += !is_full;
	}
	return &all->items[*n - 1];
}

/** Add pages without blocks; returns their bytes. */
static uint64_t add_empty(struct joining *j, uint64_t at, uint64_t end) {
	if (j->span->owner.part == REC_PART_HEAP_FREE && at < end) {
		arena_at(j, NULL, at)->pages[0] += (uint32_t)((end - at) / j->in->page_bytes);
	}
	return end - at;
}

/** Fill the pages of a block's bytes [from, to), which count as empty so far. */
static void fill(struct joining *j, uint64_t from, uint64_t to) {
	const int bits = __builtin_ctzll(j->in->page_bytes);
	for (uint64_t end; from < to; from = end) {
		bool is_new = from >> bits != j->page;
		j->page = from >> bits;
		end = (j->page + 1) << bits;
		end = end < to ? end : to;
		j->arena->pages[is_new ? 0 : j->tenth]--;
		j->live_of_page = end - from + (is_new ? 0 : j->live_of_page);
		j->tenth = (j->live_of_page * (REC_FULLNESS - 1) + j->in->page_bytes - 1) >> bits;
		j->arena->pages[j->tenth]++;
	}
}

/** Add the pages [start, *end) of the group that begins with j->next; lowers *end to its end. */
static void add_group(struct joining *j, uint64_t start, uint64_t *end) {
	const uint64_t mask = j->in->page_bytes - 1;
	j->arena = arena_at(j, &j->blocks.items[j->next], start);
	uint64_t live = 0, rounding = 0, to = start;
	for (size_t i = j->next; i < j->blocks.n; i++) {
		const struct live_block *b = &j->blocks.items[i];
		if (i > j->next && (b->start & ~mask) >= to) {
			break;
		}
		uint64_t b_end = b->start + b->bytes, class_end = end_of_class(j->in, b);
		uint64_t last = ((b->bytes ? b_end : b_end + 1) + mask) & ~mask;
		if (i + 1 < j->blocks.n) {
			LOWER_TO(class_end, b[1].start);
		}
		to = last > to ? last : to;
		to = to < *end ? to : *end;
		uint64_t here = overlap(b->start, b_end, start, to);
		live += here;
		fill(j, b->start > start ? b->start : start, b_end < to ? b_end : to);
		rounding += overlap(b_end, class_end, start, last < to ? last : to);
		if (j->by_stack && b->stack != STACK_NONE) {
			bool is_last = i + 1 == j->blocks.n || (b[1].start & ~mask) >= to;
			uint64_t before = i == j->next && b->start > start ? b->start - start : 0;
			struct rec_untouched *u = &j->by_stack[b->stack];
			u->resident_bytes += here;
			u->pinned_bytes += before + overlap(class_end, is_last ? to : b[1].start, start, to);
		}
	}
	j->heap[REC_PART_HEAP_LIVE] += live;
	j->heap[REC_PART_HEAP_ROUNDING] += rounding;
	j->heap[REC_PART_HEAP_PARTLY_FREE] += to - start - live - rounding;
	j->arena->live_bytes += live;
	j->arena->pages[0] += (uint32_t)((to - start) / j->in->page_bytes);
	*end = to;
}

/** Add resident pages of one owner; returns the bytes outside of groups. */
static uint64_t add_pages(struct joining *j, uint64_t at, uint64_t end) {
	const uint64_t mask = j->in->page_bytes - 1;
	uint64_t rest = 0;
	while (at < end) {
		const struct live_block *all = j->blocks.items;
		while (j->next < j->blocks.n && all[j->next].start + (all[j->next].bytes ?: 1) <= at) {
			j->next++;
		}
		uint64_t first = j->next < j->blocks.n ? all[j->next].start & ~mask : end;
		if (first >= end) {
			return rest + add_empty(j, at, end);
		}
		uint64_t group = first > at ? first : at, to = end;
		rest += add_empty(j, at, group);
		add_group(j, group, &to);
		at = to;
	}
	return rest;
}

/** `of`: the owner of the anonymous pages. Shared memory has its maker and its file. */
static struct owner owner_of_file(const struct parts_input *in, uint32_t area, struct owner of) {
	bool is_shared = in->areas->items[area].kind == SMAPS_SHARED;
	return (struct owner){.area = area,
			.part = is_shared ? REC_PART_SHARED : REC_PART_FILES,
			.mapping = is_shared ? of.mapping : 0};
}

/** MADV_FREE is only known per line: it counts for who has most of the line. */
static void add_lazy(struct joining *j, uint32_t area, uint32_t row) {
	uint64_t lazy = j->in->areas->items[area].lazy_free_bytes;
	if (row != INDEX_NONE && lazy > 0) {
		struct parts_row *r = &j->out->rows.items[row];
		uint64_t most = r->resident_bytes - r->lazy_free_bytes;
		r->lazy_free_bytes += lazy < most ? lazy : most;
	}
}

/** A large line without any page read is one caller's, if it is entirely that and has no block. */
static uint64_t skipped_bytes(const struct joining *j, const struct owner_span *s) {
	const struct smaps_area *a = &j->in->areas->items[s->area];
	size_t i = sorted_first_of(j->blocks.items, j->blocks.n, sizeof *j->blocks.items, s->start);
	bool is_one = s->owner.part == REC_PART_MAPPED && s->start == a->start && s->end == a->end;
	bool has_block = i < j->blocks.n && j->blocks.items[i].start < s->end;
	return is_one && !has_block && j->in->pages->skipped_bytes >= a->rss_bytes ? a->rss_bytes : 0;
}

static void add_all_pages(struct joining *j) {
	const struct pagemap *pages = j->in->pages;
	uint64_t most = 0, free = 0;
	uint32_t row_of_most = INDEX_NONE;
	for (size_t i = 0, at = 0; i < j->owners.spans.n; i++) {
		const struct owner_span *s = &j->owners.spans.items[i];
		uint64_t own = 0, file = 0;
		j->span = s;
		free -= j->heap[REC_PART_HEAP_PARTLY_FREE];
		while (at < pages->n && pages->items[at].end <= s->start) {
			at++;
		}
		for (size_t k = at; k < pages->n && pages->items[k].start < s->end; k++) {
			const struct pagemap_range *r = &pages->items[k];
			uint64_t from = r->start > s->start ? r->start : s->start;
			uint64_t to = r->end < s->end ? r->end : s->end;
			uint64_t rest = s->owner.part == REC_PART_OURS ? to - from : add_pages(j, from, to);
			*(r->is_file && s->is_file ? &file : &own) += rest;
		}
		free += j->heap[REC_PART_HEAP_PARTLY_FREE];
		free += s->owner.part == REC_PART_HEAP_FREE ? own : 0;
		own = own + file == 0 ? skipped_bytes(j, s) : own;
		uint32_t row = own ? add(j, s->owner, own) : INDEX_NONE;
		(void)(file && add(j, owner_of_file(j->in, s->area, s->owner), file));
		if (own > most) {
			most = own;
			row_of_most = row;
		}
		if (i + 1 == j->owners.spans.n || s[1].area != s->area) {
			const uint64_t huge = j->in->areas->items[s->area].huge_bytes;
			j->out->look.huge_bytes += huge;
			j->out->look.huge_free_bytes += huge < free ? huge : free;
			add_lazy(j, s->area, row_of_most);
			most = free = 0;
			row_of_most = INDEX_NONE;
		}
	}
}

/** Without pages, a line with a single owner is that owner's. */
static void add_all_lines(struct joining *j) {
	const struct owner_span *spans = j->owners.spans.items;
	for (size_t i = 0, k; i < j->owners.spans.n; i = k) {
		const struct smaps_area *a = &j->in->areas->items[spans[i].area];
		struct owner owner = spans[i].owner;
		bool is_file = spans[i].is_file;
		for (k = i + 1; k < j->owners.spans.n && spans[k].area == spans[i].area; k++) {
			is_file |= spans[k].is_file;
			const struct owner o = spans[k].owner;
			if (o.part != owner.part || o.mapping != owner.mapping || o.area != owner.area) {
				owner = (struct owner){.area = AREA_NONE, .part = REC_PART_UNKNOWN};
			}
		}
		uint64_t file = a->rss_bytes > a->anonymous_bytes ? a->rss_bytes - a->anonymous_bytes : 0;
		file = is_file ? file : 0;
		if (a->rss_bytes > file) {
			add_lazy(j, spans[i].area, add(j, owner, a->rss_bytes - file));
		}
		(void)(file && add(j, owner_of_file(j->in, spans[i].area, owner), file));
	}
}

// ---- results

static void add_heap(struct joining *j) {
	for (uint8_t part = 0; part <= REC_PART_HEAP_PARTLY_FREE; part++) {
		const uint32_t row = row_of(j, part, 0, NULL);
		j->out->rows.items[row].resident_bytes += j->heap[part];
		j->out->rows.items[row].asked_bytes = part ? 0 : j->blocks.asked_bytes;
	}
	if (j->out->look.has & REC_HAS_BLOCKS && j->out->look.has & REC_HAS_PAGES) {
		return;
	}
	EACH(row, j->out->rows) {
		row->part = row->part <= REC_PART_HEAP_FREE ? REC_PART_HEAP : row->part;
	}
}

ORDER_OF(by_part_and_bytes, struct parts_row, LOWEST(part) ?: HIGHEST(resident_bytes));

/** Merge the heap into one row, and the smallest of a part's many rows into one without a name. */
static void put_rows(struct parts *out) {
	size_t n = 0, n_of_part = 0;
	vec_sort(&out->rows, by_part_and_bytes);
	for (size_t i = 0; i < out->rows.n; i++) {
		struct parts_row row = out->rows.items[i], *last = n ? &out->rows.items[n - 1] : NULL;
		bool is_new = !last || last->part != row.part;
		n_of_part = is_new ? 0 : n_of_part;
		out->look.rss_bytes += row.resident_bytes;
		size_t most = row.part == REC_PART_MAPPED ? PARTS_MAKERS
				: row.part == REC_PART_HEAP       ? 1
												  : PARTS_NAMES;
		if (n_of_part == most) {
			ADD_FIELDS(last, &row, resident_bytes, lazy_free_bytes, asked_bytes);
			last->mapping = 0;
			last->name = NULL;
		} else if (row.resident_bytes > 0 || row.asked_bytes > 0) {
			out->rows.items[n++] = row;
			n_of_part++;
		}
	}
	out->rows.n = n;
}

static uint64_t weight_of(const struct rec_untouched *u) {
	uint64_t absent = u->asked_bytes - u->resident_bytes;
	uint64_t pinned = u->pinned_bytes < PARTS_PINNED ? 0 : u->pinned_bytes;
	absent = absent < PARTS_ABSENT ? 0 : absent;
	return absent > pinned ? absent : pinned;
}

ORDER_OF(by_weight, struct rec_untouched,
		compare_u64(weight_of(b), weight_of(a)) ?: HIGHEST(resident_bytes));

/** Count what is asked for, if whatever is not resident is known to be untouched. */
static void start_untouched(struct joining *j) {
	if (j->in->pages->how == PAGEMAP_REFUSED || j->in->pages->skipped_bytes > 0 ||
			j->out->look.swap_bytes > 0 || !j->in->knows_all_blocks) {
		return;
	}
	j->by_stack = memory_new(j->blocks.n_stacks, sizeof *j->by_stack);
	EACH_THAT(b, j->blocks, b->stack != STACK_NONE) {
		j->by_stack[b->stack].stack = b->stack;
		j->by_stack[b->stack].blocks++;
		j->by_stack[b->stack].asked_bytes += b->bytes;
	}
}

static void put_untouched(struct joining *j) {
	EACH_OF_THAT(u, j->by_stack, j->blocks.n_stacks, weight_of(u) + u->resident_bytes > 0) {
		(void)vec_add(&j->out->untouched, *u);
	}
	vec_sort(&j->out->untouched, by_weight);
	LOWER_TO(j->out->untouched.n, PARTS_STACKS);
}

/**
 * What was resident in a line but not in the pages that were read has no owner. If all were read
 * and the process runs, it vanished in between; RSS does not show it if as much came.
 */
static void add_rest(struct joining *j) {
	uint64_t sum = SUM(i, j->out->rows.n, j->out->rows.items[i].resident_bytes);
	if (j->in->areas->rss_bytes > sum) {
		bool is_unread = j->in->pages->skipped_bytes > 0;
		const struct owner nobody = {.area = is_unread ? AREA_UNREAD : AREA_NONE,
				.part = REC_PART_UNKNOWN};
		uint64_t rest = j->in->areas->rss_bytes - sum;
		(void)add(j, nobody, rest);
		if (!is_unread && j->out->look.changed_bytes > 0) {
			RAISE_TO(j->out->look.changed_bytes, rest);
		}
	}
}

void parts_join(const struct parts_input *in, struct parts *out) {
	struct joining j = {.in = in, .out = out};
	bool has_pages = in->pages->how != PAGEMAP_REFUSED;
	out->look.has = (uint8_t)(REC_HAS_SIZES | (has_pages ? REC_HAS_PAGES : 0) |
			(in->knows_all_blocks ? REC_HAS_BLOCKS : 0) | (in->mappings ? REC_HAS_MAKERS : 0));
	uint64_t before = in->rss_before_bytes, after = in->rss_after_bytes;
	out->look.changed_bytes = (before > after ? before - after : after - before) / 2;
	out->look.swap_bytes = SUM(i, in->areas->n, in->areas->items[i].swap_bytes);
	live_blocks_list(in->blocks, &j.blocks);
	start_untouched(&j);
	owners_find(in, j.blocks.items, j.blocks.n, &j.owners);
	if (has_pages) {
		add_all_pages(&j);
	} else {
		add_all_lines(&j);
	}
	add_heap(&j);
	add_rest(&j);
	put_rows(out);
	out->fullness.n = out->look.has & REC_HAS_BLOCKS ? out->fullness.n : 0;
	put_untouched(&j);
	free(j.by_stack);
	index_finish(&j.rows);
	vec_finish(&j.owners.spans);
	vec_finish(&j.blocks);
}

void parts_finish(struct parts *p) {
	CALL_FOR(vec_finish, p, rows, untouched);
}
