// SPDX-License-Identifier: MIT
/* Reads and writes the ends of a lens's range of time. */
#include "engine/lens/parts.h"

enum { SECONDS_DIGITS = 9, DAY_SECONDS = 86400 };
static const uint64_t second_ns = 1000000000;

// ---- edges and moments

/** The first edge at or after a moment; edges.n: none. */
static int32_t edge_after(const struct recording *r, uint64_t moment) {
	return (int32_t)sorted_first_of(r->edges.items, r->edges.n, sizeof *r->edges.items, moment);
}

/** The last edge at or before a moment; LENS_START: none. */
static int32_t edge_before(const struct recording *r, uint64_t moment) {
	int32_t after = edge_after(r, moment);
	while (after < (int32_t)r->edges.n && r->edges.items[after].time_ns == moment) {
		after++;
	}
	return after - 1;
}

/** A mark's own moment belongs to what follows it. */
static int32_t mark_edge(const struct recording *r, uint64_t moment) {
	return edge_after(r, moment) - 1;
}

/** From the valley before the peak until what came with it is gone: see lens.h. */
static void find_peak(struct lens *l, const struct recording *r) {
	const struct rec_edge *e = r->edges.items;
	const struct lens all = {.from = LENS_START, .to = (int32_t)r->edges.n};
	int32_t peak = (int32_t)lens_largest_edge(&all, r);
	int32_t valley = peak - 1;
	while (valley >= 0 && e[valley].bytes > e[peak].bytes / 2) {
		valley--;
	}
	while (valley > 0 && e[valley - 1].bytes < e[valley].bytes) {
		valley--;
	}
	uint64_t base = valley >= 0 ? e[valley].bytes : 0, gone = base + (e[peak].bytes - base) / 10;
	int32_t end = peak + 1;
	while (end < (int32_t)r->edges.n && e[end].bytes > gone) {
		end++;
	}
	l->from = valley;
	l->to = end;
}

static void set_range(struct lens *l, const struct recording *r, int32_t from, int32_t to) {
	int32_t last = (int32_t)r->edges.n - 1;
	l->from = from < last ? from : last;
	l->to = to > l->from ? to : l->from + 1;
	// The whole recording has exact figures, independent of edges
	l->has_range = l->from != LENS_START || l->to != (int32_t)r->edges.n;
}

void lens_between(struct lens *l, const struct recording *r, uint64_t from_ns, uint64_t to_ns) {
	set_range(l, r, mark_edge(r, from_ns),
			to_ns >= r->meta.duration_ns ? (int32_t)r->edges.n : mark_edge(r, to_ns));
}

// ---- the time of day

/** What the reader's clock showed at a moment, in ns after midnight. */
static uint64_t after_midnight(const struct rec_meta *m, uint64_t moment_ns) {
	uint64_t wall_ns = m->wall_start_ns + moment_ns;
	int64_t second = ((int64_t)(wall_ns / second_ns) + m->wall_offset_s) % DAY_SECONDS;
	return (uint64_t)(second < 0 ? second + DAY_SECONDS : second) * second_ns + wall_ns % second_ns;
}

const char *clock_time_text(char out[CLOCK_TIME_MAX], const struct rec_meta *m,
		uint64_t moment_ns) {
	unsigned second = (unsigned)(after_midnight(m, moment_ns) / second_ns);
	return format_text(out, CLOCK_TIME_MAX, m->wall_start_ns ? "%02u:%02u:%02u" : "?",
			second / 3600, second / 60 % 60, second % 60);
}

// ---- reading

/** Less than 300 years in seconds, without leading spaces. */
static bool take_digits(struct slice *s, uint64_t *out) {
	return s->size && is_digit(*s->data) && take_decimal(s, out) && *out < 10 * second_ns;
}

/** "1", "1.66", in ns. Digits beyond the ninth are dropped. */
static bool take_seconds(struct slice *s, uint64_t *nanos) {
	uint64_t whole;
	if (!take_digits(s, &whole)) {
		return false;
	}
	*nanos = whole * second_ns;
	if (take_prefix(s, ".")) {
		uint64_t unit = second_ns / 10;
		size_t n = 0;
		for (; n < s->size && is_digit(s->data[n]); n++, unit /= 10) {
			*nanos += unit * (uint64_t)(s->data[n] - '0');
		}
		*s = slice_from(*s, n);
	}
	return true;
}

/** The first moment of the recording at a time of day. */
static bool by_wall_clock(const struct rec_meta *m, uint64_t hours, uint64_t minutes,
		uint64_t nanos, uint64_t *moment) {
	const uint64_t day_ns = DAY_SECONDS * second_ns;
	uint64_t asked = (hours * 3600 + minutes * 60) * second_ns + nanos;
	if (!m->wall_start_ns || hours >= 24 || minutes >= 60 || nanos >= 61 * second_ns) {
		return false;
	}
	*moment = (asked + day_ns - after_midnight(m, 0)) % day_ns;
	return true;
}

struct end {
	bool is_start, is_end;
	bool lacks_mark; // the named mark does not exist
	uint64_t moment, mark_ns;
};

/** The longest mark name that `s` begins with, as a whole word. NULL: none. */
static const struct rec_mark *find_mark(struct slice s, const struct recording *r) {
	const struct slice *name;
	return MOST(m, r->marks,
			(name = &r->strings.items[m->name], begins_with(s, *name)) &&
							(name->size == s.size || memchr("-#", s.data[name->size], 2))
					? name->size + 1
					: 0);
}

/** What follows "mark:". Marks of the same name are counted from 1. */
static bool take_mark(struct slice *s, const struct recording *r, struct end *out) {
	const struct rec_mark *m = find_mark(*s, r);
	out->lacks_mark = true;
	if (!m) {
		return false;
	}
	uint64_t which = 1;
	size_t n = r->strings.items[m->name].size;
	*s = slice_from(*s, n);
	if (take_prefix(s, "#") && !take_digits(s, &which)) {
		return false;
	}
	for (const struct rec_mark *end = r->marks.items + r->marks.n, *of = m; of < end; of++) {
		if (of->name == m->name && --which == 0) {
			out->moment = lens_edge_ns(r, mark_edge(r, of->time_ns));
			out->mark_ns = of->time_ns;
			out->lacks_mark = false;
			return true;
		}
	}
	return false;
}

static bool take_end(struct slice *s, const struct recording *r, struct end *out) {
	uint64_t nanos, minutes, hours;
	*out = (struct end){0};
	out->is_start = take_prefix(s, "start");
	out->is_end = !out->is_start && take_prefix(s, "end");
	if (out->is_start || out->is_end) {
		return true;
	}
	if (take_prefix(s, "peak")) {
		out->moment = r->summary.peak_time_ns;
		return true;
	}
	if (take_prefix(s, "mark:")) {
		return take_mark(s, r, out);
	}
	if (take_prefix(s, "-")) {
		bool ok = take_seconds(s, &nanos) && take_prefix(s, "s");
		out->moment = ok && nanos < r->meta.duration_ns ? r->meta.duration_ns - nanos : 0;
		return ok;
	}
	if (!take_seconds(s, &nanos)) {
		return false;
	}
	if (take_prefix(s, ":")) {
		hours = nanos / second_ns;
		return take_digits(s, &minutes) && take_prefix(s, ":") && take_seconds(s, &nanos) &&
				by_wall_clock(&r->meta, hours, minutes, nanos, &out->moment);
	}
	if (take_prefix(s, "%25") || take_prefix(s, "%")) { // also as in a URL
		unsigned __int128 part = (unsigned __int128)r->meta.duration_ns * nanos;
		out->moment = (uint64_t)(part / 100 / second_ns);
		return true;
	}
	(void)take_prefix(s, "s");
	out->moment = nanos;
	return true;
}

bool lens_time_parse(struct lens *l, struct slice text, const struct recording *r,
		struct err *err) {
	struct end from = {0}, to = {0};
	if (r->edges.n == 0 || (r->intervals.n == 0 && r->summary.allocations)) {
		return err_unsupported(err,
				"this recording holds only totals; a range of time cannot be selected");
	}
	l->has_range = true;
	if (slice_is(text, "peak")) {
		find_peak(l, r);
		l->since_ns = lens_edge_ns(r, l->from);
		l->until_ns = lens_edge_ns(r, l->to);
		return true;
	}
	if (!take_end(&text, r, &from) || !take_prefix(&text, "-") || !take_end(&text, r, &to) ||
			text.size) {
		if (from.lacks_mark || to.lacks_mark) {
			return err_usage(err, "no such mark; --timeline lists the marks of the recording (%u)",
					r->marks.n);
		}
		return err_usage(err,
				"invalid range; use FROM-TO, each in seconds (1.66), a share (12%%), seconds "
				"before the end (-5s), the time of day (12:03:07), a mark (mark:NAME), start, "
				"end or peak; or just peak");
	}
	if (from.is_end || to.is_start || (!from.is_start && !to.is_end && from.moment > to.moment)) {
		return err_usage(err, "the range ends before it begins");
	}
	set_range(l, r, from.is_start ? LENS_START : edge_before(r, from.moment),
			to.is_end ? (int32_t)r->edges.n : edge_after(r, to.moment));
	l->since_ns = from.mark_ns ?: from.moment;
	l->until_ns = to.is_end ? UINT64_MAX : to.mark_ns ?: to.moment;
	return true;
}

// ---- writing

static uint64_t unit_of(int digits) {
	uint64_t unit = second_ns;
	for (int i = 0; i < digits; i++) {
		unit /= 10;
	}
	return unit;
}

/** As few digits as snap to the edge: beginnings from above, ends from below. */
static void put_end(struct buffer *out, int32_t edge, bool is_begin, const struct recording *r) {
	if (edge == LENS_START || edge == (int32_t)r->edges.n) {
		buffer_text(out, edge == LENS_START ? "start" : "end");
		return;
	}
	uint64_t time = r->edges.items[edge].time_ns;
	for (int digits = 0;; digits++) {
		uint64_t unit = unit_of(digits);
		uint64_t rounded = (is_begin ? time + unit - 1 : time) / unit * unit;
		int32_t snapped = is_begin ? edge_before(r, rounded) : edge_after(r, rounded);
		if (digits == SECONDS_DIGITS || snapped == edge) {
			buffer_printf(out, "%" PRIu64, rounded / second_ns);
			if (digits) {
				buffer_printf(out, ".%0*" PRIu64, digits, rounded % second_ns / unit);
			}
			return;
		}
	}
}

void lens_time_put(struct buffer *out, const struct lens *l, const struct recording *r) {
	put_end(out, l->from, true, r);
	buffer_u8(out, '-');
	put_end(out, l->to, false, r);
}
