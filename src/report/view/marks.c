// SPDX-License-Identifier: MIT
/* A row for each mark, with what lies between it and the next. */
#include "base/human.h"
#include "report/text/columns.h"
#include "report/view/viewer.h"

enum { MARKS_SHOWN = 20, MARK_NAME = 34 };

static bool put_mark(struct viewer *v, const struct rec_mark *m, uint64_t until_ns,
		struct err *err) {
	struct lens between = *v->lens;
	between.metric = LENS_KEPT;
	lens_between(&between, v->r, m->time_ns, until_ns);
	struct lens_result result;
	if (!lens_apply(&between, v->r, v->names, &v->arena, &result, err)) {
		return false;
	}
	char text[HUMAN_MAX];
	buffer_text(v->out, "  ");
	put_left(v->out, v->r->strings.items[m->name], MARK_NAME);
	put_right(v->out, human_duration(text, m->time_ns), 12);
	put_right(v->out, human_count(text, result.total.allocations), 15);
	put_right(v->out, human_compact(text, result.total.allocated_bytes), 10);
	put_right(v->out, human_compact(text, result.total.bytes), 10);
	put_right(v->out, human_count(text, result.total.blocks), 13);
	buffer_u8(v->out, '\n');
	return true;
}

bool view_put_marks(struct viewer *v, uint64_t start_ns, uint64_t end_ns, struct err *err) {
	const struct rec_mark *marks = v->r->marks.items;
	uint32_t at = 0, n = v->r->marks.n, shown = 0;
	while (at < n && marks[at].time_ns < start_ns) {
		at++;
	}
	while (n > at && marks[n - 1].time_ns > end_ns) {
		n--;
	}
	if (at == n) {
		return true;
	}
	buffer_text(v->out,
			"\n  mark                                        at    allocations     bytes"
			"      kept       blocks\n");
	for (; at < n && shown < MARKS_SHOWN; at++, shown++) {
		if (!put_mark(v, &marks[at], at + 1 < n ? marks[at + 1].time_ns : end_ns, err)) {
			return false;
		}
	}
	if (at < n) {
		buffer_printf(v->out, "  … %u more (--json has them)\n", n - at);
	}
	buffer_text(v->out,
			"  allocations and bytes: from this mark to the next; kept: of these, live at the "
			"next\n");
	return true;
}
