// SPDX-License-Identifier: MIT
#pragma once
/** The page of the default report, and what its parts share. */

#include "report/report.h"

// ---- aligned text: widths count characters, not bytes

/** `s` cut to `width` columns with "…" in its middle, padded on the right. */
void put_left(struct buffer *out, struct slice s, size_t width);

/** Padded on the left. Never cut: a cut number would be wrong. */
void put_right(struct buffer *out, const char *text, size_t width);

void put_spaces(struct buffer *out, size_t n);

void trim_spaces(struct buffer *out);

/** As put_left, but cut at the end: for text whose start matters. */
void put_cut_padded(struct buffer *out, struct slice s, size_t width);

/** A function's place: "app.cpp:20", its module, or nothing for a runtime, named by its module. */
void put_place(struct buffer *out, const struct name *f);

/** "makeRow() app.cpp:12"; `label` without a name. */
void put_site(struct buffer *out, const struct name *name, struct slice label, struct arena *arena);

// ---- the page of the default report, and what its parts share

enum { PAGE_LINES = 60, BYTES_COLUMN = 10, PERCENT_COLUMN = 16, BLOCKS_COLUMN = 12 };

/** The width of lines, at most `most`, beyond which they are hard to read. */
size_t width_asked(const struct report_options *o, size_t most);

struct page {
	struct buffer *out;
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

/** The tables of sites: at most `most` of them, in at most `lines` lines. */
void page_put_tables(struct page *p, size_t lines, size_t most);

/** The parts of resident memory nearest its peak, in at most 12 lines; nothing without a look. */
void page_put_memory(struct page *p);
