// SPDX-License-Identifier: MIT
#pragma once
/** The page that the default report is written on, and what its parts share. */

#include "report/report.h"

// ---- text that lines up: widths count characters, not bytes

/** `s` cut to `width` columns with "…" in its middle, padded on its right with spaces. */
void put_left(struct buffer *out, struct slice s, size_t width);

/** Padded on its left. Never cut: numbers are whole or wrong. */
void put_right(struct buffer *out, const char *text, size_t width);

void put_spaces(struct buffer *out, size_t n);

/** Drop the spaces that the last column of a line ends with. */
void trim_spaces(struct buffer *out);

/** As put_left, but cut at the end: for lists whose beginning matters. */
void put_cut_padded(struct buffer *out, struct slice s, size_t width);

/**
 * Where a function is: "app.cpp:20", its module, or nothing. A runtime's stacks are named after the
 * module, which then is not said twice.
 */
void put_place(struct buffer *out, const struct name *f);

/** "makeRow() app.cpp:12"; `label` where there is no name. */
void put_site(struct buffer *out, const struct name *name, struct slice label, struct arena *arena);

// ---- the page that the default report is written on, and what its parts share

enum { PAGE_LINES = 60, BYTES_COLUMN = 10, PERCENT_COLUMN = 16, BLOCKS_COLUMN = 12 };

/** Of the lines; `most`: of those that are read best. */
size_t width_asked(const struct report_options *o, size_t most);

struct page {
	struct buffer *out; // fails for lack of memory
	const struct recording *r;
	const struct names *names;
	const struct report_options *options;
	size_t width;
	struct findings findings;
	struct arena arena; // of this page
};

struct slice page_short_name(struct page *p, const struct name *name);

uint64_t page_per_second(const struct recording *r, uint64_t n);

/** Lines so far. */
size_t page_lines(const struct page *p);

/** The tables of sites, at most so many of them, in at most so many lines. */
void page_put_tables(struct page *p, size_t lines, size_t most);

/** The parts of resident memory nearest its peak, in 12 lines at most; nothing without a look. */
void page_put_memory(struct page *p);
