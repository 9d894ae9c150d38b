// SPDX-License-Identifier: MIT
/*
 * The six lines that scripts look for, in the wording and number format of KDE's heaptrack_print.
 */
#include "base/human.h"
#include "report/text/page.h"

#include <inttypes.h>

/** What a file of another program does not say has no line: a script must not take it for zero. */
void report_six_lines(struct buffer *out, const struct recording *r) {
	const struct rec_summary *s = &r->summary;
	char text[HUMAN_MAX];
	if (!(r->missing & REC_TIME)) {
		buffer_printf(out, "total runtime: %.2fs.\n", (double)r->meta.duration_ns / 1e9);
	}
	if (!(r->missing & REC_ALLOCATIONS)) {
		buffer_printf(out, "calls to allocation functions: %" PRIu64 " (%" PRIu64 "/s)\n",
				s->allocations, page_per_second(r, s->allocations));
	}
	if (!(r->missing & REC_TEMPORARY)) {
		buffer_printf(out, "temporary memory allocations: %" PRIu64 " (%" PRIu64 "/s)\n",
				s->temporary, page_per_second(r, s->temporary));
	}
	if (!(r->missing & REC_PEAK_BYTES)) {
		buffer_printf(out, "peak heap memory consumption: %s\n",
				human_classic(text, s->peak_bytes));
	}
	if (r->meta.source != REC_IMPORTED) {
		buffer_printf(out, "peak RSS (including heaptrack overhead): %s\n",
				human_classic(text, s->peak_rss_bytes));
	}
	if (!(r->missing & REC_LIVE_BYTES)) {
		buffer_printf(out, "total memory leaked: %s\n", human_classic(text, s->live_bytes));
	}
	if (s->suppressed_bytes) {
		buffer_printf(out, "suppressed leaks: %s\n", human_classic(text, s->suppressed_bytes));
	}
}
