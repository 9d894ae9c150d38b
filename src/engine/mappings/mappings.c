// SPDX-License-Identifier: MIT
/*
 * Processes calls that map one at a time: they are rare. Mappings are stored with their stacks, as
 * blocks are; their pages as pieces by address, since any thread may unmap part of any mapping.
 * That part is logged with its bytes, and counts as a mapping if it is the last one.
 */
#include "engine/mappings.h"

#include "engine/aggregate/state.h"
#include "engine/mappings/pieces.h"
#include "wire/event.h"

#define MAPPING_NONE UINT32_MAX

/** What one call mapped, while any page of it is mapped. */
struct mapping {
	uint64_t birth, left_bytes;
	uint64_t start;
	uint32_t stack; // of an unused one, the next unused one
};

struct mapping_stack {
	struct rec_mapping sum; // its peak values are those kept in `epoch`
	uint64_t epoch, left_maps, left_bytes;
	uint32_t hint; // bins_log
};

/** The lowest piece that the last unmapping call ended; stack INDEX_NONE: none. */
struct last_unmapped {
	uint64_t start;
	uint32_t thread, stack, sort;
};

struct mappings {
	struct pieces pieces;
	VEC(struct mapping) mappings;
	uint32_t unused; // of `mappings`
	VEC(struct mapping_stack) stacks;
	struct index by_node;
	VEC(struct rec_change) changes;
	struct index by_change; // stack and kind
	struct bins bins;
	struct last_unmapped last;
	uint64_t page_mask;
	uint64_t label, moment; // as in struct aggregate
	uint64_t epoch;         // of the peak
	struct rec_edge now;    // totals
	uint64_t peak_bytes, peak_time_ns, left_bytes;
};

struct mappings *mappings_create(uint64_t page_bytes) {
	struct mappings *m = memory_new(1, sizeof *m);
	const struct aggregate_limits limits = aggregate_default_limits();
	bins_init(&m->bins, limits.min_bins, limits.max_entries);
	(void)vec_push(&m->pieces); // PIECE_NONE
	m->page_mask = page_bytes - 1;
	m->unused = MAPPING_NONE;
	m->last.stack = INDEX_NONE;
	return m;
}

void mappings_destroy(struct mappings *m) {
	if (m) {
		CALL_FOR(vec_finish, m, pieces, mappings, stacks, changes);
		CALL_FOR(index_finish, m, by_node, by_change);
		bins_finish(&m->bins);
		free(m);
	}
}

/** Call before a stack's live values change. */
static void keep_peak(const struct mappings *m, struct mapping_stack *s) {
	if (s->epoch != m->epoch) {
		s->epoch = m->epoch;
		s->sum.peak_maps = s->sum.live_maps;
		s->sum.peak_bytes = s->sum.live_bytes;
	}
}

static uint32_t stack_of(struct mappings *m, uint32_t node) {
	return VEC_FIND_OR_ADD(&m->by_node, &m->stacks, hash_u64(node), s, s->sum.node == node,
			(struct mapping_stack){.sum = {.node = node, .first_ns = m->moment}});
}

// ---- unmapping

struct ending {
	struct mappings *m;
	bool is_first, is_left;
	uint32_t thread;
};

static void end_piece(void *user, struct piece *piece) {
	struct ending *e = user;
	struct mappings *m = e->m;
	struct mapping *mapping = &m->mappings.items[piece->mapping];
	struct mapping_stack *s = &m->stacks.items[mapping->stack];
	uint64_t bytes = piece->end - piece->start;
	bins_reserve(&m->bins, 1);
	if (e->is_first) {
		m->last = (struct last_unmapped){piece->start, e->thread, mapping->stack, piece->sort};
		e->is_first = false;
	}
	keep_peak(m, s);
	mapping->left_bytes -= bytes;
	bool is_over = mapping->left_bytes == 0;
	s->sum.live_bytes -= bytes;
	s->sum.live_maps -= is_over;
	s->left_bytes += e->is_left ? bytes : 0;
	s->left_maps += e->is_left && is_over;
	m->left_bytes += e->is_left ? bytes : 0;
	m->now.bytes -= bytes;
	m->now.blocks -= is_over;
	bins_log(&m->bins, &s->hint, mapping->stack, bins_edge_after(&m->bins, mapping->birth), bytes,
			false);
	m->bins.log[s->hint].count -= !is_over;
	if (is_over) {
		mapping->stack = m->unused;
		m->unused = piece->mapping;
	}
}

static void unmap(struct mappings *m, uint64_t start, uint64_t end, uint32_t thread, bool is_left) {
	struct ending ending = {m, true, is_left, thread};
	uint32_t taken = pieces_take(&m->pieces, start, end);
	pieces_walk(&m->pieces, taken, end_piece, &ending);
	pieces_give(&m->pieces, taken);
	LOWER_TO(m->bins.point.min_bytes, m->now.bytes);
}

/** End what is left of one shmat; other mappings may be in its holes. */
static void detach(struct mappings *m, uint64_t start, uint32_t thread) {
	const struct pieces *p = &m->pieces;
	uint32_t i = pieces_find(p, start);
	uint64_t at = i == PIECE_NONE ? pieces_next(p, start) : start, next, left;
	const struct piece first = p->items[pieces_find(p, at)];
	if (first.sort >> 4 != WIRE_MAP_SHM || m->mappings.items[first.mapping].start != start) {
		return;
	}
	for (left = m->mappings.items[first.mapping].left_bytes; left > 0; at = next) {
		next = pieces_next(p, at);
		i = pieces_find(p, at);
		if (i != PIECE_NONE && p->items[i].mapping == first.mapping) {
			left -= next - at;
			unmap(m, at, next, thread, false);
		}
	}
	m->last.stack = INDEX_NONE;
}

// ---- mapping

static uint32_t new_mapping(struct mappings *m, struct mapping mapping) {
	uint32_t i = m->unused;
	if (i != MAPPING_NONE) {
		m->unused = m->mappings.items[i].stack;
		m->mappings.items[i] = mapping;
	} else {
		i = (uint32_t)m->mappings.n;
		(void)vec_add(&m->mappings, mapping);
	}
	return i;
}

/** The total may be the largest of its point, of the period, or of all. */
static void rise(struct mappings *m) {
	m->now.time_ns = m->moment;
	if (m->now.bytes > m->bins.point.bytes && bins_rise(&m->bins, &m->now)) {
		bins_settle(&m->bins);
	}
	if (m->now.bytes > m->peak_bytes) {
		m->peak_bytes = m->now.bytes;
		m->peak_time_ns = m->moment;
		m->epoch++;
	}
}

static void map(struct mappings *m, const struct trace_event *e, struct piece piece) {
	enum wire_map_what what = (enum wire_map_what)(piece.sort >> 4);
	bool is_same = m->last.stack != INDEX_NONE && m->last.thread == e->thread;
	uint32_t stack = what == WIRE_MAP_BACK && is_same && m->last.start == piece.start
			? m->last.stack
			: stack_of(m, e->node);
	uint64_t bytes = piece.end - piece.start;
	struct mapping_stack *s = &m->stacks.items[stack];
	s->sum.is_inside |= what == WIRE_MAP_INSIDE || what == WIRE_MAP_MOVED_INSIDE;
	piece.sort = what >= WIRE_MAP_MOVED ? (is_same ? m->last.sort : 0) : piece.sort;
	piece.mapping = new_mapping(m, (struct mapping){m->moment, bytes, piece.start, stack});
	pieces_put(&m->pieces, &piece);
	keep_peak(m, s);
	s->sum.last_ns = m->moment;
	s->sum.maps++;
	s->sum.mapped_bytes += bytes;
	s->sum.live_maps++;
	s->sum.live_bytes += bytes;
	m->now.allocations++;
	m->now.allocated_bytes += bytes;
	m->now.blocks++;
	m->now.bytes += bytes;
	rise(m);
}

// ---- changes of protection

static void protect(void *user, struct piece *piece) {
	const uint32_t *protection = user;
	piece->sort = (piece->sort & ~7u) | *protection;
}

static void change(struct mappings *m, uint64_t start, uint64_t end, uint32_t protection) {
	uint32_t taken = pieces_take(&m->pieces, start, end);
	pieces_walk(&m->pieces, taken, protect, &protection);
	pieces_put_back(&m->pieces, taken);
	for (uint64_t at = start; at < end; at = pieces_next(&m->pieces, at)) {
		pieces_mend(&m->pieces, at);
	}
	pieces_mend(&m->pieces, end);
}

// ---- other changes

static void add_change(struct mappings *m, const struct trace_event *e, uint64_t bytes,
		uint32_t sort) {
	const uint32_t what = sort >> 4;
	const uint64_t key = (uint64_t)e->node << 8 | what;
	uint32_t i = VEC_FIND_OR_ADD(&m->by_change, &m->changes, hash_u64(key), known,
			known->node == e->node && known->what == what,
			(struct rec_change){.node = e->node, .what = (uint8_t)what, .first_ns = m->moment});
	struct rec_change *c = &m->changes.items[i];
	c->is_inside |= sort >> 3 & 1;
	c->last_ns = m->moment;
	c->calls++;
	c->bytes += bytes;
}

// ----

/** End the periods before this moment. */
static void reach(struct mappings *m, uint64_t time_ns) {
	m->label = time_ns > m->label ? time_ns : m->label;
	m->moment = next_moment(m->moment, m->label);
	while (m->moment >= m->bins.curve_end) {
		bins_advance(&m->bins, &m->now, (uint32_t)m->stacks.n);
	}
}

void mappings_until(struct mappings *m, uint64_t now_ns) {
	reach(m, now_ns);
}

void mappings_event(struct mappings *m, const struct trace_event *e) {
	uint64_t start = e->ptr & ~m->page_mask, bytes = (e->size + m->page_mask) & ~m->page_mask;
	uint64_t end = start + bytes < start ? ~m->page_mask : start + bytes;
	uint32_t sort = (uint32_t)e->ptr & ((1u << WIRE_MAP_BITS) - 1);
	bool is_change = e->kind == KIND_CHANGED && sort >> 4 != WIRE_CHANGE_PROTECTION;
	if (start == end && !is_change) {
		return;
	}
	reach(m, e->time_ns);
	if (is_change && sort >> 4 < WIRE_CHANGES) {
		add_change(m, e, end - start, sort);
	} else if (is_change) {
		return;
	} else if (e->kind == KIND_CHANGED) {
		change(m, start, end, sort & 7);
	} else if (e->kind == KIND_UNMAP) {
		m->last.stack = INDEX_NONE;
		if (sort >> 4 == WIRE_MAP_SHM) {
			detach(m, start, e->thread);
		} else {
			unmap(m, start, end, e->thread, false);
		}
	} else {
		struct last_unmapped last = m->last; // not what this one replaces
		unmap(m, start, end, e->thread, false);
		m->last = last;
		map(m, e, (struct piece){.start = start, .end = end, .sort = sort});
	}
}

void mappings_end(struct mappings *m, uint64_t start, uint64_t end, uint64_t now_ns, bool is_left) {
	reach(m, now_ns);
	unmap(m, start, end, 0, is_left);
	m->last.stack = INDEX_NONE;
}

struct visiting {
	const struct mappings *m;
	void (*visit)(void *user, const struct mapped_range *range);
	void *user;
};

static void visit_piece(void *user, struct piece *piece) {
	const struct visiting *v = user;
	const struct mapping *mapping = &v->m->mappings.items[piece->mapping];
	const struct mapped_range range = {.start = piece->start,
			.end = piece->end,
			.born_ns = mapping->birth,
			.node = v->m->stacks.items[mapping->stack].sum.node,
			.mapping = mapping->stack,
			.sort = piece->sort};
	v->visit(v->user, &range);
}

void mappings_each(const struct mappings *m,
		void (*visit)(void *user, const struct mapped_range *range), void *user) {
	struct visiting visiting = {m, visit, user};
	pieces_walk(&m->pieces, m->pieces.root, visit_piece, &visiting);
}

// ---- the tables of a recording

static void put_stacks(const struct mappings *m, struct recording *out) {
	(void)RECORDING_ROOM(out, mappings, m->stacks.n);
	for (size_t i = 0; i < m->stacks.n; i++) {
		struct mapping_stack s = m->stacks.items[i];
		keep_peak(m, &s);
		s.sum.live_maps += s.left_maps;
		s.sum.live_bytes += s.left_bytes;
		out->mappings.items[i] = s.sum;
	}
}

/** Merge equal neighbours into one row. */
static void put_range(void *user, const struct mapped_range *range) {
	struct recording *out = user;
	struct rec_range *last = out->ranges.n ? &out->ranges.items[out->ranges.n - 1] : NULL;
	if (last && last->end == range->start && last->mapping == range->mapping &&
			last->born_ns == range->born_ns && last->sort == range->sort) {
		last->end = range->end;
		return;
	}
	out->ranges.items[out->ranges.n++] = (struct rec_range){.start = range->start,
			FIELDS_OF(range, end, mapping, born_ns),
			.sort = (uint8_t)range->sort};
}

/** The live mappings as intervals without end, in `log`, which the caller finishes. */
static void log_live(const struct mappings *m, struct bins *log) {
	FREED uint32_t *hints = memory_new(m->stacks.n, sizeof *hints);
	bins_reserve(log, m->now.blocks + 1);
	EACH_THAT(mapping, m->mappings, mapping->left_bytes > 0) {
		bins_log(log, &hints[mapping->stack], mapping->stack,
				bins_edge_after(&m->bins, mapping->birth), mapping->left_bytes, false);
	}
	bins_end_live(log);
}

ORDER_OF(compare_intervals, struct rec_interval, LOWEST(stack) ?: LOWEST(until) ?: LOWEST(from));

static void put_intervals(const struct mappings *m, struct recording *out) {
	SCOPED(bins) log = {0};
	SCOPED(bins) live = {0};
	bins_copy_log(&m->bins, &log);
	log_live(m, &live);
	size_t n_ended = m->bins.n_intervals, n = n_ended + log.n_log + live.n_log;
	struct rec_interval *all = arena_new(&out->arena, struct rec_interval, n + 1);
	memcpy(all, m->bins.intervals, n_ended * sizeof *all);
	memcpy(all + n_ended, log.log, log.n_log * sizeof *all);
	memcpy(all + n_ended + log.n_log, live.log, live.n_log * sizeof *all);
	qsort(all, n, sizeof *all, compare_intervals);
	out->mapping_intervals.items = all;
	out->mapping_intervals.n = (uint32_t)n;
}

void mappings_snapshot(const struct mappings *m, uint64_t now_ns, struct recording *out) {
	const struct bins *b = &m->bins;
	uint64_t last_ns = m->moment > b->running.time_ns ? m->moment : b->running.time_ns;
	uint64_t end_ns = now_ns > last_ns ? now_ns : last_ns + 1;
	out->summary.mapped_peak_bytes = m->peak_bytes;
	out->summary.mapped_peak_time_ns = m->peak_time_ns;
	out->summary.never_unmapped_bytes = m->now.bytes + m->left_bytes;
	out->mapping_edges.items = bins_copy_edges(&out->arena, b->edges, b->n,
			bins_edge_at(b, end_ns));
	out->mapping_edges.n = b->n + 1;
	put_stacks(m, out);
	out->ranges.items = arena_new(&out->arena, struct rec_range, m->pieces.n_used + 1ul);
	mappings_each(m, put_range, out);
	(void)RECORDING_PUT(out, changes, m->changes.items, m->changes.n);
	put_intervals(m, out);
}
