// SPDX-License-Identifier: MIT
#pragma once
/** The page that the default report is written on, and what its parts share. */

#include "engine/findings.h"
#include "report/report.h"
#include "report/text/columns.h"

enum { PAGE_LINES = 60, BYTES_COLUMN = 10, PERCENT_COLUMN = 16, BLOCKS_COLUMN = 12 };

struct page {
	struct buffer *out;
	const struct recording *r;
	const struct names *names;
	const struct report_options *options;
	size_t width;
	struct arena arena; // of this page
	bool failed;        // no memory
};

struct page page_init(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options);

/** False: no memory. */
bool page_finish(struct page *p, struct err *err);

struct slice page_short_name(struct page *p, const struct name *name);

uint64_t page_per_second(const struct recording *r, uint64_t n);

/** Lines so far. */
size_t page_lines(const struct page *p);

/** The tables of sites, at most so many of them, in at most so many lines. */
void page_put_tables(struct page *p, size_t lines, size_t most);

/** The parts of resident memory nearest its peak, in 12 lines at most; nothing without a look. */
void page_put_memory(struct page *p);
