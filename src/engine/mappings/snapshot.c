// SPDX-License-Identifier: MIT

/* Writes the state of mappings as the tables of a recording. */

#include "base/sorted.h"
#include "engine/mappings/state.h"

static bool put_stacks(const struct mappings *m, struct recording *out) {
	out->mappings.items = arena_new(&out->arena, struct rec_mapping, m->stacks.n + 1);
	if (!out->mappings.items) {
		return false;
	}
	out->mappings.n = (uint32_t)m->stacks.n;
	for (size_t i = 0; i < m->stacks.n; i++) {
		const struct mapping_stack *s = &m->stacks.items[i];
		struct rec_mapping *row = &out->mappings.items[i];
		*row = s->sum;
		if (s->epoch != m->epoch) {
			row->peak_maps = s->sum.live_maps;
			row->peak_bytes = s->sum.live_bytes;
		}
	}
	return true;
}

struct putting {
	const struct mappings *m;
	struct recording *out;
};

/** Neighbours that say the same become one row. */
static bool put_range(void *user, struct piece *piece) {
	struct putting *p = user;
	struct recording *out = p->out;
	const struct mapping *mapping = &p->m->mappings.items[piece->mapping];
	struct rec_range *last = out->ranges.n ? &out->ranges.items[out->ranges.n - 1] : NULL;
	if (last && last->end == piece->start && last->mapping == mapping->stack &&
			last->born_ns == mapping->birth && last->sort == piece->sort) {
		last->end = piece->end;
		return true;
	}
	out->ranges.items[out->ranges.n++] = (struct rec_range){.start = piece->start,
			.end = piece->end,
			.mapping = mapping->stack,
			.born_ns = mapping->birth,
			.sort = (uint8_t)piece->sort};
	return true;
}

static bool put_ranges(const struct mappings *m, struct recording *out) {
	struct putting p = {.m = m, .out = out};
	out->ranges.items = arena_new(&out->arena, struct rec_range, m->pieces.n_used + 1ul);
	return out->ranges.items && pieces_walk(&m->pieces, m->pieces.root, put_range, &p);
}

/** What is mapped as intervals without end, in `log`, which the caller finishes. */
static bool log_live(const struct mappings *m, struct bins *log) {
	uint32_t *hints = calloc(m->stacks.n + 1, sizeof *hints);
	bool ok = hints && bins_reserve(log, m->live_maps + 1);
	for (size_t i = 0; ok && i < m->mappings.n; i++) {
		const struct mapping *mapping = &m->mappings.items[i];
		if (mapping->left_bytes > 0) {
			bins_log(log, &hints[mapping->stack], mapping->stack,
					bins_edge_after(&m->bins, mapping->birth), mapping->left_bytes, false);
		}
	}
	free(hints);
	ok = ok && bins_compact_log(log);
	for (size_t i = 0; i < log->n_log; i++) {
		log->log[i].until = REC_NEVER;
	}
	return ok;
}

static int compare_intervals(const void *x, const void *y) {
	const struct rec_interval *a = x, *b = y;
	int order = compare_u64(a->stack, b->stack);
	order = order ? order : compare_u64(a->until, b->until);
	return order ? order : compare_u64(a->from, b->from);
}

static bool put_intervals(const struct mappings *m, struct recording *out) {
	struct bins log = {0}, live = {0};
	bool ok = bins_copy_log(&m->bins, &log) && log_live(m, &live);
	size_t n_ended = m->bins.n_intervals, n = n_ended + log.n_log + live.n_log;
	struct rec_interval *all = ok ? arena_new(&out->arena, struct rec_interval, n + 1) : NULL;
	if (all) {
		memcpy(all, m->bins.intervals, n_ended * sizeof *all);
		memcpy(all + n_ended, log.log, log.n_log * sizeof *all);
		memcpy(all + n_ended + log.n_log, live.log, live.n_log * sizeof *all);
		qsort(all, n, sizeof *all, compare_intervals);
		out->mapping_intervals.items = all;
		out->mapping_intervals.n = (uint32_t)n;
	}
	bins_finish(&live);
	bins_finish(&log);
	return all != NULL;
}

bool mappings_snapshot(const struct mappings *m, uint64_t now_ns, struct recording *out,
		struct err *err) {
	const struct bins *b = &m->bins;
	uint64_t last_ns = m->moment > b->running.time_ns ? m->moment : b->running.time_ns;
	uint64_t end_ns = now_ns > last_ns ? now_ns : last_ns + 1;
	out->summary.mapped_peak_bytes = m->peak_bytes;
	out->summary.mapped_peak_time_ns = m->peak_time_ns;
	out->summary.never_unmapped_bytes = m->live_bytes;
	out->mapping_edges.items = bins_copy_edges(&out->arena, b->edges, b->n,
			bins_edge_at(b, end_ns));
	out->mapping_edges.n = b->n + 1;
	return (out->mapping_edges.items && put_stacks(m, out) && put_ranges(m, out) &&
				   put_intervals(m, out)) ||
			err_memory(err);
}
