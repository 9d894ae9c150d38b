// SPDX-License-Identifier: MIT
/* The heap over time, as bars: each row is a stretch of time, its bar the largest heap in it. */
#include "engine/timeline.h"

#include "base/human.h"
#include "report/text/columns.h"
#include "report/view/viewer.h"

enum { ROWS = 40, BAR = 40 };

struct stretch {
	uint64_t end_ns, bytes, allocations, temporary;
	bool is_seen;
};

static uint64_t rate(uint64_t n, uint64_t ns) {
	return ns ? (uint64_t)((double)n * 1e9 / (double)ns + 0.5) : 0;
}

/** In eighths of a column. */
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
	return v->r->meta.duration_ns >= 1000000000; // else counts: it is too short to be projected
}

static void put_row(struct viewer *v, const struct stretch *s, uint64_t start_ns, uint64_t most) {
	char text[HUMAN_MAX];
	put_right(v->out, human_duration(text, s->end_ns), 12);
	put_right(v->out, s->is_seen ? human_compact(text, s->bytes) : "", 8);
	buffer_text(v->out, "  ");
	put_bar(v->out, s->bytes, most);
	uint64_t length = has_rates(v) ? s->end_ns - start_ns : 1000000000;
	put_right(v->out, human_count(text, rate(s->allocations, length)), 13);
	put_right(v->out, human_count(text, rate(s->temporary, length)), 13);
	buffer_text(v->out, s->bytes == most && most ? "  largest\n" : "\n");
}

/** Points are where the heap was largest: a stretch without one had no period end in it. */
bool view_put_timeline(struct viewer *v, struct err *err) {
	struct timeline t;
	if (!timeline_draw(v->lens, v->r, &v->result, &v->arena, &t, err)) {
		return false;
	}
	int32_t from = v->lens->has_range ? v->lens->from : LENS_START;
	uint64_t start = from >= 0 ? v->r->edges.items[from].time_ns : 0;
	uint64_t end = t.points[t.n - 1].time_ns;
	uint32_t rows = t.n < ROWS ? t.n : ROWS;
	uint64_t most = 0;
	struct stretch stretches[ROWS] = {0};
	uint32_t at = 0;
	for (uint32_t i = 0; i < rows; i++) {
		struct stretch *s = &stretches[i];
		s->end_ns = start + (uint64_t)((double)(end - start) * (i + 1) / rows);
		s->end_ns = i + 1 == rows ? end : s->end_ns;
		for (; at < t.n && t.points[at].time_ns <= s->end_ns; at++) {
			s->bytes = t.points[at].bytes > s->bytes ? t.points[at].bytes : s->bytes;
			s->allocations += t.points[at].allocations;
			s->temporary += t.points[at].temporary;
			s->is_seen = true;
		}
		most = s->bytes > most ? s->bytes : most;
	}
	buffer_text(v->out, "  up to then    heap");
	put_spaces(v->out, BAR + 2);
	buffer_text(v->out,
			has_rates(v) ? "allocations/s  temporary/s\n" : "  allocations    temporary\n");
	for (uint32_t i = 0; i < rows; i++) {
		put_row(v, &stretches[i], i ? stretches[i - 1].end_ns : start, most);
	}
	return view_put_marks(v, start, end, err);
}
