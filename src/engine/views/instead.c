// SPDX-License-Identifier: MIT
/* Puts mappings, or resident, absent or held bytes, in the place of blocks. */
#include "engine/memory.h"

static void put_mappings(const struct recording *r, struct arena *arena, struct recording *out) {
	out->stacks.items = arena_new(arena, struct rec_stack, r->mappings.n);
	out->intervals.items = arena_new(arena, struct rec_interval_row, r->mapping_intervals.n);
	out->stacks.n = r->mappings.n;
	out->intervals.n = r->mapping_intervals.n;
	out->edges.items = r->mapping_edges.items;
	out->edges.n = r->mapping_edges.n;
	out->summary.peak_time_ns = r->summary.mapped_peak_time_ns;
	for (uint32_t i = 0; i < r->mappings.n; i++) {
		const struct rec_mapping *m = &r->mappings.items[i];
		out->stacks.items[i] = (struct rec_stack){
				FIELDS_OF(m, node, command, peak_bytes, live_bytes, first_ns, last_ns),
				.allocations = m->maps,
				.allocated_bytes = m->mapped_bytes,
				.peak_blocks = m->peak_maps,
				.live_blocks = m->live_maps,
		};
	}
	for (uint32_t i = 0; i < r->mapping_intervals.n; i++) {
		(void)recording_set_interval(out, i, &r->mapping_intervals.items[i]);
	}
}

/** Bytes without a row of their own have no stack: node 0. */
static void add_resident(const struct recording *r, const struct memory_look *m,
		struct recording *out) {
	struct rec_stack *rest = &out->stacks.items[out->stacks.n++];
	const uint64_t known = SUM(i, m->n_untouched, m->untouched[i].resident_bytes);
	*rest = (struct rec_stack){.peak_bytes = m->bytes[REC_PART_HEAP_LIVE] - known};
	EACH_OF(p, m->rows, m->n_rows) {
		if (p->part == REC_PART_MAPPED && p->mapping == 0) {
			rest->peak_bytes += p->resident_bytes;
		} else if (p->part == REC_PART_MAPPED) {
			out->stacks.items[out->stacks.n++] = (struct rec_stack){
					FIELDS_OF(&r->mappings.items[p->mapping - 1], node, first_ns, last_ns),
					.peak_bytes = p->resident_bytes,
			};
		}
	}
}

static void put_look(const struct recording *r, const struct memory_look *m, struct arena *arena,
		struct recording *out) {
	const bool is_resident = out->of == METRIC_OF_RESIDENT;
	out->stacks.items = arena_new(arena, struct rec_stack, m->n_untouched + m->n_rows + 1ul);
	out->stacks.n = out->intervals.n = 0;
	out->summary.peak_time_ns = m->look->time_ns;
	EACH_OF_THAT(u, m->untouched, m->n_untouched, is_resident || memory_is_absent(u)) {
		out->stacks.items[out->stacks.n++] = (struct rec_stack){
				FIELDS_OF(&r->stacks.items[u->stack], node, thread, first_ns, last_ns),
				.peak_bytes = is_resident ? u->resident_bytes : u->asked_bytes - u->resident_bytes,
				.peak_blocks = u->blocks,
		};
	}
	if (is_resident) {
		add_resident(r, m, out);
	}
}

static bool knows(const struct memory_look *m, uint8_t of) {
	bool has_pages = m->look && m->look->has & REC_HAS_PAGES;
	return has_pages && (of == METRIC_OF_RESIDENT || memory_knows_untouched(m));
}

static void put_grades(const struct recording *r, const struct memory_grades *g, uint32_t grades,
		struct arena *arena, struct recording *out) {
	out->stacks.items = arena_new(arena, struct rec_stack, g->n_rows + 1ul);
	out->grades.items = arena_new(arena, struct rec_grade, g->n_rows + 1ul);
	out->classes = r->classes;
	EACH_OF(row, g->rows, g->n_rows) {
		bool is_accused = memory_is_unreachable(row->grade) &&
				!FIND_IN(s, r->suppressed, s->stack == row->stack);
		if ((grades == 0 || grades & 1u << row->grade) &&
				(out->of == METRIC_OF_GRADED || is_accused)) {
			out->grades.items[out->grades.n++] = *row;
			out->stacks.items[out->stacks.n++] = (struct rec_stack){
					FIELDS_OF(&r->stacks.items[row->stack], node, thread, first_ns, last_ns),
					.peak_bytes = row->bytes,
					.peak_blocks = row->blocks,
			};
		}
	}
}

/** Rows have stacks of their own (held_add_stacks). */
static void put_holders(const struct recording *r, const struct memory_grades *g,
		struct arena *arena, struct recording *out) {
	out->stacks.items = arena_new(arena, struct rec_stack, r->holders.n + 1ul);
	EACH_THAT(h, r->holders, h->look == g->number && h->bytes > 0) {
		out->stacks.items[out->stacks.n++] = (struct rec_stack){.node = h->node,
				.peak_bytes = h->bytes,
				.peak_blocks = h->blocks};
	}
}

bool memory_lacks_look(const struct recording *r, const char *what, struct err *err) {
	SCOPED(buffer) moments = {0};
	EACH_THAT(look, r->looks, look->has & REC_HAS_GRAPH) {
		buffer_printf(&moments, "%s%s", moments.size ? ", " : "", LOOK_MOMENT(look->time_ns));
	}
	return err_unsupported(err, "%s; %s%.*s",
			moments.size ? what : "nobody looked at what points to live blocks",
			moments.size ? "what points to live blocks was looked at after "
						 : "record with heaptrack --leaks",
			SLICE_ARG(buffer_view(&moments)));
}

/** What points to blocks, as of the newest look in the lens's time. */
static bool put_graph(const struct recording *r, const struct lens *l, struct arena *arena,
		struct recording *out, struct err *err) {
	const struct memory_grades g = memory_grades(r, l->time.size ? l->until_ns : UINT64_MAX);
	if (!g.look || (l->time.size && g.look->time_ns < l->since_ns)) {
		return memory_lacks_look(r, "this range of time has no look", err);
	}
	out->stacks.n = out->edges.n = out->intervals.n = 0;
	out->summary.peak_time_ns = g.look->time_ns;
	if (out->of == METRIC_OF_HELD) {
		put_holders(r, &g, arena, out);
	} else {
		put_grades(r, &g, l->grades, arena, out);
	}
	return true;
}

/** Mappings have a command, but no thread. */
static bool asks_who_mapped(const struct lens *l, const struct recording *r) {
	return l->n_threads > 0 ||
			ANY(k, l->n_processes,
					!ANY(i, r->commands.n,
							slice_equal(l->processes[k],
									r->strings.items[r->commands.items[i].name])));
}

bool memory_as_recording(const struct recording *r, struct lens *l, struct arena *arena,
		struct recording *out, struct err *err) {
	const uint8_t of = lens_metrics[l->metric].of;
	const uint64_t until_ns = l->has_range ? lens_edge_ns(r, l->to) : UINT64_MAX;
	struct memory_look look = until_ns == UINT64_MAX ? memory_at_peak(r) : (struct memory_look){0};
	*out = *r;
	out->of = of;
	if (of == METRIC_OF_BLOCKS) {
		return true;
	}
	out->wide.n = out->sizes.n = out->lifetimes.n = out->suppressed.n = 0;
	// These name stacks by their rows
	out->untouched.n = out->classes.n = out->grades.n = out->holders.n = out->looks.n = 0;
	if (of == METRIC_OF_MAPPINGS) {
		put_mappings(r, arena, out);
		return r->mapping_edges.n == 0
				? err_unsupported(err, "calls that map memory were not recorded")
				: asks_who_mapped(l, r)
				? err_unsupported(err,
						  "which thread mapped what is not recorded, nor which process of a "
						  "command")
				: lens_time_of(l, out, arena, err);
	}
	if (of >= METRIC_OF_GRADED) {
		return put_graph(r, l, arena, out, err);
	}
	for (uint32_t i = 0;
			i < r->looks.n && r->looks.items[i].time_ns <= until_ns && until_ns != UINT64_MAX;
			i++) {
		const struct memory_look m = memory_look(r, i);
		look = knows(&m, of) ? m : look;
	}
	if (knows(&look, of)) {
		put_look(r, &look, arena, out);
		return true;
	}
	bool has_pages = knows(&look, METRIC_OF_RESIDENT);
	return err_unsupported(err, "%s",
			has_pages ? "which pages of all live blocks were in memory is not known"
					  : "nobody looked at that time at which pages were in memory");
}
