// SPDX-License-Identifier: MIT
/*
 * Says what of resident memory is not in live blocks, and what of live blocks is not in memory, by
 * looks at the pages of the program. Without a look nothing is said.
 */
#include "engine/memory.h"

#include "engine/findings.h"
#include "engine/findings/parts.h"
#include "wire/event.h"

enum { LARGE_BYTES = 8000000, MAPPED_BYTES = 4000000, UNTOUCHED_BYTES = 1000000 };
enum { PINNED_BYTES = 4000000, FEW = 4 }; // free bytes on pages, times what the blocks there hold
enum { LONG = 4 };                        // such a part of the time until a look
// Makers; rises from look to look, in no less than so long
enum { GROWING_MOST = 3, RISES = 3, LEAST_NS = 1000000000 };

/** Resident, without heaptrack's own: what rules compare with. */
static uint64_t own_rss(const struct memory_look *m) {
	return m->look->rss_bytes - m->bytes[REC_PART_OURS];
}

/** The look that the report shows, if each page of it has an owner. */
static bool has_pages(const struct memory_look *m) {
	return m->look && (m->look->has & REC_HAS_PAGES);
}

/** "42.0 MB (30 % of RSS)". */
static void put_share(struct finder *f, const struct memory_look *m, uint64_t bytes) {
	SAY(f, "%s (%s of RSS)", HUMAN_BYTES(bytes), HUMAN_PERCENT(bytes, m->look->rss_bytes));
}

static void put_when(struct finder *f, const struct memory_look *m) {
	bool is_end = m->look->at == REC_AT_END, is_detach = m->look->at == REC_AT_DETACH;
	const char *words = is_end ? " at the end" : is_detach ? " at the detach" : " at %s";
	SAY(f, words, HUMAN_DURATION(m->look->time_ns));
}

static void put_numbers(struct finder *f, const struct memory_look *m, uint64_t bytes) {
	finder_put(f, "bytes", bytes);
	FINDER_PUT(f, m->look, rss_bytes, time_ns);
}

// ---- free, and kept by malloc

/** Allocators, and what makes them give free memory back; a test tries each. */
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

/** The first of those that the last image had. NULL: none, or others as well. */
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
	uint64_t most_bytes, since_ns; // what blocks held at most, since when
};

/** The largest heap from some moment on, to the end: what is used again later was not kept idly. */
static uint64_t heap_since(const struct recording *r, const struct memory_look *m, uint64_t from) {
	const struct rec_edge *e = r->edges.items;
	uint64_t most = LARGEST(i, r->edges.n,
			e[i].end_ns > from ? e[i].bytes + r->summary.old_bytes : 0);
	return RAISE_TO(most, m->asked_bytes);
}

/**
 * Most of RSS is free, and blocks held less than half of it for a quarter of the time before the
 * look, and until the end: what a program frees before it ends is no matter.
 */
static bool is_kept(const struct recording *r, struct kept *k) {
	const struct memory_look *m = &k->m;
	k->bytes = m->bytes[REC_PART_HEAP_FREE] - m->lazy_free[REC_PART_HEAP_FREE];
	if (!has_pages(m) || k->bytes < LARGE_BYTES || k->bytes < own_rss(m) / 2) {
		return false;
	}
	const uint64_t now = m->look->time_ns;
	const uint64_t before = now - now / LONG;
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
	SAY(f, "malloc keeps ");
	put_share(f, &best.m, best.bytes);
	put_when(f, &best.m);
	SAY(f, " that are free; blocks held at most %s", HUMAN_BYTES(best.most_bytes));
	if (best.since_ns > 0) {
		SAY(f, " from %s on", HUMAN_DURATION(best.since_ns));
	}
	if (words) {
		SAY(f, "; %s", words);
	}
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

/** Who has what of a part, the largest first; `n` 0: nobody, or there is no look. */
static const struct memory_row *rows_of(struct finder *f, const struct memory_look *m, uint8_t part,
		uint32_t *n) {
	const struct memory_row *rows = memory_rows(m, part, f->r, f->names, &f->scratch, n);
	f->failed |= !rows;
	return rows;
}

/** What may be anybody's. */
static uint64_t rest_of(const struct memory_row *rows, uint32_t n) {
	return n && memory_row_is_rest(&rows[n - 1]) ? rows[n - 1].bytes : 0;
}

/** What the runtime keeps there is of interest in any case. */
static bool is_own_memory(const struct finder *f, const struct name *maker,
		char own[RUNTIME_FLAG_MAX]) {
	struct slice exe = f->r->strings.items[f->r->meta.exe];
	bool is_script = f->runs_scripts && maker->module.size == 0;
	return (maker->is_runtime || is_script || slice_equal(maker->module, exe)) &&
			runtime_own_memory(exe, own);
}

/**
 * Whom the finding is about, unless it is a runtime. An interpreter's objects: the function did not
 * ask for this memory, but for some of these.
 */
static void put_maker(struct finder *f, const struct memory_row *row) {
	char own[RUNTIME_FLAG_MAX];
	if (row->running) {
		SAY(f, "; %s of it while ", HUMAN_BYTES(row->running_bytes));
		put_name(f, row->running);
		SAY(f, " ran");
	}
	if (!row->maker->is_runtime) {
		finder_about(f, row->maker, "resident");
	}
	if (is_own_memory(f, row->maker, own)) {
		SAY(f, "; %s", own);
	}
}

/** Worth a finding: so much of RSS, and of what is not in the heap. */
static bool is_most_outside(const struct memory_look *m, uint64_t bytes) {
	return bytes >= MAPPED_BYTES && bytes >= own_rss(m) / 10 && bytes >= outside_of_heap(m) / 2;
}

/** Who looks at a heap of kilobytes beside it looks at the wrong place. */
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
	bool is_own = top->bytes >= MAPPED_BYTES && top->bytes >= own_rss(&m) / 10 &&
			is_own_memory(f, top->maker, own);
	if ((!is_most_outside(&m, top->bytes) && !is_own) ||
			finder_has_said(f, "mapped-growing", top->maker)) {
		return;
	}
	put_name(f, top->maker);
	if (!top->running && top->via && top->via->has_name) {
		SAY(f, " via %.*s", SLICE_ARG(short_name_of(f, top->via)));
	}
	SAY(f, rest_of(rows, n) > top->bytes / 100 ? " has mapped at least " : " has mapped ");
	put_share(f, &m, top->bytes);
	SAY(f, ", which are in memory");
	put_when(f, &m);
	put_maker(f, top);
	say_share(f, &m, top->bytes);
}

/** What a row of these parts is, before its maker or name; NULL: its part tells of others. */
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

/** Most of what is not in the heap, where no call that maps is its maker, or it is shared. */
void find_resident(struct finder *f) {
	static const uint8_t parts[] = {REC_PART_SHARED, REC_PART_FILES, REC_PART_MODULES_WRITTEN,
			REC_PART_MAPPED, REC_PART_UNKNOWN};
	const struct memory_look m = memory_at_peak(f->r);
	struct memory_row best = {0};
	const char *words = NULL;
	for (size_t i = 0; has_pages(&m) && i < sizeof parts; i++) {
		uint32_t n;
		const struct memory_row *rows = rows_of(f, &m, parts[i], &n);
		for (uint32_t k = 0; k < n; k++) {
			const char *its = other_words(f, &m, parts[i], &rows[k]);
			if (its && rows[k].bytes > best.bytes) {
				words = its, best = rows[k];
			}
		}
	}
	if (!is_most_outside(&m, best.bytes)) {
		return;
	}
	put_share(f, &m, best.bytes);
	put_when(f, &m);
	SAY(f, " %s", words);
	if (best.maker) {
		SAY(f, best.name.size ? " (%.*s) that " : " that ", SLICE_ARG(path_base(best.name)));
		put_name(f, best.maker);
		SAY(f, " has mapped");
		finder_about(f, best.maker, "mapped");
	} else if (best.name.size > 0) {
		SAY(f, " %.*s", SLICE_ARG(path_base(best.name)));
	}
	say_share(f, &m, best.bytes);
}

/** A thread that maps by system calls of its own. */
static bool is_threads(const struct memory_row *row) {
	return !row->maker && starts_with(row->name, "thread ");
}

/**
 * What a maker or thread has mapped at a look that is in memory, at most: looks of the past name
 * few. The module from which a thread calls may have become known since.
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
	uint32_t since, times;           // the look since which it never fell, and has risen so often
	uint64_t from_bytes, half_bytes; // then, and when half of the time was over
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
		const uint64_t grown = rows[i].bytes - r.from_bytes;
		if (r.times < RISES || grown < LARGE_BYTES || grown < own_rss(&m) / 10 ||
				from_ns > to_ns / 2 || to_ns - from_ns < LEAST_NS ||
				rows[i].bytes - r.half_bytes < grown / 4) {
			continue;
		}
		const uint64_t rate = (uint64_t)((double)grown * 1e9 / (double)(to_ns - from_ns));
		SAY(f, "what ");
		if (rows[i].maker) {
			put_name(f, rows[i].maker);
		} else {
			SAY(f, "%.*s,", SLICE_ARG(rows[i].name));
		}
		SAY(f, " has mapped grew by %s", HUMAN_BYTES(grown));
		SAY(f, " (%s/s)", HUMAN_BYTES(rate));
		finder_put(f, "rate_bytes_per_s", rate);
		SAY(f, " from %s on, to ", HUMAN_DURATION(from_ns));
		put_share(f, &m, rows[i].bytes);
		put_when(f, &m);
		if (rows[i].maker) {
			put_maker(f, &rows[i]);
		}
		put_numbers(f, &m, rows[i].bytes);
		finder_put(f, "grown_bytes", grown);
		finder_put(f, "from_ns", from_ns);
		finder_put(f, "to_ns", to_ns);
		finder_say(f, FINDING_LOOK_FIRST, millionths(rows[i].bytes, own_rss(&m)));
	}
}

/** States what some of RSS is, around its share and the moment of the look. */
static void say_bytes(struct finder *f, const struct memory_look *m, uint64_t bytes,
		const char *begin, const char *middle, const char *end) {
	SAY(f, "%s", begin);
	put_share(f, m, bytes);
	SAY(f, "%s", middle);
	put_when(f, m);
	SAY(f, "%s", end);
	say_share(f, m, bytes);
}

void find_thread_stacks(struct finder *f) {
	const struct memory_look m = memory_at_peak(f->r);
	uint64_t bytes = m.bytes[REC_PART_STACKS];
	if (has_pages(&m) && bytes >= LARGE_BYTES && bytes >= own_rss(&m) / 10) {
		say_bytes(f, &m, bytes, "stacks of threads hold ", "", "");
	}
}

/** Counted in RSS until the kernel needs memory. */
void find_lazy_free(struct finder *f) {
	const struct memory_look m = memory_at_peak(f->r);
	uint64_t bytes = SUM(part, REC_PARTS, m.lazy_free[part]);
	if (!m.look || bytes < LARGE_BYTES || bytes < own_rss(&m) / 4) {
		return;
	}
	struct rec_change most;
	(void)memory_changes(f->r, f->names, WIRE_CHANGE_FREES, &f->scratch, &most);
	put_share(f, &m, bytes);
	SAY(f, " were given back (MADV_FREE)");
	put_when(f, &m);
	SAY(f, ": they count until the kernel needs memory, and then are gone");
	const struct name *site = most.calls ? names_site(f->names, most.node) : NULL;
	if (site) {
		SAY(f, "; ");
		put_name(f, site);
		SAY(f, " gave back most, %s in %s", HUMAN_BYTES(most.bytes), COUNTED(most.calls, "call"));
	}
	say_share(f, &m, bytes);
}

void find_swap(struct finder *f) {
	const struct memory_look m = memory_at_peak(f->r);
	uint64_t bytes = m.look ? m.look->swap_bytes : 0;
	if (bytes >= LARGE_BYTES && bytes >= (own_rss(&m) + bytes) / 10) {
		say_bytes(f, &m, bytes, "beside RSS, ", " are swapped out", "");
	}
}

/**
 * More of the heap is free and in memory than blocks have ever given back: in a huge page, what was
 * never touched is there, too.
 */
void find_huge_pages(struct finder *f) {
	const struct memory_look m = memory_at_end(f->r);
	if (!has_pages(&m)) {
		return;
	}
	uint64_t free = m.bytes[REC_PART_HEAP_FREE] + m.bytes[REC_PART_HEAP_PARTLY_FREE];
	uint64_t freed = heap_since(f->r, &m, 0) - m.asked_bytes;
	uint64_t bytes = free > freed ? free - freed : 0;
	bytes = bytes < m.look->huge_free_bytes ? bytes : m.look->huge_free_bytes;
	if (bytes >= LARGE_BYTES && bytes >= own_rss(&m) / 10) {
		say_bytes(f, &m, bytes, "about ", " of the heap are in memory",
				" without ever having been used, because they are parts of huge pages; "
				"prctl(PR_SET_THP_DISABLE) makes pages small");
	}
}

// ---- asked for, and not in memory

/** What a site's live blocks say of pages. */
struct presence {
	uint64_t blocks, asked_bytes, resident_bytes, pinned_bytes;
};

/** By site, as of a look. NULL: no memory. */
static struct presence *presences(struct finder *f, const struct memory_look *m) {
	struct presence *sums = FINDER_NEW(f, struct presence, f->n_places);
	EACH_OF_WHILE(u, m->untouched, m->n_untouched, sums) {
		uint32_t place = f->place_of[u->stack];
		if (place < f->n_places) {
			ADD_FIELDS(&sums[place], u, blocks, asked_bytes, resident_bytes, pinned_bytes);
		}
	}
	return sums;
}

/** Blocks that came while pages were read are known, and their pages are not. */
static bool is_sure(const struct memory_look *m, uint64_t bytes) {
	return 2 * m->look->changed_bytes <= bytes / 50;
}

static void say_presence(struct finder *f, const struct memory_look *m, const struct place *p,
		const struct presence *u, bool is_pinned) {
	const uint64_t bytes = is_pinned ? u->pinned_bytes : u->asked_bytes - u->resident_bytes;
	uint64_t *of_stack = FINDER_NEW(f, uint64_t, f->r->stacks.n);
	EACH_OF_WHILE(s, m->untouched, m->n_untouched, of_stack) {
		of_stack[s->stack] += is_pinned ? s->pinned_bytes : s->asked_bytes - s->resident_bytes;
	}
	const char *metric = is_pinned ? "peak" : "untouched";
	say_place(f, p, BY_PEAK_BYTES, metric, of_stack ? "" : NULL, of_stack);
	if (is_pinned) {
		SAY(f, ": %s in %s keep ", HUMAN_BYTES(u->asked_bytes), COUNTED(u->blocks, "live block"));
		put_share(f, m, bytes);
		SAY(f, " in memory that are free on the same pages");
		put_when(f, m);
		finder_put(f, "rss_bytes", m->look->rss_bytes);
	} else {
		SAY(f, ": %s of %s in %s were not in memory", HUMAN_BYTES(bytes),
				HUMAN_BYTES(u->asked_bytes), COUNTED(u->blocks, "live block"));
		put_when(f, m);
		SAY(f, ", and are no part of RSS");
	}
	finder_put(f, "bytes", bytes);
	FINDER_PUT(f, u, asked_bytes, blocks);
	finder_put(f, "time_ns", m->look->time_ns);
	finder_say(f, is_pinned ? FINDING_WORTH_IT : FINDING_EXPLAINS,
			millionths(bytes, is_pinned ? own_rss(m) : m->asked_bytes));
}

/** Sites of which a tenth of all that is live was never touched, or given back. */
void find_untouched(struct finder *f) {
	const struct memory_look m = memory_at_peak(f->r);
	const struct presence *sums = presences(f, &m);
	for (uint32_t i = 0; sums && m.n_untouched && i < f->n_places; i++) {
		const uint64_t bytes = sums[i].asked_bytes - sums[i].resident_bytes;
		if (!f->places[i].name->is_runtime && bytes >= UNTOUCHED_BYTES &&
				bytes >= m.asked_bytes / 10 && is_sure(&m, bytes)) {
			say_presence(f, &m, &f->places[i], &sums[i], false);
		}
	}
}

/**
 * Sites with few live blocks on many pages. As for what malloc keeps: since a quarter of the time,
 * and until the end.
 */
void find_pins(struct finder *f) {
	const struct memory_look m = memory_at_end(f->r);
	const struct presence *sums = presences(f, &m);
	for (uint32_t i = 0; sums && m.n_untouched && i < f->n_places; i++) {
		const uint64_t bytes = sums[i].pinned_bytes, now = m.look->time_ns;
		if (!f->places[i].name->is_runtime && bytes >= PINNED_BYTES && bytes >= own_rss(&m) / 10 &&
				bytes / FEW >= sums[i].asked_bytes && is_sure(&m, bytes) &&
				heap_since(f->r, &m, now - now / LONG) <= m.asked_bytes + bytes / 2) {
			say_presence(f, &m, &f->places[i], &sums[i], true);
		}
	}
}
