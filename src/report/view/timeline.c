// SPDX-License-Identifier: MIT
/* The heap over time: per stretch of time a bar of its largest heap; then a row per mark. */
#include "report/view/viewer.h"

enum { ROWS = 40, BAR = 40, MARKS_SHOWN = 20, MARK_NAME = 34 };

struct stretch {
	uint64_t end_ns, bytes, allocations, temporary;
	bool is_seen;
};

static uint64_t rate(uint64_t n, uint64_t ns) {
	return ns ? (uint64_t)((double)n * 1e9 / (double)ns + 0.5) : 0;
}

static void put_bar(struct buffer *out, uint64_t part, uint64_t whole) {
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	size_t n = whole ? (size_t)((double)part / (double)whole * BAR * 8 + 0.5) : 0;
	n = n == 0 && part ? 1 : n;
	for (size_t i = 0; i < n / 8; i++) {
		buffer_text(out, "█");
	}
	buffer_text(out, eighths[n % 8]);
	put_spaces(out, BAR - n / 8 - (n % 8 != 0));
}

static bool has_rates(const struct viewer *v) {
	return v->r->meta.duration_ns >= 1000000000; // else counts: too short to extrapolate
}

static void put_row(struct viewer *v, const struct stretch *s, uint64_t start_ns, uint64_t most) {
	put_right(v->out, HUMAN_DURATION(s->end_ns), 12);
	put_right(v->out, s->is_seen ? HUMAN_COMPACT(s->bytes) : "", 8);
	buffer_text(v->out, "  ");
	put_bar(v->out, s->bytes, most);
	uint64_t length = has_rates(v) ? s->end_ns - start_ns : 1000000000;
	put_right(v->out, HUMAN_COUNT(rate(s->allocations, length)), 13);
	put_right(v->out, HUMAN_COUNT(rate(s->temporary, length)), 13);
	buffer_text(v->out, s->bytes == most && most ? "  largest\n" : "\n");
}

static void put_mark(struct viewer *v, const struct rec_mark *m, uint64_t until_ns) {
	struct lens between = *v->lens;
	between.metric = LENS_KEPT;
	lens_between(&between, v->r, m->time_ns, until_ns);
	struct lens_result result;
	check(lens_apply(&between, v->r, v->names, &v->arena, &result, NULL));
	buffer_text(v->out, "  ");
	put_left(v->out, v->r->strings.items[m->name], MARK_NAME);
	put_right(v->out, HUMAN_DURATION(m->time_ns), 12);
	put_right(v->out, HUMAN_COUNT(result.total.allocations), 15);
	put_right(v->out, HUMAN_COMPACT(result.total.allocated_bytes), 10);
	put_right(v->out, HUMAN_COMPACT(result.total.bytes), 10);
	put_right(v->out, HUMAN_COUNT(result.total.blocks), 13);
	buffer_u8(v->out, '\n');
}

/** A row per mark: what was allocated until the next (or the end), and what of that lived then. */
static void put_marks(struct viewer *v, uint64_t start_ns, uint64_t end_ns) {
	const struct rec_mark *marks = v->r->marks.items;
	const size_t all = v->r->marks.n, n = sorted_first_of(marks, all, sizeof *marks, end_ns + 1);
	size_t at = sorted_first_of(marks, all, sizeof *marks, start_ns), shown = 0;
	if (at >= n) {
		return;
	}
	buffer_text(v->out,
			"\n  mark                                        at    allocations     bytes"
			"      kept       blocks\n");
	for (; at < n && shown < MARKS_SHOWN; at++, shown++) {
		put_mark(v, &marks[at], at + 1 < n ? marks[at + 1].time_ns : end_ns);
	}
	if (at < n) {
		buffer_printf(v->out, "  … %zu more (--json has them)\n", n - at);
	}
	buffer_text(v->out,
			"  allocations and bytes: from this mark to the next; kept: of these, live at the "
			"next\n");
}

/** Points are where the heap was largest: in a stretch without one no period ended. */
void view_put_timeline(struct viewer *v) {
	const struct timeline t = timeline_draw(v->lens, v->r, &v->result, &v->arena);
	uint64_t start = v->lens->has_range ? lens_edge_ns(v->r, v->lens->from) : 0;
	uint64_t end = t.points[t.n - 1].time_ns;
	uint32_t rows = t.n < ROWS ? t.n : ROWS;
	struct stretch stretches[ROWS] = {0};
	uint32_t at = 0;
	for (uint32_t i = 0; i < rows; i++) {
		struct stretch *s = &stretches[i];
		s->end_ns = start + (uint64_t)((double)(end - start) * (i + 1) / rows);
		s->end_ns = i + 1 == rows ? end : s->end_ns;
		for (; at < t.n && t.points[at].time_ns <= s->end_ns; at++) {
			RAISE_TO(s->bytes, t.points[at].bytes);
			ADD_FIELDS(s, &t.points[at], allocations, temporary);
			s->is_seen = true;
		}
	}
	const uint64_t most = LARGEST(i, rows, stretches[i].bytes);
	buffer_text(v->out, "  up to then    heap");
	put_spaces(v->out, BAR + 2);
	buffer_text(v->out,
			has_rates(v) ? "allocations/s  temporary/s\n" : "  allocations    temporary\n");
	for (uint32_t i = 0; i < rows; i++) {
		put_row(v, &stretches[i], i ? stretches[i - 1].end_ns : start, most);
	}
	put_marks(v, start, end);
}
