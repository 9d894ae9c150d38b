// SPDX-License-Identifier: MIT
/* Leaves out what does not fit in a file that may not grow. */
#include "trace/file/scan.h"

#define CUT_FIELD(row, r, field) (row)->field = (row)->field < (r)->strings.n ? (row)->field : 0

#define CUT(table, ...)                             \
	EACH(row, r->table) {                           \
		FOR_FIELDS(CUT_FIELD, row, r, __VA_ARGS__); \
	}

static void cut_strings(struct recording *r) {
	struct rec_meta *m = &r->meta;
	FOR_FIELDS(CUT_FIELD, m, r, exe, cwd, host, version, called);
	if ((uint64_t)m->argv_first + m->n_argv > r->strings.n) {
		m->argv_first = m->n_argv = 0;
	}
	CUT(modules, path, package, suppressions)
	CUT(threads, name)
	CUT(children, name, exe)
	CUT(images, exe)
	CUT(marks, name)
	CUT(allocators, module, functions, why)
	CUT(parts, name)
	CUT(classes, name)
}

/** The node, or its deepest caller, that is in the log. */
static uint32_t caller_in(const struct recording *r, uint32_t node, const struct counts_row *log) {
	while (node >= log->nodes) {
		node = r->nodes.items[node].parent;
	}
	return node;
}

#define TO_COUNT(r, counts, table) (r)->table.n = (counts)->table

#define TO_CALLERS(table)                         \
	EACH(row, r->table) {                         \
		row->node = caller_in(r, row->node, log); \
	}

static void to_log(struct recording *r, const struct counts_row *log) {
	TO_CALLERS(stacks)
	TO_CALLERS(mappings)
	TO_CALLERS(changes)
	TO_CALLERS(classes)
	FOR_FIELDS(TO_COUNT, r, log, strings, locations, frames, nodes);
	cut_strings(r);
}

static void to_totals(struct recording *r) {
	if (r->stacks.n > 0) {
		struct rec_stack *sum = &r->stacks.items[0];
		for (uint32_t i = 1; i < r->stacks.n; i++) {
			rec_stack_add(sum, &r->stacks.items[i]);
		}
		for (uint32_t i = 1; i < r->lifetimes.n; i++) {
			rec_lifetimes_add(&r->lifetimes.items[0], &r->lifetimes.items[i]);
		}
		sum->node = sum->thread = 0;
		r->stacks.n = 1;
		r->lifetimes.n = r->lifetimes.n ? 1 : 0;
	}
	r->threads.n = r->threads.n ? 1 : 0;
	r->children.n = r->marks.n = 0;
}

void narrow(struct recording *r, const struct counts_row *log, enum narrow_level level) {
	switch (level) {
	case NARROW_TO_LOG: to_log(r, log); return;
	case NARROW_TO_STACKS:
		r->mapping_edges.n = r->mapping_intervals.n = r->ranges.n = r->mappings.n = 0;
		r->changes.n = r->untouched.n = r->classes.n = r->grades.n = r->holders.n = 0;
		EACH(part, r->parts) {
			part->mapping = 0;
		}
		r->edges.n = r->curve.n = r->intervals.n = r->sizes.n = r->handovers.n = r->samples.n = 0;
		return;
	case NARROW_TO_TOTALS: to_totals(r); return;
	case N_NARROW_LEVELS: return;
	}
}
