// SPDX-License-Identifier: MIT
/*
 * The tables of the default report: one per metric, a row per site. Numbers are right-aligned in
 * the last columns, names get the rest. What runtimes allocate for themselves is one last row.
 */
#include "report/text/page.h"

// A table's sites: yours and the dependencies'; the runtimes' as one sum
struct rows {
	struct part *sites;
	uint32_t n, shown;
	struct lens_costs total, runtime;
	const struct name *runtimes[3]; // the largest of them
	uint32_t n_runtimes;
};

/** "<- handleRequest() <- main": your own callers, innermost first. */
static void put_callers(struct page *p, const struct part *site, struct buffer *out) {
	struct stack_walk w = stack_walk_init(p->r, p->names, p->r->stacks.items[site->heaviest].node);
	struct slice last = function_bare(site->name->function);
	bool is_behind = false;
	const struct name *f;
	for (int n = 0; n < 8 && (f = stack_walk_next(&w));) {
		if (f == site->name) {
			is_behind = true;
		} else if (is_behind && f->owner == OWNER_YOURS &&
				!slice_equal(function_bare(f->function), last)) {
			buffer_printf(out, "<- %.*s ", SLICE_ARG(page_short_name(p, f)));
			last = function_bare(f->function);
			n++;
		}
	}
	trim_spaces(out);
}

/** How a table's width is shared out; the columns of numbers are fixed. */
struct columns {
	size_t name, place, callers;
};

static struct columns share_out(const struct page *p, size_t widest_name) {
	size_t gaps = 6, numbers = BYTES_COLUMN + PERCENT_COLUMN + BLOCKS_COLUMN;
	size_t left = p->width - gaps - numbers;
	struct columns c = {.name = widest_name};
	LOWER_TO(c.name, left * 55 / 100);
	left -= c.name;
	c.place = left > 44 ? 22 : left / 2;
	c.callers = left - c.place;
	return c;
}

static void put_numbers(struct page *p, const struct lens_costs *costs,
		const struct lens_costs *total, enum lens_metric metric) {
	uint64_t whole = lens_metric_weight(metric, total), part = lens_metric_weight(metric, costs);
	put_right(p->out, HUMAN_COMPACT(costs->bytes), BYTES_COLUMN);
	put_right(p->out, HUMAN_SHARE(part, whole, 0), PERCENT_COLUMN);
	bool is_known = !(p->r->missing & lens_metrics[metric].blocks.number);
	put_right(p->out, is_known ? HUMAN_COUNT(costs->blocks) : "", BLOCKS_COLUMN);
	buffer_u8(p->out, '\n');
}

static void put_row(struct page *p, const struct part *site, enum lens_metric metric,
		const struct lens_costs *total, const struct columns *columns) {
	buffer_text(p->out, "  ");
	put_left(p->out, page_short_name(p, site->name), columns->name);
	buffer_text(p->out, "  ");
	SCOPED(buffer) place = {0}, callers = {0};
	put_place(&place, site->name);
	put_left(p->out, buffer_view(&place), columns->place);
	buffer_text(p->out, "  ");
	put_callers(p, site, &callers);
	put_cut_padded(p->out, buffer_view(&callers), columns->callers);
	put_numbers(p, &site->costs, total, metric);
}

static size_t names_width(const struct page *p) {
	return p->width - BYTES_COLUMN - PERCENT_COLUMN - BLOCKS_COLUMN;
}

/** "  (the runtime itself: node, libstdc++.so.6, …)". */
static void put_runtime(struct page *p, const struct rows *rows, enum lens_metric metric) {
	if (rows->runtime.blocks == 0) {
		return;
	}
	SCOPED(buffer) text = {0};
	buffer_text(&text, rows->n_runtimes ? "  (the runtime itself: " : "  (the runtime itself");
	for (uint32_t i = 0; i < rows->n_runtimes && i < 3; i++) {
		buffer_printf(&text, "%s%.*s", i ? ", " : "", SLICE_ARG(rows->runtimes[i]->function));
	}
	buffer_text(&text, rows->n_runtimes > 3 ? ", …)" : ")");
	put_cut_padded(p->out, buffer_view(&text), names_width(p));
	put_numbers(p, &rows->runtime, &rows->total, metric);
}

static void put_more(struct page *p, const struct rows *rows, enum lens_metric metric) {
	if (rows->shown == rows->n) {
		return;
	}
	struct lens_costs rest = {0};
	for (uint32_t i = rows->shown; i < rows->n; i++) {
		lens_costs_add(&rest, &rows->sites[i].costs);
	}
	const char *text = FORMAT(64, "  … %" PRIu32 " more", rows->n - rows->shown);
	put_left(p->out, slice_of_text(text), names_width(p));
	put_numbers(p, &rest, &rows->total, metric);
}

/** The sites of a ranking, in whose place they are stored; runtimes' are summed up. */
static struct rows rows_of(const struct breakdown *ranking, struct lens_costs total) {
	struct rows rows = {.sites = ranking->parts, .total = total};
	EACH_OF(site, ranking->parts, ranking->n) {
		if (!site->name->is_runtime) {
			rows.sites[rows.n++] = *site;
			continue;
		}
		if (rows.n_runtimes < 3) {
			rows.runtimes[rows.n_runtimes] = site->name;
		}
		rows.n_runtimes++;
		lens_costs_add(&rows.runtime, &site->costs);
	}
	return rows;
}

static void put_table(struct page *p, enum lens_metric metric, uint32_t max_rows) {
	const struct metric *m = &lens_metrics[metric];
	struct lens_costs total;
	if (p->r->missing & m->bytes.number) {
		return;
	}
	const struct breakdown ranking = rank_sites(p->r, p->names, metric, &p->arena, &total);
	struct rows rows = rows_of(&ranking, total);
	// That the runtime has all of it is said once, in the table of the peak
	if (rows.n == 0 && (m->rule != METRIC_LIVE_AT_LARGEST || rows.runtime.blocks == 0)) {
		return;
	}
	rows.shown = rows.n < max_rows ? rows.n : max_rows;
	rows.shown += rows.n == rows.shown + 1; // instead of a line "1 more"
	put_left(p->out, slice_of_text(m->report.title), names_width(p));
	put_right(p->out, "bytes", BYTES_COLUMN);
	// What the shares are of: the column that ranks
	put_right(p->out, FORMAT(32, "%% of %s", m->is_counted ? m->report.unit : "bytes"),
			PERCENT_COLUMN);
	put_right(p->out, m->report.unit, BLOCKS_COLUMN);
	buffer_u8(p->out, '\n');
	size_t widest = LARGEST(i, rows.shown, utf8_columns(page_short_name(p, rows.sites[i].name)));
	struct columns columns = share_out(p, RAISE_TO(widest, 12));
	for (uint32_t i = 0; i < rows.shown; i++) {
		put_row(p, &rows.sites[i], metric, &rows.total, &columns);
	}
	put_more(p, &rows, metric);
	put_runtime(p, &rows, metric);
	buffer_u8(p->out, '\n');
}

void page_put_tables(struct page *p, size_t lines, size_t most) {
	enum { AROUND = 4, PEAK_MAX = 10, OTHERS_MAX = 5, MIN = 2 };
	enum lens_metric metrics[N_LENS_METRICS];
	const size_t all = metrics_of_report(metrics), n = most < all ? most : all;
	// Title, "more", runtime and an empty line surround the rows; the peak gets twice as many
	size_t rows = lines > n * AROUND ? lines - n * AROUND : 0, others = rows / (n + 1);
	others = others > OTHERS_MAX ? OTHERS_MAX : others < MIN ? MIN : others;
	size_t peak = rows + others > others * n ? rows + others - others * n : MIN;
	peak = peak > PEAK_MAX ? PEAK_MAX : peak < MIN ? MIN : peak;
	for (size_t i = 0; i < n; i++) {
		put_table(p, metrics[i], (uint32_t)(i == 0 ? peak : others));
	}
}
