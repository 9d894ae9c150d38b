// SPDX-License-Identifier: MIT
/* Turns what a look has read into rows of the recording, and decides which looks are kept. */
#include "collector/looks/looks.h"

#include "sys/clock.h"

#include <unistd.h>

enum {
	LEAST_BYTES = 4 << 20,   // by so much RSS has grown
	GROWTH = 20,             // and by a 20th
	FREE_COST_NS = 20000000, // CPU time that looks may take, and
	COST = 100,              // a 100th of the time that the program has run
	SHRINKING = 50,          // by such a part of RSS while it is looked at
};

bool looks_want(const struct looks *l, uint64_t rss_bytes, uint64_t now_ns) {
	return rss_bytes >= l->peak_bytes + LEAST_BYTES &&
			rss_bytes >= l->peak_bytes + l->peak_bytes / GROWTH &&
			l->cost_ns + l->last_cost_ns <= FREE_COST_NS + now_ns / COST;
}

static void drop(struct looks *l, size_t i) {
	vec_finish(&l->items.items[i].parts);
	vec_finish(&l->items.items[i].untouched);
	l->items.n--;
	memmove(&l->items.items[i], &l->items.items[i + 1], (l->items.n - i) * sizeof *l->items.items);
}

/** Those that another one of the same sort replaces. */
static void drop_older(struct looks *l, enum rec_look_at at) {
	size_t most = at == REC_AT_REQUEST ? LOOKS_REQUESTED - 1 : 0, n = 0;
	for (size_t i = l->items.n; i-- > 0;) {
		if (l->items.items[i].row.at == at && n++ >= most) {
			drop(l, i);
		}
	}
}

/** "libc.so.6" for "/usr/lib/libc.so.6"; false for "". */
static bool is_library(const char *name, const char *with) {
	const char *base = strrchr(name, '/');
	return base && strncmp(base + 1, with, strlen(with)) == 0;
}

/** Does glibc's malloc give the blocks? Allocators that are linked into a program are not seen. */
static bool is_glibcs(const struct smaps *areas) {
	static const char *const others[] = {"ld-musl", "libc.musl", "libjemalloc", "libtcmalloc",
			"libmimalloc"};
	for (size_t i = 0; i < areas->n; i++) {
		for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
			if (is_library(areas->items[i].name, others[k])) {
				return false;
			}
		}
	}
	return true;
}

/** What is given back meanwhile has no owner any more: another look will do better. */
static bool is_shrinking(const struct view *v) {
	uint64_t before = v->rss_before_bytes, after = v->rss_after_bytes;
	return after != 0 && after < before - before / SHRINKING;
}

static bool take_parts(struct look *look, const struct parts *parts, struct texts *texts) {
	for (size_t i = 0; i < parts->rows.n; i++) {
		const struct parts_row *from = &parts->rows.items[i];
		struct rec_part *to = vec_push(&look->parts);
		if (!to) {
			return false;
		}
		*to = (struct rec_part){
				.resident_bytes = from->resident_bytes,
				.asked_bytes = from->asked_bytes,
				.lazy_free_bytes = from->lazy_free_bytes,
				.mapping = from->mapping,
				.name = texts_id_of(texts, from->name),
				.part = from->part,
		};
	}
	for (size_t i = 0; i < parts->untouched.n; i++) {
		const struct parts_untouched *from = &parts->untouched.items[i];
		struct rec_untouched *to = vec_push(&look->untouched);
		if (!to) {
			return false;
		}
		*to = (struct rec_untouched){
				.asked_bytes = from->asked_bytes,
				.resident_bytes = from->resident_bytes,
				.stack = from->stack,
				.blocks = from->blocks,
		};
	}
	return true;
}

static bool join(const struct view *v, const struct looks_known *known, struct parts *out) {
	const struct parts_input in = {
			.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
			.areas = &v->areas,
			.pages = &v->pages,
			.blocks = known->blocks,
			.mappings = known->mappings,
			.before = known->before,
			.threads = known->threads,
			.n_threads = known->n_threads,
			.ours = v->ours.items,
			.n_ours = v->ours.n,
			.modules = v->modules.items,
			.n_modules = v->modules.n,
			.is_glibc = is_glibcs(&v->areas),
			.knows_all_blocks = known->has_all_blocks,
			.rss_before_bytes = v->rss_before_bytes,
			.rss_after_bytes = v->rss_after_bytes,
	};
	struct err err;
	return parts_join(&in, out, &err);
}

bool looks_add(struct looks *l, const struct view *v, const struct looks_known *known, pid_t pid,
		enum rec_look_at at, uint64_t now_ns) {
	uint64_t start_ns = clock_thread_cpu_ns();
	struct parts parts = {0};
	bool ok = v->areas.n > 0 && !(at == REC_AT_RSS_PEAK && is_shrinking(v)) &&
			join(v, known, &parts);
	if (ok) {
		drop_older(l, at);
	}
	struct look *look = ok ? vec_push(&l->items) : NULL;
	ok = look && take_parts(look, &parts, known->texts);
	l->last_cost_ns = v->cost_ns + clock_thread_cpu_ns() - start_ns;
	l->cost_ns += l->last_cost_ns;
	if (ok) {
		look->row = (struct rec_look){
				.time_ns = now_ns,
				.rss_bytes = parts.rss_bytes,
				.swap_bytes = parts.swap_bytes,
				.changed_bytes = parts.changed_bytes,
				.cost_ns = l->last_cost_ns,
				.pid = (uint32_t)pid,
				.at = (uint8_t)at,
				.has = (uint8_t)parts.has,
		};
		l->peak_bytes = parts.rss_bytes > l->peak_bytes ? parts.rss_bytes : l->peak_bytes;
	} else if (look) {
		drop(l, l->items.n - 1);
	}
	parts_finish(&parts);
	return ok;
}

bool looks_put(const struct looks *l, struct recording *r) {
	size_t n_parts = 0, n_untouched = 0;
	for (size_t i = 0; i < l->items.n; i++) {
		n_parts += l->items.items[i].parts.n;
		n_untouched += l->items.items[i].untouched.n;
	}
	r->looks.items = arena_new(&r->arena, struct rec_look, l->items.n + 1);
	r->parts.items = arena_new(&r->arena, struct rec_part, n_parts + 1);
	r->untouched.items = arena_new(&r->arena, struct rec_untouched, n_untouched + 1);
	if (!r->looks.items || !r->parts.items || !r->untouched.items) {
		return false;
	}
	for (uint32_t i = 0; i < l->items.n; i++) {
		const struct look *look = &l->items.items[i];
		r->looks.items[r->looks.n++] = look->row;
		for (size_t k = 0; k < look->parts.n; k++) {
			struct rec_part *part = &r->parts.items[r->parts.n++];
			*part = look->parts.items[k];
			part->look = i;
		}
		for (size_t k = 0; k < look->untouched.n; k++) {
			struct rec_untouched *u = &r->untouched.items[r->untouched.n++];
			*u = look->untouched.items[k];
			u->look = i;
		}
	}
	return true;
}

void looks_finish(struct looks *l) {
	while (l->items.n > 0) {
		drop(l, l->items.n - 1);
	}
	vec_finish(&l->items);
}
