// SPDX-License-Identifier: MIT
/* Writes the aggregate's state as a recording's tables. The running period is merged in a copy. */
#include "engine/aggregate/state.h"

static void put_summary(const struct aggregate *a, struct recording *out) {
	struct rec_summary *s = &out->summary;
	s->frees = a->sum.allocations - a->sum.live_blocks - a->sum.gone_at_exec;
	s->reallocs = SUM(i, a->stacks.n, a->stacks.items[i].reallocs);
	COPY_FIELDS(s, &a->sum, allocations, allocated_bytes, temporary, short_lived, peak_bytes,
			peak_blocks, peak_time_ns, live_bytes, live_blocks);
	COPY_FIELDS(s, &a->sum, gone_at_exec, gone_at_exec_bytes, left_blocks, left_bytes);
	s->live_blocks += s->left_blocks;
	s->live_bytes += s->left_bytes;
	s->gone_at_exec -= s->left_blocks;
	s->gone_at_exec_bytes -= s->left_bytes;
	s->old_blocks = a->old.n;
	s->old_bytes = a->old.all_bytes;
	s->old_freed_blocks = a->old.n_freed;
	s->old_freed_bytes = a->old.freed_bytes;
	COPY_FIELDS(&out->quality, &a->quality, unknown_frees, double_allocations, time_corrections);
}

static void put_stack(const struct aggregate *a, uint32_t i, struct rec_stack *out) {
	const struct stack *s = &a->stacks.items[i];
	bool has_kept = s->epoch == a->epoch;
	const struct left left = i < a->left.n ? a->left.items[i] : (struct left){0};
	*out = (struct rec_stack){
			.node = s->node,
			.thread = s->thread, // an id; put_threads turns it into an index
			FIELDS_OF(s, usual_size, allocations, allocated_bytes, temporary, temporary_bytes,
					short_lived),
			.peak_blocks = has_kept ? s->peak_blocks : s->live_blocks,
			.peak_bytes = has_kept ? s->peak_bytes : s->live_bytes,
			.live_blocks = s->live_blocks + left.blocks,
			.live_bytes = s->live_bytes + left.bytes,
			.left_blocks = left.blocks,
			.left_bytes = left.bytes,
			.reallocs = s->reallocs,
			.first_ns = s->first,
			.last_ns = s->last,
	};
}

static void put_stacks(const struct aggregate *a, struct recording *out) {
	(void)RECORDING_ROOM(out, stacks, a->stacks.n);
	(void)RECORDING_ROOM(out, lifetimes, a->stacks.n);
	for (uint32_t i = 0; i < a->stacks.n; i++) {
		put_stack(a, i, &out->stacks.items[i]);
		for (int k = 0; k < STACK_LIFETIMES; k++) {
			out->lifetimes.items[i].blocks[k] = a->stacks.items[i].lifetimes[k];
		}
	}
	EACH_OF(carried, a->stacks.lives, a->stacks.n_lives) {
		rec_lifetimes_add(&out->lifetimes.items[carried->stack], &carried->counts);
	}
}

/** The curve is left out if it is no finer than the edges. */
static void put_edges(const struct aggregate *a, uint64_t now_ns, struct recording *out) {
	const struct bins *b = &a->bins;
	uint64_t end_ns = now_ns;
	RAISE_TO(end_ns, a->moment);
	RAISE_TO(end_ns, b->running.time_ns + 1);
	RAISE_TO(end_ns, b->point.time_ns + 1);
	out->edges.items = bins_copy_edges(&out->arena, b->edges, b->n, bins_edge_at(b, end_ns));
	out->edges.n = b->n + 1;
	if (b->curve_shift < b->shift) {
		out->curve.items = bins_copy_edges(&out->arena, b->curve, b->n_curve,
				bins_point_at(b, end_ns));
		out->curve.n = b->n_curve + 1;
	}
}

/** The live blocks as intervals without end, in `log`, which the caller finishes. */
static void log_live(const struct aggregate *a, struct bins *log) {
	*log = (struct bins){0};
	FREED uint32_t *hints = memory_new(a->stacks.n, sizeof *hints);
	EACH_OF_THAT(b, a->blocks.items, a->blocks.n, b->stack != BLOCK_UNUSED) {
		bins_reserve(log, 1);
		bins_log(log, &hints[b->stack], b->stack, bins_edge_after(&a->bins, b->birth), b->size,
				false);
	}
	bins_end_live(log);
}

/** Replace each count by the sum of those before it. */
static void counts_to_starts(uint32_t *counts, size_t n) {
	uint32_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t count = counts[i];
		counts[i] = sum;
		sum += count;
	}
}

/** Each part is ordered by `until`, and so are the parts: so are the intervals of a stack. */
static void sort_intervals(const struct aggregate *a, const struct bins *log,
		const struct bins *live, struct recording *out) {
	const struct {
		const struct rec_interval *items;
		size_t n;
	} parts[] = {{a->bins.intervals, a->bins.n_intervals}, {log->log, log->n_log},
			{live->log, live->n_log}};
	const size_t n = SUM(k, N_OF(parts), parts[k].n);
	FREED uint32_t *next = memory_new(a->stacks.n, sizeof *next); // by stack: its next row
	out->intervals.items = arena_new(&out->arena, struct rec_interval_row, n);
	if (n >= UINT32_MAX) {
		(void)memory_lacks(); // row numbers do not fit
	}
	EACH_OF(part, parts, N_OF(parts)) {
		EACH_OF(v, part->items, part->n) {
			next[v->stack]++;
		}
	}
	counts_to_starts(next, a->stacks.n);
	out->intervals.n = (uint32_t)n;
	EACH_OF(part, parts, N_OF(parts)) {
		EACH_OF(v, part->items, part->n) {
			(void)recording_set_interval(out, next[v->stack]++, v);
		}
	}
}

static void put_intervals(const struct aggregate *a, struct recording *out) {
	SCOPED(bins) log = {0};
	SCOPED(bins) live = {0};
	bins_copy_log(&a->bins, &log);
	log_live(a, &live);
	sort_intervals(a, &log, &live, out);
}

/** live[i]: the number of live blocks counted in sizes.items[i]. */
static void count_live_sizes(const struct aggregate *a, uint64_t *live) {
	EACH_OF_THAT(b, a->blocks.items, a->blocks.n, b->stack != BLOCK_UNUSED) {
		uint32_t at = sizes_find(&a->sizes, &a->stacks.items[b->stack], b->stack, b->size);
		if (at != INDEX_NONE) {
			live[at]++;
		}
	}
}

ORDER_OF(compare_sizes, struct rec_size, LOWEST(size) ?: LOWEST(is_class));

/** The rest that the stack's other sizes leave. */
static struct rec_size usual_size(const struct stack *s, uint32_t stack,
		const struct rec_size *others, size_t n) {
	struct rec_size usual = {.stack = stack, .size = s->usual_size, .count = s->allocations};
	usual.live = s->live_blocks;
	for (size_t i = 0; i < n; i++) {
		usual.count -= others[i].count;
		usual.live -= others[i].live;
	}
	usual.bytes = usual.count * usual.size;
	return usual;
}

/** Add each stack's usual size, and sort its sizes. ends[stack]: where that has its place. */
static void finish_sizes(const struct aggregate *a, const uint32_t *ends, struct rec_size *all,
		struct recording *out) {
	uint32_t n = 0, at = 0;
	for (uint32_t i = 0; i < a->stacks.n; i++) {
		struct rec_size *own = &all[at];
		uint32_t n_own = ends[i] + 1 - at;
		own[n_own - 1] = usual_size(&a->stacks.items[i], i, own, n_own - 1);
		if (n_own > 1) { // most have no other
			qsort(own, n_own, sizeof *own, compare_sizes);
		}
		EACH_NUMBER(k, n_own, own[k].count) {
			all[n++] = own[k]; // n never overtakes at
		}
		at = ends[i] + 1;
	}
	out->sizes.items = all;
	out->sizes.n = n;
}

/** next[stack]: where its sizes begin in `all`, with a place more for the usual one. */
static void find_starts(const struct aggregate *a, uint32_t *next) {
	for (uint32_t i = 0; i < a->stacks.n; i++) {
		next[i] = 1;
	}
	for (uint32_t i = 0; i < a->sizes.n; i++) {
		next[a->sizes.items[i].stack]++;
	}
	counts_to_starts(next, a->stacks.n);
}

static void put_counted_sizes(const struct aggregate *a, const uint64_t *live, uint32_t *next,
		struct rec_size *all) {
	for (uint32_t i = 0; i < a->sizes.n; i++) {
		const struct size_count *c = &a->sizes.items[i];
		all[next[c->stack]++] = (struct rec_size){
				FIELDS_OF(c, stack, is_class, size, count, bytes),
				.live = live[i],
		};
	}
}

static void put_sizes(const struct aggregate *a, struct recording *out) {
	size_t n = (size_t)a->sizes.n + a->stacks.n;
	FREED uint32_t *next = memory_new(a->stacks.n, sizeof *next);
	FREED uint64_t *live = memory_new(a->sizes.n, sizeof *live);
	struct rec_size *all = arena_new(&out->arena, struct rec_size, n);
	if (n >= UINT32_MAX) {
		(void)memory_lacks(); // row numbers do not fit
	}
	count_live_sizes(a, live);
	find_starts(a, next);
	put_counted_sizes(a, live, next, all);
	finish_sizes(a, next, all, out);
}

static struct rec_thread thread_of(const struct aggregate *a, const struct thread_record *r,
		uint64_t now_ns) {
	bool is_over = r->has_ended || r->id == THREAD_NONE;
	RAISE_TO(now_ns, r->first_ns);
	return (struct rec_thread){
			FIELDS_OF(r, tid, image, name, n_merged, first_ns),
			.last_ns = is_over ? r->last_ns : now_ns,
			.allocations = thread_allocations(&a->threads, r),
			FIELDS_OF(r, allocated_bytes, frees, temporary, live_bytes),
			.peak_bytes = thread_peak_bytes(r, a->epoch),
			.foreign_frees = r->foreign_frees,
	};
}

static void put_threads(const struct aggregate *a, uint64_t now_ns, struct recording *out) {
	const struct threads *t = &a->threads;
	FREED uint32_t *number = memory_new(t->records.n, sizeof *number);
	(void)RECORDING_ROOM(out, threads, t->n_used);
	(void)RECORDING_PUT(out, handovers, t->handovers.items, t->handovers.n);
	out->threads.n = 0;
	EACH_NUMBER(i, t->records.n, t->records.items[i].is_used) {
		number[i] = out->threads.n;
		out->threads.items[out->threads.n++] = thread_of(a, &t->records.items[i], now_ns);
	}
	EACH(s, out->stacks) {
		s->thread = number[t->ids.items[s->thread].record];
		// A thread may be announced after its first events
		struct rec_thread *of = &out->threads.items[s->thread];
		LOWER_TO(of->first_ns, s->allocations > 0 ? s->first_ns : of->first_ns);
	}
	EACH(h, out->handovers) {
		h->from = number[h->from];
		h->to = number[h->to];
	}
}

void aggregate_snapshot(const struct aggregate *a, uint64_t now_ns, struct recording *out) {
	put_summary(a, out);
	put_stacks(a, out);
	put_edges(a, now_ns, out);
	put_intervals(a, out);
	put_sizes(a, out);
	put_threads(a, now_ns, out);
}
