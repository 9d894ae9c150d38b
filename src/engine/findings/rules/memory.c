// SPDX-License-Identifier: MIT
/* What of RSS is in no live block, and what of live blocks is not in memory, by looks at pages. */
#include "engine/findings/parts.h"
#include "wire/event.h"

enum { LARGE_BYTES = 8000000, MAPPED_BYTES = 4000000, UNTOUCHED_BYTES = 1000000 };
enum { PINNED_BYTES = 4000000, FEW = 4 }; // free bytes on pages; times the blocks' bytes
enum { LONG = 4 };                        // as a fraction (1/LONG) of the time until a look
// Makers; rises from look to look, over at least this time
enum { GROWING_MOST = 3, RISES = 3, LEAST_NS = 1000000000 };

/** Resident without heaptrack's own: what rules compare with. */
static uint64_t own_rss(const struct memory_look *m) {
	return m->look->rss_bytes - m->bytes[REC_PART_OURS];
}

/** Does each of its pages have an owner? */
static bool has_pages(const struct memory_look *m) {
	return m->look && (m->look->has & REC_HAS_PAGES);
}

/** "42.0 MB (30 % of RSS)". */
#define SHARE(m, bytes)                                         \
	FORMAT(3 * HUMAN_MAX, "%s (%s of RSS)", HUMAN_BYTES(bytes), \
			HUMAN_PERCENT((bytes), (m)->look->rss_bytes))

/** "at the end", "at 3.20 s". */
#define WHEN(m)                                      \
	((m)->look->at == REC_AT_END ? "at the end"      \
					: (m)->look->at == REC_AT_DETACH \
					? "at the detach"                \
					: FORMAT(2 * HUMAN_MAX, "at %s", HUMAN_DURATION((m)->look->time_ns)))

static void put_numbers(struct finder *f, const struct memory_look *m, uint64_t bytes) {
	finder_put(f, "bytes", bytes);
	FINDER_PUT(f, m->look, rss_bytes, time_ns);
}

// ---- free, and kept by malloc

/** How to make allocators give back free memory; a test tries each. */
static const struct {
	const char *library, *words;
} allocators[] = {
		{"libjemalloc",
				"MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0 makes jemalloc give it back"},
		{"libtcmalloc",
				"MallocExtension_ReleaseFreeMemory() makes tcmalloc give back what its "
				"caches do not hold"},
		{"libmimalloc", "MIMALLOC_RESET_DELAY=0 makes mimalloc give it back"},
		{"libc.so.6", "malloc_trim(0) makes glibc give it back"},
};
enum { ALLOCATORS = N_OF(allocators) };

/** The first of those that the last image used. NULL: none, or others as well. */
static const char *remedy(const struct recording *r) {
	size_t best = ALLOCATORS;
	for (uint32_t i = 1; i < r->modules.n; i++) {
		const struct rec_module *m = &r->modules.items[i];
		struct slice name = path_base(r->strings.items[m->path]);
		for (size_t k = 0; m->image == r->meta.n_images && k < best; k++) {
			best = starts_with(name, allocators[k].library) ? k : best;
		}
	}
	for (uint32_t i = 0; i < r->allocators.n; i++) {
		struct slice name = path_base(r->strings.items[r->allocators.items[i].module]);
		best = ANY(k, ALLOCATORS, starts_with(name, allocators[k].library)) ? best : ALLOCATORS;
	}
	return best < ALLOCATORS ? allocators[best].words : NULL;
}

struct kept {
	struct memory_look m;
	uint64_t bytes;
	uint64_t most_bytes, since_ns; // the most that blocks held, and since when
};

/** The largest heap from a moment to the end: what was used again later was not kept idly. */
static uint64_t heap_since(const struct recording *r, const struct memory_look *m, uint64_t from) {
	const struct rec_edge *e = r->edges.items;
	uint64_t most = LARGEST(i, r->edges.n,
			e[i].end_ns > from ? e[i].bytes + r->summary.old_bytes : 0);
	return RAISE_TO(most, m->asked_bytes);
}

/**
 * Most of RSS is free, and blocks held less than half of it for the last quarter of the time until
 * the look, and until the end: what a program frees before it ends does not matter.
 */
static bool is_kept(const struct recording *r, struct kept *k) {
	const struct memory_look *m = &k->m;
	k->bytes = m->bytes[REC_PART_HEAP_FREE] - m->lazy_free[REC_PART_HEAP_FREE];
	if (!has_pages(m) || k->bytes < LARGE_BYTES || k->bytes < own_rss(m) / 2) {
		return false;
	}
	const uint64_t now = m->look->time_ns, before = now - now / LONG;
	k->most_bytes = heap_since(r, m, before);
	k->since_ns = 0;
	EACH_WHILE(e, r->edges, e->end_ns <= before) {
		bool is_more = e->bytes + r->summary.old_bytes > k->most_bytes;
		k->since_ns = is_more ? e->end_ns : k->since_ns;
	}
	return k->most_bytes <= m->asked_bytes + k->bytes / 2;
}

void find_kept_by_malloc(struct finder *f) {
	struct kept best = {0};
	for (uint32_t i = 0; i < f->r->looks.n; i++) {
		struct kept k = {.m = memory_look(f->r, i)};
		best = is_kept(f->r, &k) && k.bytes >= best.bytes ? k : best; // the newest of equals
	}
	if (best.bytes == 0) {
		return;
	}
	const char *words = best.m.look->has & REC_HAS_MAKERS ? remedy(f->r) : NULL;
	SAY(f, "malloc keeps %s %s that are free; blocks held at most %s", SHARE(&best.m, best.bytes),
			WHEN(&best.m), HUMAN_BYTES(best.most_bytes));
	SAY(f, "%s", best.since_ns > 0 ? FORMAT(64, " from %s on", HUMAN_DURATION(best.since_ns)) : "");
	SAY(f, "%s%s", words ? "; " : "", words ?: "");
	put_numbers(f, &best.m, best.bytes);
	FINDER_PUT(f, &best, most_bytes, since_ns);
	finder_say(f, FINDING_WORTH_IT, millionths(best.bytes, own_rss(&best.m)));
}

// ---- other owners

static uint64_t outside_of_heap(const struct memory_look *m) {
	uint64_t bytes = own_rss(m) - m->bytes[REC_PART_HEAP];
	for (uint8_t part = REC_PART_HEAP_LIVE; part <= REC_PART_ALLOCATOR_TABLES; part++) {
		bytes -= m->bytes[part];
	}
	return bytes;
}

/** The rows of a part, largest first; `n` 0: none, or no look. */
static const struct memory_row *rows_of(struct finder *f, const struct memory_look *m, uint8_t part,
		uint32_t *n) {
	return memory_rows(m, part, f->r, f->names, &f->scratch, n);
}

/** What may be anybody's. */
static uint64_t rest_of(const struct memory_row *rows, uint32_t n) {
	return n && memory_row_is_rest(&rows[n - 1]) ? rows[n - 1].bytes : 0;
}

/** Is this a runtime's own memory, which is always of interest? */
static bool is_own_memory(const struct finder *f, const struct name *maker,
		char own[RUNTIME_FLAG_MAX]) {
	struct slice exe = f->r->strings.items[f->r->meta.exe];
	bool is_script = f->runs_scripts && maker->module.size == 0;
	return (maker->is_runtime || is_script || slice_equal(maker->module, exe)) &&
			runtime_own_memory(exe, own);
}

/** About the maker, unless a runtime. What ran in an interpreter only caused some objects. */
static void put_maker(struct finder *f, const struct memory_row *row) {
	char own[RUNTIME_FLAG_MAX];
	if (row->running) {
		SAY(f, "; %s of it while %s ran", HUMAN_BYTES(row->running_bytes),
				name_words(f, row->running));
	}
	if (!row->maker->is_runtime) {
		finder_about(f, row->maker, "resident");
	}
	if (is_own_memory(f, row->maker, own)) {
		SAY(f, "; %s", own);
	}
}

static bool is_much(const struct memory_look *m, uint64_t bytes) {
	return bytes >= MAPPED_BYTES && bytes >= own_rss(m) / 10;
}

/** If the heap is only kilobytes beside it, the finding is worth more. */
static void say_share(struct finder *f, const struct memory_look *m, uint64_t bytes) {
	put_numbers(f, m, bytes);
	finder_say(f, bytes / 10 > f->r->summary.peak_bytes ? FINDING_WORTH_IT : FINDING_EXPLAINS,
			millionths(bytes, own_rss(m)));
}

/** Who mapped most of what is not in the heap. */
void find_mapped(struct finder *f) {
	const struct memory_look m = memory_at_peak(f->r);
	uint32_t n;
	const struct memory_row *rows = rows_of(f, &m, REC_PART_MAPPED, &n);
	const struct memory_row *top = FIND(row, rows, n, row->maker);
	if (!has_pages(&m) || !top) {
		return;
	}
	char own[RUNTIME_FLAG_MAX];
	if (!is_much(&m, top->bytes) ||
			(top->bytes < outside_of_heap(&m) / 2 && !is_own_memory(f, top->maker, own)) ||
			finder_has_said(f, "mapped-growing", top->maker)) {
		return;
	}
	put_name(f, top->maker);
	if (!top->running && top->via && top->via->has_name) {
		SAY(f, " via %.*s", SLICE_ARG(short_name_of(f, top->via)));
	}
	SAY(f, " has mapped %s%s, which are in memory %s",
			rest_of(rows, n) > top->bytes / 100 ? "at least " : "", SHARE(&m, top->bytes),
			WHEN(&m));
	put_maker(f, top);
	say_share(f, &m, top->bytes);
}

/** What a row of these parts is, before its maker or name; NULL: not stated. */
static const char *other_words(struct finder *f, const struct memory_look *m, uint8_t part,
		const struct memory_row *row) {
	struct slice name = row->name, exe = f->r->strings.items[f->r->meta.exe];
	bool has_name = name.size > 0,
		 is_module = slice_equal(name, exe) || (has_name && memmem(name.data, name.size, ".so", 3));
	switch (part) {
	case REC_PART_SHARED: return row->maker || has_name ? "are shared memory" : NULL;
	case REC_PART_FILES: return has_name && !is_module ? "are pages of the file" : NULL;
	case REC_PART_MODULES_WRITTEN:
		return is_module ? "are variables of" : has_name ? "are written pages of" : NULL;
	case REC_PART_MAPPED:
		return starts_with(name, "thread ")       ? "were mapped by"
				: starts_with(name, "before the") ? "were mapped"
												  : NULL;
	}
	bool knows_makers = m->look->has & REC_HAS_MAKERS;
	return knows_makers && !has_name ? "were mapped by no call that was recorded" : NULL;
}

/** Most of what is not in the heap, if no recorded call mapped it, or if it is shared. */
void find_resident(struct finder *f) {
	static const uint8_t parts[] = {REC_PART_SHARED, REC_PART_FILES, REC_PART_MODULES_WRITTEN,
			REC_PART_MAPPED, REC_PART_UNKNOWN};
	const struct memory_look m = memory_at_peak(f->r);
	struct memory_row best = {0};
	const char *words = NULL;
	for (size_t i = 0; has_pages(&m) && i < sizeof parts; i++) {
		uint32_t n;
		const struct memory_row *rows = rows_of(f, &m, parts[i], &n);
		const struct memory_row *top = MOST_OF(row, rows, n,
				other_words(f, &m, parts[i], row) ? row->bytes : 0);
		if (top && top->bytes > best.bytes) {
			words = other_words(f, &m, parts[i], top), best = *top;
		}
	}
	if (!is_much(&m, best.bytes) || best.bytes < outside_of_heap(&m) / 2) {
		return;
	}
	SAY(f, "%s %s %s", SHARE(&m, best.bytes), WHEN(&m), words);
	if (best.maker) {
		SAY(f, "%s", best.name.size ? FORMAT(512, " (%.*s)", SLICE_ARG(path_base(best.name))) : "");
		SAY(f, " that %s has mapped", name_words(f, best.maker));
		finder_about(f, best.maker, "mapped");
	} else if (best.name.size > 0) {
		SAY(f, " %.*s", SLICE_ARG(path_base(best.name)));
	}
	say_share(f, &m, best.bytes);
}

/** Is this a thread that maps by its own system calls? */
static bool is_threads(const struct memory_row *row) {
	return !row->maker && starts_with(row->name, "thread ");
}

/**
 * An upper bound of what a maker or thread had mapped and resident at a look: older looks name few.
 * The module from which a thread maps may have become known since.
 */
static uint64_t mapped_at(struct finder *f, uint32_t look, const struct memory_row *of) {
	const struct memory_look m = memory_look(f->r, look);
	uint32_t n;
	const struct memory_row *rows = rows_of(f, &m, REC_PART_MAPPED, &n);
	const struct memory_row *its = FIND(row, rows, n,
			of->maker ? row->maker && row->maker->function_id == of->maker->function_id
					  : is_threads(row) && slice_equal(of->name, row->name));
	its = its ?: FIND(row, rows, n, is_threads(row) && begins_with(of->name, row->name));
	return its ? its->bytes + rest_of(rows, n) : 0;
}

struct rise {
	uint32_t since, times;           // the look since which it never fell; how often it rose
	uint64_t from_bytes, half_bytes; // then, and at half of the time
};

static struct rise rise_of(struct finder *f, const struct memory_row *row) {
	const struct rec_look *looks = f->r->looks.items;
	struct rise r = {f->r->looks.n - 1, 0, row->bytes, row->bytes};
	const uint64_t half_ns = looks[r.since].time_ns / 2;
	for (uint32_t i = r.since; i-- > 0;) {
		const uint64_t bytes = mapped_at(f, i, row);
		if (bytes == 0 || bytes > r.from_bytes) {
			break;
		}
		r.half_bytes = looks[i + 1].time_ns > half_ns ? bytes : r.half_bytes;
		if (bytes < r.from_bytes) {
			r = (struct rise){i, r.times + 1, bytes, r.half_bytes};
		}
	}
	return r;
}

/** Who maps more from look to look until the last, over half of the run and at its end. */
void find_mapped_growing(struct finder *f) {
	const struct memory_look m = memory_at_end(f->r);
	uint32_t n;
	const struct memory_row *rows = rows_of(f, &m, REC_PART_MAPPED, &n);
	for (uint32_t i = 0; has_pages(&m) && i < n && i < GROWING_MOST; i++) {
		if (!rows[i].maker && !is_threads(&rows[i])) {
			continue;
		}
		const struct rise r = rise_of(f, &rows[i]);
		const uint64_t from_ns = f->r->looks.items[r.since].time_ns, to_ns = m.look->time_ns;
		const uint64_t grown_bytes = rows[i].bytes - r.from_bytes;
		if (r.times < RISES || grown_bytes < LARGE_BYTES || grown_bytes < own_rss(&m) / 10 ||
				from_ns > to_ns / 2 || to_ns - from_ns < LEAST_NS ||
				rows[i].bytes - r.half_bytes < grown_bytes / 4) {
			continue;
		}
		const uint64_t rate = (uint64_t)((double)grown_bytes * 1e9 / (double)(to_ns - from_ns));
		if (rows[i].maker) {
			SAY(f, "what %s", name_words(f, rows[i].maker));
		} else {
			SAY(f, "what %.*s,", SLICE_ARG(rows[i].name));
		}
		SAY(f, " has mapped grew by %s (%s/s) from %s on, to %s %s", HUMAN_BYTES(grown_bytes),
				HUMAN_BYTES(rate), HUMAN_DURATION(from_ns), SHARE(&m, rows[i].bytes), WHEN(&m));
		finder_put(f, "rate_bytes_per_s", rate);
		if (rows[i].maker) {
			put_maker(f, &rows[i]);
		}
		put_numbers(f, &m, rows[i].bytes);
		FINDER_PUT_VALUES(f, grown_bytes, from_ns, to_ns);
		finder_say(f, FINDING_LOOK_FIRST, millionths(rows[i].bytes, own_rss(&m)));
	}
}

/** State a part of RSS if it is a good one. `fmt`: takes its share, and when. */
static void say_part(struct finder *f, const struct memory_look *m, uint64_t bytes,
		const char *fmt) {
	if (bytes >= LARGE_BYTES && bytes >= own_rss(m) / 10) {
		SAY(f, fmt, SHARE(m, bytes), WHEN(m));
		say_share(f, m, bytes);
	}
}

void find_thread_stacks(struct finder *f) {
	const struct memory_look m = memory_at_peak(f->r);
	say_part(f, &m, has_pages(&m) ? m.bytes[REC_PART_STACKS] : 0, "stacks of threads hold %s %s");
}

/** Counts in RSS until the kernel needs memory. */
void find_lazy_free(struct finder *f) {
	const struct memory_look m = memory_at_peak(f->r);
	uint64_t bytes = SUM(part, REC_PARTS, m.lazy_free[part]);
	if (!m.look || bytes < LARGE_BYTES || bytes < own_rss(&m) / 4) {
		return;
	}
	struct rec_change most;
	(void)memory_changes(f->r, f->names, WIRE_CHANGE_FREES, &f->scratch, &most);
	SAY(f,
			"%s were given back (MADV_FREE) %s: they count until the kernel needs memory, and then "
			"are gone",
			SHARE(&m, bytes), WHEN(&m));
	const struct name *site = most.calls ? names_site(f->names, most.node) : NULL;
	if (site) {
		SAY(f, "; %s gave back most, %s in %s", name_words(f, site), HUMAN_BYTES(most.bytes),
				COUNTED(most.calls, "call"));
	}
	say_share(f, &m, bytes);
}

void find_swap(struct finder *f) {
	const struct memory_look m = memory_at_peak(f->r);
	uint64_t bytes = m.look ? m.look->swap_bytes : 0;
	bool is_tenth = bytes > 0 && bytes >= (own_rss(&m) + bytes) / 10;
	say_part(f, &m, is_tenth ? bytes : 0, "beside RSS, %s are swapped out %s");
}

/** More of the heap is free and resident than blocks ever gave back: parts of huge pages. */
void find_huge_pages(struct finder *f) {
	const struct memory_look m = memory_at_end(f->r);
	if (!has_pages(&m)) {
		return;
	}
	uint64_t free = m.bytes[REC_PART_HEAP_FREE] + m.bytes[REC_PART_HEAP_PARTLY_FREE];
	uint64_t freed = heap_since(f->r, &m, 0) - m.asked_bytes;
	uint64_t bytes = free > freed ? free - freed : 0;
	say_part(f, &m, LOWER_TO(bytes, m.look->huge_free_bytes),
			"about %s of the heap are in memory %s without ever having been used, because they are "
			"parts of huge pages; prctl(PR_SET_THP_DISABLE) makes pages small");
}

// ---- asked for, and not in memory

/** Of a site's live blocks: what was not in memory, or what is free on their pages. */
struct presence {
	uint64_t blocks, asked_bytes, bytes;
};

static void say_presence(struct finder *f, const struct memory_look *m, const struct place *p,
		const struct presence *u, const uint64_t *of_stack, bool is_pinned) {
	(void)say_place(f, p, BY_PEAK_BYTES, is_pinned ? "peak" : "untouched", "", of_stack);
	const char *asked = HUMAN_BYTES(u->asked_bytes), *blocks = COUNTED(u->blocks, "live block");
	if (is_pinned) {
		SAY(f, ": %s in %s keep %s in memory that are free on the same pages %s", asked, blocks,
				SHARE(m, u->bytes), WHEN(m));
		finder_put(f, "rss_bytes", m->look->rss_bytes);
	} else {
		SAY(f, ": %s of %s in %s were not in memory %s, and are no part of RSS",
				HUMAN_BYTES(u->bytes), asked, blocks, WHEN(m));
	}
	FINDER_PUT(f, u, bytes, asked_bytes, blocks);
	finder_put(f, "time_ns", m->look->time_ns);
	finder_say(f, is_pinned ? FINDING_WORTH_IT : FINDING_EXPLAINS,
			millionths(u->bytes, is_pinned ? own_rss(m) : m->asked_bytes));
}

/** As for kept_by_malloc: few blocks for the last quarter of the time, and until the end. */
static bool are_few(const struct finder *f, const struct memory_look *m, const struct presence *u) {
	const uint64_t now = m->look->time_ns;
	return u->bytes / FEW >= u->asked_bytes &&
			heap_since(f->r, m, now - now / LONG) <= m->asked_bytes + u->bytes / 2;
}

/** Sites for which that is a tenth of everything live, or of RSS. */
static void find_presence(struct finder *f, bool is_pinned) {
	const struct memory_look look = is_pinned ? memory_at_end(f->r) : memory_at_peak(f->r);
	const struct memory_look *m = &look;
	struct presence *sums = FINDER_NEW(f, struct presence, f->n_places);
	uint64_t *of_stack = FINDER_NEW(f, uint64_t, f->r->stacks.n);
	EACH_OF(u, m->untouched, m->n_untouched) {
		const uint64_t bytes = is_pinned ? u->pinned_bytes : u->asked_bytes - u->resident_bytes;
		struct presence *sum = &sums[f->place_of[u->stack]];
		sum->bytes += bytes;
		of_stack[u->stack] += bytes;
		ADD_FIELDS(sum, u, blocks, asked_bytes);
	}
	EACH_OF_WHILE(u, sums, f->n_places, m->n_untouched) {
		const struct place *p = &f->places[u - sums];
		const uint64_t least = is_pinned ? PINNED_BYTES : UNTOUCHED_BYTES;
		// Of blocks that came while pages were read, the pages are not known
		bool is_sure = 2 * m->look->changed_bytes <= u->bytes / 50;
		if (!p->name->is_runtime && is_sure && u->bytes >= least &&
				u->bytes >= (is_pinned ? own_rss(m) : m->asked_bytes) / 10 &&
				(!is_pinned || are_few(f, m, u))) {
			say_presence(f, m, p, u, of_stack, is_pinned);
		}
	}
}

/** Never touched, or given back. */
void find_untouched(struct finder *f) {
	find_presence(f, false);
}

/** Few live blocks on many pages. */
void find_pins(struct finder *f) {
	find_presence(f, true);
}
