// SPDX-License-Identifier: MIT
/* Reads the process, makes rows of the recording from it, and decides which looks to keep. */
#include "collector/looks/looks.h"

enum {
	LEAST_BYTES = 4 << 20,   // RSS must grow by this,
	GROWTH = 20,             // and by a 20th
	FREE_COST_NS = 20000000, // CPU time that looks may take, and
	COST = 100,              // a 100th of the time that the program has run
	SHRINKING = 50,          // RSS may shrink by that part while it is looked at
	MOVED = 50,              // or RSS has moved by that part, and by LEAST_BYTES,
	GAP_NS = 1000000000,     // in no less than this
	OLD = 16,                // or the last look is that many gaps old
	PAST_MOST = 64,          // past looks; each thinning doubles the gap
	OWNERS = 5,              // that a past look names in each part
};

// ---- what is read from the process

enum { HEADER_BYTES = 4096, BSS_MOST_BYTES = 1 << 20 };

/** The segment, and the recorder with its memory, by name. */
static bool is_named_ours(const char *name) {
	const char *base = strrchr(name, '/');
	return strncmp(name, "/memfd:" SEGMENT_MAPPING_NAME, 7 + strlen(SEGMENT_MAPPING_NAME)) == 0 ||
			strcmp(name, "[anon:" SEGMENT_MAPPING_NAME "]") == 0 ||
			strcmp(name, "[anon_shmem:" SEGMENT_MAPPING_NAME "]") == 0 ||
			(base && strncmp(base, "/libheaptrack_", 14) == 0);
}

/** Its bss has no name: it follows the file. */
static void find_ours(struct view *v) {
	bool was_ours = false;
	EACH(a, v->areas) {
		bool is_bss = was_ours && !*a->name && a[-1].end == a->start && a[-1].kind == SMAPS_FILE &&
				a->end - a->start <= BSS_MOST_BYTES;
		was_ours = is_named_ours(a->name) || is_bss;
		if (was_ours) {
			(void)vec_add(&v->ours, (struct parts_range){a->start, a->end});
		}
	}
}

/** Called before find_ours. It is the program's memory: ranges may be anything. */
static void take_own(struct view *v, const struct wire_range own[WIRE_N_OWN]) {
	for (unsigned i = 0; i < WIRE_N_OWN; i++) {
		uint64_t at = atomic_load(&own[i].at), bytes = atomic_load(&own[i].bytes);
		if (at != 0 && bytes != 0 && bytes < UINT64_MAX - at) {
			(void)vec_add(&v->ours, (struct parts_range){at, at + bytes});
		}
	}
}

bool view_module(int memory, const struct smaps_area *a, uint64_t *bias, uint64_t *end) {
	uint8_t bytes[HEADER_BYTES];
	struct elf_image elf;
	struct elf_segment s;
	uint64_t low = UINT64_MAX, high = 0;
	ssize_t n = pread(memory, bytes, sizeof bytes, (off_t)a->start);
	if (n <= 0 || !elf_image_init(&elf, slice_of(bytes, (size_t)n))) {
		return false;
	}
	for (uint32_t i = 0; elf_segment_next(&elf, PT_LOAD, &i, &s);) {
		uint64_t behind = s.address + s.memory_bytes;
		low = s.address < low ? s.address : low;
		high = behind > high && behind >= s.address ? behind : high;
	}
	low &= -(uint64_t)sysconf(_SC_PAGESIZE);
	*bias = a->start - low;
	*end = *bias + high;
	return low < high;
}

static void find_modules(struct view *v, int memory) {
	uint64_t bias, end;
	EACH(a, v->areas) {
		bool may_begin = a->kind == SMAPS_FILE && a->offset == 0 && a->rss_bytes > 0;
		if (memory >= 0 && may_begin && view_module(memory, a, &bias, &end)) {
			(void)vec_add(&v->modules, (struct parts_range){a->start, end});
		}
	}
}

static uint64_t rss_of(pid_t pid) {
	struct process_memory memory;
	return process_memory(pid, &memory) ? memory.rss_bytes : 0;
}

bool view_read(struct view *v, pid_t pid, int memory, const struct cgroup *group,
		const struct wire_range own[WIRE_N_OWN]) {
	uint64_t start_ns = clock_thread_cpu_ns();
	v->rss_before_bytes = rss_of(pid);
	errno = 0;
	bool ok = smaps_read(&v->areas, pid, "smaps");
	v->is_refused = !ok && (errno == EACCES || errno == EPERM);
	(void)(group && cgroup_memory(group, &v->group)); // as close in time to smaps as possible
	ok = ok && pagemap_look(&v->pages, pid, &v->areas, true);
	v->rss_after_bytes = ok ? rss_of(pid) : 0;
	take_own(v, own);
	find_ours(v);
	find_modules(v, memory);
	vec_sort(&v->ours, by_number);
	v->cost_ns = clock_thread_cpu_ns() - start_ns;
	return ok;
}

void view_take_rss(struct view *v, pid_t pid) {
	v->rss_after_bytes = rss_of(pid);
}

void view_finish(struct view *v) {
	smaps_finish(&v->areas);
	CALL_FOR(vec_finish, v, pages, ours, modules, types);
}

// ---- which looks are kept

bool looks_want(const struct looks *l, uint64_t rss_bytes, uint64_t now_ns, enum rec_look_at *at) {
	uint64_t cost_ns = l->cost_ns + l->last_cost_ns, free_ns = FREE_COST_NS + now_ns / COST;
	uint64_t gap_ns = (uint64_t)GAP_NS << l->n_thinned, last = l->last_rss_bytes;
	uint64_t moved = rss_bytes > last ? rss_bytes - last : last - rss_bytes;
	bool has_risen = rss_bytes >= l->peak_bytes + LEAST_BYTES &&
			rss_bytes >= l->peak_bytes + l->peak_bytes / GROWTH;
	bool has_moved = moved >= LEAST_BYTES && moved >= last / MOVED && now_ns >= l->last_ns + gap_ns;
	bool is_due = has_moved || now_ns >= l->last_ns + OLD * gap_ns;
	*at = has_risen ? REC_AT_RSS_PEAK : REC_AT_TIMER;
	return (has_risen && cost_ns <= free_ns) || (is_due && cost_ns <= free_ns / 2);
}

static void drop(struct looks *l, size_t i) {
	CALL_FOR(vec_finish, &l->items.items[i], parts, untouched, types);
	CALL_FOR(vec_finish, &l->items.items[i].graded, grades, classes, holders);
	l->items.n--;
	memmove(&l->items.items[i], &l->items.items[i + 1], (l->items.n - i) * sizeof *l->items.items);
}

/** Keep what tells how RSS moved: the largest owners of each part, and no blocks. */
static void make_past(struct look *look) {
	size_t kept = 0, n_owners = 0;
	EACH(p, look->parts) {
		struct rec_part *last = kept > 0 ? &look->parts.items[kept - 1] : NULL;
		n_owners = last && last->part == p->part ? n_owners + 1 : 0;
		if (n_owners <= OWNERS) { // the last row is that of all others
			look->parts.items[kept++] = *p;
		} else {
			last->mapping = last->name = 0;
			ADD_FIELDS(last, p, resident_bytes, asked_bytes, lazy_free_bytes);
		}
	}
	look->parts.n = kept;
	look->untouched.n = look->graded.grades.n = look->graded.classes.n = 0;
	look->graded.holders.n = 0;
	look->fullness.n = 0;
	look->row.at = REC_AT_TIMER;
}

static void thin_out_past(struct looks *l) {
	size_t n = SUM(i, l->items.n, l->items.items[i].row.at == REC_AT_TIMER);
	if (n < PAST_MOST) {
		return;
	}
	for (size_t i = l->items.n; i-- > 0;) {
		if (l->items.items[i].row.at == REC_AT_TIMER && n-- % 2 == 0) { // the first stays
			drop(l, i);
		}
	}
	l->n_thinned++;
}

/** Drop looks that a new one of the same sort replaces. */
static void drop_older(struct looks *l, enum rec_look_at at) {
	size_t most = at == REC_AT_REQUEST ? LOOKS_REQUESTED - 1 : 0, n = 0;
	for (size_t i = l->items.n; i-- > 0;) {
		struct look *look = &l->items.items[i];
		if (look->row.at != at || at == REC_AT_TIMER || n++ < most) {
			continue;
		}
		if (at == REC_AT_RSS_PEAK) {
			make_past(look);
		} else {
			drop(l, i);
		}
	}
	thin_out_past(l);
}

/**
 * Was memory released during the look? It has no owner now: another look will do better. Of a
 * program that ended meanwhile, only earlier looks are of use.
 */
static bool is_too_late(const struct view *v, enum rec_look_at at) {
	uint64_t before = v->rss_before_bytes, after = v->rss_after_bytes;
	if (after == 0) { // gone or unreadable
		return at == REC_AT_REQUEST || at == REC_AT_TRIGGER;
	}
	bool is_automatic = at == REC_AT_RSS_PEAK || at == REC_AT_TIMER || at == REC_AT_TRIGGER;
	return is_automatic && after < before - before / SHRINKING;
}

static void take_parts(struct look *look, const struct parts *parts, struct texts *texts) {
	EACH(from, parts->rows) {
		(void)vec_add(&look->parts,
				(struct rec_part){
						FIELDS_OF(from, resident_bytes, asked_bytes, lazy_free_bytes, mapping),
						.name = texts_id_of(texts, from->name),
						.part = from->part,
				});
	}
	look->fullness = parts->fullness;
	EACH(from, parts->untouched) {
		(void)vec_add(&look->untouched, *from);
	}
}

static struct rec_group group_of(const struct view *v, uint64_t limit_bytes, uint64_t now_ns) {
	return (struct rec_group){
			.time_ns = now_ns,
			.limit_bytes = limit_bytes,
			.own_bytes = SUM(i, v->areas.n, v->areas.items[i].anonymous_bytes),
			FIELDS_OF(&v->group, used_bytes, anonymous_bytes, file_bytes, shared_bytes,
					inactive_bytes, kernel_bytes, swap_bytes, limit_hits),
	};
}

struct parts_input view_as_input(const struct view *v, const struct looks_known *known) {
	struct parts_input in = known->in;
	in.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	in.areas = &v->areas;
	in.pages = &v->pages;
	in.ours = v->ours.items;
	in.n_ours = v->ours.n;
	in.modules = v->modules.items;
	in.n_modules = v->modules.n;
	// Does glibc's malloc provide the blocks? Allocators linked into a program are not seen
	static const char others[] = "|ld-musl|libc.musl|libjemalloc|libtcmalloc|libmimalloc";
	in.is_glibc = !ANY(i, v->areas.n,
			starts_with_any(slice_of_text(path_base_name(v->areas.items[i].name)), others));
	COPY_FIELDS(&in, v, rss_before_bytes, rss_after_bytes);
	return in;
}

bool looks_add(struct looks *l, struct view *v, const struct looks_known *known, pid_t pid,
		enum rec_look_at at, uint64_t now_ns) {
	uint64_t start_ns = clock_thread_cpu_ns();
	const struct parts_input in = view_as_input(v, known);
	struct parts parts = {0};
	bool ok = v->areas.n > 0 && !is_too_late(v, at);
	if (ok) {
		parts_join(&in, &parts);
	}
	l->has_unseen |= parts.has_seen;
	l->last_cost_ns = v->cost_ns + clock_thread_cpu_ns() - start_ns;
	l->cost_ns += l->last_cost_ns;
	if (ok) {
		drop_older(l, at);
		struct look *look = vec_push(&l->items);
		take_parts(look, &parts, known->texts);
		look->row = parts.look;
		look->row.time_ns = now_ns;
		look->row.cost_ns = l->last_cost_ns;
		look->row.pid = (uint32_t)pid;
		look->row.at = (uint8_t)at;
		types_sum_up(&v->types, known->in.blocks);
		look->row.has |= v->types.n > 0 ? REC_HAS_TYPES : 0;
		look->types = v->types;
		v->types = (struct types){0};
		look->group = group_of(v, known->limit_bytes, now_ns);
		if (look->row.rss_bytes > l->peak_bytes) {
			l->peak_bytes = look->row.rss_bytes;
			l->peak_ns = now_ns;
		}
		l->last_rss_bytes = v->rss_after_bytes;
		l->last_ns = now_ns;
		if (at == REC_AT_TIMER) {
			make_past(look);
		}
	}
	parts_finish(&parts);
	return ok;
}

void looks_take_graded(struct looks *l, uint64_t time_ns, struct graded *graded) {
	struct look *look = FIND_IN(it, l->items,
			it->row.time_ns == time_ns && it->row.at != REC_AT_TIMER);
	if (look) {
		const struct graded none = look->graded;
		look->row.has |= REC_HAS_GRAPH;
		look->graded = *graded;
		*graded = none;
	}
	CALL_FOR(vec_finish, graded, grades, classes, holders);
}

#define PUT_ROWS(of, table)                    \
	EACH(from, (of).table) {                   \
		r->table.items[r->table.n] = *from;    \
		r->table.items[r->table.n++].look = i; \
	}

#define MAKE_ROOM(table, count) \
	(r->table.items = arena_alloc(&r->arena, (count) + 1, sizeof *r->table.items))

void looks_put(const struct looks *l, struct recording *r) {
	const size_t n = l->items.n;
	const struct look *const all = l->items.items;
	MAKE_ROOM(looks, n);
	MAKE_ROOM(groups, n);
	MAKE_ROOM(parts, SUM(i, n, all[i].parts.n));
	MAKE_ROOM(untouched, SUM(i, n, all[i].untouched.n));
	MAKE_ROOM(fullness, SUM(i, n, all[i].fullness.n));
	MAKE_ROOM(classes, SUM(i, n, all[i].types.n + all[i].graded.classes.n));
	MAKE_ROOM(grades, SUM(i, n, all[i].graded.grades.n));
	MAKE_ROOM(holders, SUM(i, n, all[i].graded.holders.n));
	for (uint32_t i = 0; i < n; i++) {
		const struct look *look = &all[i];
		r->looks.items[r->looks.n++] = look->row;
		if (look->group.used_bytes > 0) {
			r->groups.items[r->groups.n++] = look->group;
		}
		PUT_ROWS(*look, parts);
		PUT_ROWS(*look, fullness);
		PUT_ROWS(*look, untouched);
		// Rows were counted for this look alone
		PUT_ROWS(look->graded, grades);
		for (size_t k = r->grades.n - look->graded.grades.n; k < r->grades.n; k++) {
			r->grades.items[k].class += r->grades.items[k].class ? (uint32_t)r->classes.n : 0;
		}
		PUT_ROWS(look->graded, classes);
		const uint32_t before = (uint32_t)r->holders.n;
		PUT_ROWS(look->graded, holders);
		for (size_t k = before; k < r->holders.n; k++) {
			r->holders.items[k].above += r->holders.items[k].above ? before : 0;
		}
		EACH(t, look->types) {
			uint32_t node = t->stack < r->stacks.n ? r->stacks.items[t->stack].node : 0;
			r->classes.items[r->classes.n++] = (struct rec_class){.look = i,
					.node = node,
					FIELDS_OF(t, bytes, name, blocks, kind)};
		}
	}
}

void looks_finish(struct looks *l) {
	while (l->items.n > 0) {
		drop(l, l->items.n - 1);
	}
	vec_finish(&l->items);
}
