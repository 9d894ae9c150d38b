// SPDX-License-Identifier: MIT
#include "base/human.h"
#include "engine/findings.h"
#include "engine/quality.h"
#include "engine/shorten.h"
#include "engine/sites.h"
#include "report/columns.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

// The page, from top to bottom: title, quality lines, the four totals, four tables, the six
// classic lines, ways to go on. Numbers stand right-aligned in the last columns, names get the rest.

struct page {
	struct buffer *out;
	const struct recording *r;
	const struct names *names;
	const struct report_options *options;
	size_t width;
	struct arena arena; // of this page
	bool failed;
};

enum { WIDTH_MIN = 60, WIDTH_PIPED = 100, WIDTH_MAX = 160 };
enum { BYTES_COLUMN = 10, PERCENT_COLUMN = 5, BLOCKS_COLUMN = 12 };

static struct slice text(const struct page *p, uint32_t id) {
	return p->r->strings.items[id];
}

static size_t page_width(const struct report_options *o) {
	size_t w = o->width ? o->width : WIDTH_PIPED;
	return w < WIDTH_MIN ? WIDTH_MIN : w > WIDTH_MAX ? WIDTH_MAX : w;
}

static void put_title(struct page *p) {
	const struct rec_meta *m = &p->r->meta;
	struct slice exe = text(p, m->exe);
	struct slice base = path_base(exe);
	buffer_slice(p->out, base.size ? base : slice_of_text("unknown program"));
	if (m->n_argv > 0 && !slice_equal(text(p, m->argv_first), base)) {
		buffer_printf(p->out, " (%.*s)", SLICE_ARG(text(p, m->argv_first)));
	}
	char duration[HUMAN_MAX];
	buffer_printf(p->out, "   %s", human_duration(duration, m->duration_ns));
	time_t start = (time_t)(m->wall_start_ns / 1000000000);
	struct tm tm;
	if (m->wall_start_ns && localtime_r(&start, &tm)) {
		char when[32];
		(void)strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
		buffer_printf(p->out, "   recorded %s", when);
	}
	if (p->options->file) {
		buffer_printf(p->out, "   file %s", p->options->file);
	}
	buffer_text(p->out, "\n\n");
}

static void put_quality(struct page *p) {
	struct quality_line lines[QUALITY_LINES_MAX];
	size_t n = quality_lines(p->r, p->names, &p->arena, lines);
	for (size_t i = 0; i < n; i++) {
		put_wrapped(p->out, "  ! ", 4, lines[i].text, p->width);
	}
	if (n > 0) {
		buffer_u8(p->out, '\n');
	}
}

static uint64_t per_second(const struct recording *r, uint64_t n) {
	double s = (double)r->meta.duration_ns / 1e9;
	return s > 0 ? (uint64_t)((double)n / s) : 0;
}

/** One line of totals: two columns of "name  number  remark". */
static void put_pair(struct page *p, const char *name, const char *number, const char *remark,
		const char *name2, const char *number2, const char *remark2) {
	buffer_printf(p->out, "  %-11s %10s  %-20s %-9s %9s", name, number, remark, name2, number2);
	buffer_printf(p->out, "%s%s\n", *remark2 ? "  " : "", remark2);
}

static void put_totals(struct page *p) {
	const struct recording *r = p->r;
	const struct rec_summary *s = &r->summary;
	char a[HUMAN_MAX], b[HUMAN_MAX], t[HUMAN_MAX], remark[64], remark2[64];
	(void)snprintf(remark, sizeof remark, "at %s", human_duration(t, s->peak_time_ns));
	put_pair(p, "peak heap", human_bytes(a, s->peak_bytes), s->peak_bytes ? remark : "", "peak RSS",
			s->peak_rss_bytes ? human_bytes(b, s->peak_rss_bytes) : "not seen", "");
	(void)snprintf(remark, sizeof remark, "in %s block%s", human_count(t, s->live_blocks),
			s->live_blocks == 1 ? "" : "s");
	buffer_printf(p->out, "  %-11s %10s  %s\n", "never freed", human_bytes(a, s->live_bytes),
			s->live_blocks ? remark : "");
	(void)snprintf(remark, sizeof remark, "(%s/s)", human_count(t, per_second(r, s->allocations)));
	(void)snprintf(remark2, sizeof remark2, "(%s)", human_percent(t, s->temporary, s->allocations));
	put_pair(p, "allocations", human_count(a, s->allocations), remark, "temporary",
			human_count(b, s->temporary), remark2);
	buffer_u8(p->out, '\n');
}

static struct slice short_name(struct page *p, const struct name *name) {
	char *text = function_short(name->function, &p->arena);
	p->failed |= !text;
	return slice_of_text(text ? text : "?");
}

/** "makeSession() <- handleRequest() <- main": the user's own callers, innermost first. */
static void put_callers(struct page *p, const struct site *site, struct buffer *out) {
	struct stack_walk w = stack_walk_init(p->r, p->names, p->r->stacks.items[site->heaviest].node);
	struct slice last = site->name->function;
	bool is_behind = false;
	const struct name *f;
	for (int n = 0; n < 8 && (f = stack_walk_next(&w));) {
		if (f == site->name) {
			is_behind = true;
		} else if (is_behind && f->owner == OWNER_YOURS && !slice_equal(f->function, last)) {
			buffer_printf(out, "<- %.*s ", SLICE_ARG(short_name(p, f)));
			last = f->function;
			n++;
		}
	}
	if (out->size > 0) {
		out->size--; // the last space
	}
}

/** How the width of a table is shared out; the numbers' columns are fixed. */
struct columns {
	size_t name, place, callers;
};

static struct columns share_out(const struct page *p, size_t widest_name) {
	size_t gaps = 6, numbers = BYTES_COLUMN + PERCENT_COLUMN + BLOCKS_COLUMN;
	size_t left = p->width - gaps - numbers;
	struct columns c = {.name = widest_name};
	if (c.name > left * 55 / 100) {
		c.name = left * 55 / 100;
	}
	left -= c.name;
	c.place = left > 44 ? 22 : left / 2;
	c.callers = left - c.place;
	return c;
}

static void put_place(struct buffer *out, const struct name *name, size_t width) {
	struct buffer place = {0};
	if (name->file.size > 0) {
		buffer_printf(&place, "%.*s:%" PRIu32, SLICE_ARG(path_base(name->file)), name->line);
	} else if (name->has_name) {
		buffer_slice(&place, path_base(name->module));
	}
	put_left(out, buffer_view(&place), width);
	buffer_finish(&place);
}

static void put_row(struct page *p, const struct site *site, enum metric metric,
		const struct costs *total, const struct columns *columns) {
	char bytes[HUMAN_MAX], percent[8], blocks[HUMAN_MAX];
	uint64_t whole = costs_weight(total, metric), part = costs_weight(&site->costs, metric);
	double share = whole ? 100.0 * (double)part / (double)whole : 0;
	(void)snprintf(percent, sizeof percent, "%.0f", share);

	buffer_text(p->out, "  ");
	put_left(p->out, short_name(p, site->name), columns->name);
	buffer_text(p->out, "  ");
	put_place(p->out, site->name, columns->place);
	buffer_text(p->out, "  ");
	struct buffer callers = {0};
	put_callers(p, site, &callers);
	put_cut_padded(p->out, buffer_view(&callers), columns->callers);
	buffer_finish(&callers);
	put_right(p->out, human_compact(bytes, site->costs.bytes), BYTES_COLUMN);
	put_right(p->out, percent, PERCENT_COLUMN);
	put_right(p->out, human_count(blocks, site->costs.blocks), BLOCKS_COLUMN);
	buffer_u8(p->out, '\n');
}

struct table {
	enum metric metric;
	const char *title, *unit; // what its last column counts
	uint32_t rows;
};

static size_t widest_name(struct page *p, const struct site_ranking *sites, uint32_t rows) {
	size_t widest = 12;
	for (uint32_t i = 0; i < rows; i++) {
		size_t n = columns_of(short_name(p, sites->sites[i].name));
		widest = n > widest ? n : widest;
	}
	return widest;
}

static void put_more(struct page *p, const struct site_ranking *sites, uint32_t rows,
		const struct table *table) {
	struct costs rest = {0};
	for (uint32_t i = rows; i < sites->n; i++) {
		rest.bytes += sites->sites[i].costs.bytes;
		rest.blocks += sites->sites[i].costs.blocks;
	}
	char bytes[HUMAN_MAX], share[HUMAN_MAX];
	human_bytes(bytes, rest.bytes);
	human_percent(share, costs_weight(&rest, table->metric),
			costs_weight(&sites->total, table->metric));
	buffer_printf(p->out, "  … %" PRIu32 " more, %s (%s)\n", sites->n - rows, bytes, share);
}

static void put_table(struct page *p, const struct table *table) {
	struct site_ranking sites;
	if (!rank_sites(p->r, p->names, table->metric, &p->arena, &sites)) {
		p->failed = true;
		return;
	}
	if (sites.n == 0) {
		return;
	}
	uint32_t rows = sites.n < table->rows ? sites.n : table->rows;
	if (sites.n == rows + 1) {
		rows++; // a line that says "1 more" could as well show it
	}
	put_left(p->out, slice_of_text(table->title),
			p->width - BYTES_COLUMN - PERCENT_COLUMN - BLOCKS_COLUMN);
	put_right(p->out, "bytes", BYTES_COLUMN);
	put_right(p->out, "%", PERCENT_COLUMN);
	put_right(p->out, table->unit, BLOCKS_COLUMN);
	buffer_u8(p->out, '\n');
	struct columns columns = share_out(p, widest_name(p, &sites, rows));
	for (uint32_t i = 0; i < rows; i++) {
		put_row(p, &sites.sites[i], table->metric, &sites.total, &columns);
	}
	if (rows < sites.n) {
		put_more(p, &sites, rows, table);
	}
	buffer_u8(p->out, '\n');
}

static bool put_findings(struct page *p, struct err *err) {
	struct findings findings;
	if (!findings_make(&findings, p->r, p->names, &p->arena, err)) {
		return false;
	}
	buffer_text(p->out, "FINDINGS\n");
	for (uint32_t i = 0; i < findings.n; i++) {
		const struct finding *f = &findings.items[i];
		if (!f->is_quality) {
			char first[64];
			(void)snprintf(first, sizeof first, "  %s  ", f->title);
			put_wrapped(p->out, first, 4, f->text, p->width);
		}
	}
	buffer_u8(p->out, '\n');
	return true;
}

static void put_tables(struct page *p) {
	static const struct table tables[] = {
			{METRIC_PEAK, "PEAK, by your functions", "blocks", 10},
			{METRIC_NEVER_FREED, "NEVER FREED", "blocks", 5},
			{METRIC_TEMPORARY, "TEMPORARY", "temporary", 5},
			{METRIC_ALLOCATIONS, "ALLOCATIONS", "calls", 5},
	};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		put_table(p, &tables[i]);
	}
}

void report_six_lines(struct buffer *out, const struct recording *r) {
	const struct rec_summary *s = &r->summary;
	char text[HUMAN_MAX];
	buffer_printf(out, "total runtime: %.2fs.\n", (double)r->meta.duration_ns / 1e9);
	buffer_printf(out, "calls to allocation functions: %" PRIu64 " (%" PRIu64 "/s)\n",
			s->allocations, per_second(r, s->allocations));
	buffer_printf(out, "temporary memory allocations: %" PRIu64 " (%" PRIu64 "/s)\n", s->temporary,
			per_second(r, s->temporary));
	buffer_printf(out, "peak heap memory consumption: %s\n", human_classic(text, s->peak_bytes));
	buffer_printf(out, "peak RSS (including heaptrack overhead): %s\n",
			human_classic(text, s->peak_rss_bytes));
	buffer_printf(out, "total memory leaked: %s\n", human_classic(text, s->live_bytes));
}

static void put_nothing_seen(struct page *p) {
	put_wrapped(p->out, "  ", 2,
			"The recorder saw no allocation. Usual reasons: the program is linked statically, it "
			"is set-uid so that libraries cannot be preloaded, or it brings an allocator of its "
			"own.",
			p->width);
	buffer_u8(p->out, '\n');
}

static bool finish(struct page *p, struct err *err) {
	bool ok = !p->failed && !p->out->failed;
	arena_finish(&p->arena);
	return ok || err_memory(err);
}

bool report_text(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, struct err *err) {
	struct page p = {out, r, n, options, page_width(options), {0}, false};
	put_title(&p);
	put_quality(&p);
	if (r->summary.allocations == 0) {
		put_nothing_seen(&p);
	} else {
		put_totals(&p);
		if (!put_findings(&p, err)) {
			arena_finish(&p.arena);
			return false;
		}
		put_tables(&p);
	}
	buffer_text(out, "more: heaptrack_print --full | --json\n\n");
	report_six_lines(out, r); // last: scripts read the end of the output
	return finish(&p, err);
}

bool report_summary(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, struct err *err) {
	struct page p = {out, r, n, options, page_width(options), {0}, false};
	put_quality(&p);
	if (r->summary.allocations == 0) {
		put_nothing_seen(&p);
	} else {
		put_totals(&p);
	}
	return finish(&p, err);
}
