// SPDX-License-Identifier: MIT
/* The page of the default report, and what its parts share. */
#include "report/text/page.h"

enum { WIDTH_MIN = 60 };

size_t width_asked(const struct report_options *o, size_t most) {
	size_t w = o->width ? o->width : REPORT_WIDTH;
	return w < WIDTH_MIN ? WIDTH_MIN : w > most ? most : w;
}

struct slice page_short_name(struct page *p, const struct name *name) {
	return slice_of_text(function_short(name->function, &p->arena));
}

/** How many lines a terminal makes of one: it wraps wider ones, such as a long file name. */
static size_t rows_of(const struct page *p, struct slice line) {
	size_t width = p->options->height > 0 ? p->width : 0;
	size_t columns = width > 0 ? utf8_columns(line) : 0;
	return columns > width ? (columns + width - 1) / width : 1;
}

size_t page_lines(const struct page *p) {
	size_t n = 0;
	for (struct slice rest = buffer_view(p->out), line; next_line(&rest, &line);) {
		n += rows_of(p, line);
	}
	return n;
}

uint64_t page_per_second(const struct recording *r, uint64_t n) {
	double s = (double)r->meta.duration_ns / 1e9;
	return s > 0 ? (uint64_t)((double)n / s) : 0;
}
