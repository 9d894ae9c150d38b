// SPDX-License-Identifier: MIT
/*
 * Judges the shape of a curve, the most certain shapes first. Points are unevenly spaced, so curves
 * are sampled evenly before a fit; a sample has the value of the last point before it.
 */
#include "engine/findings/parts.h"

enum { N_SAMPLES = 64 };

static uint64_t top_of(const struct curve *c) {
	return LARGEST(i, c->n, c->bytes[i]);
}

static uint32_t first_with(const struct curve *c, double bytes) {
	const uint64_t *first = FIND(at, c->bytes, c->n, (double)*at >= bytes);
	return first ? (uint32_t)(first - c->bytes) : c->n;
}

static uint32_t last_with(const struct curve *c, double bytes) {
	uint32_t i = c->n;
	while (i > 0 && (double)c->bytes[i - 1] < bytes) {
		i--;
	}
	return i ? i - 1 : 0;
}

static uint64_t lowest(const struct curve *c, uint32_t first, uint32_t last) {
	uint64_t low = c->bytes[first];
	for (uint32_t i = first; i <= last; i++) {
		LOWER_TO(low, c->bytes[i]);
	}
	return low;
}

static void sample(const struct curve *c, uint64_t from_ns, uint64_t to_ns, double out[N_SAMPLES]) {
	uint32_t at = 0;
	for (int i = 0; i < N_SAMPLES; i++) {
		double ns = (double)from_ns + (double)(to_ns - from_ns) * i / (N_SAMPLES - 1);
		while (at + 1 < c->n && (double)c->times_ns[at + 1] <= ns) {
			at++;
		}
		out[i] = (double)c->bytes[at];
	}
}

/** R^2 of a linear fit: 1 is a straight line. */
static double straightness(const double v[N_SAMPLES]) {
	double n = N_SAMPLES, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
	for (int i = 0; i < N_SAMPLES; i++) {
		sx += i, sy += v[i];
		sxx += (double)i * i, sxy += i * v[i], syy += v[i] * v[i];
	}
	double xx = n * sxx - sx * sx, xy = n * sxy - sx * sy, yy = n * syy - sy * sy;
	return yy > 0 ? xy * xy / (xx * yy) : 0;
}

static double mean(const double *v, int n) {
	return (double)SUM(i, n, (uint64_t)v[i]) / n;
}

/**
 * No quarter is below the previous one, and the last still rises. If far from a straight line,
 * because most came late, each quarter rose and it hardly ever fell.
 */
static bool keeps_rising(const double v[N_SAMPLES]) {
	enum { QUARTER = N_SAMPLES / 4 };
	double rise = v[N_SAMPLES - 1] - v[0], least = rise, top = 0, fall = 0;
	for (int i = 0; i < N_SAMPLES; i++) {
		RAISE_TO(top, v[i]);
		RAISE_TO(fall, top - v[i]);
	}
	for (const double *q = v + QUARTER; q < v + N_SAMPLES; q += QUARTER) {
		LOWER_TO(least, mean(q, QUARTER) - mean(q - QUARTER, QUARTER));
	}
	bool is_late = least >= rise / 20 && fall <= rise / 10;
	return (is_late || (straightness(v) > 0.7 && least >= 0)) &&
			v[N_SAMPLES - 1] - v[N_SAMPLES - QUARTER] >= rise / 20;
}

static bool judge_growth(const struct curve *c, uint32_t end, struct curve_facts *f) {
	uint64_t run = c->times_ns[c->n - 1];
	uint32_t begin = first_with(c, 1);
	// Start-up is not growth
	while (begin < end && c->times_ns[begin] < run / 20) {
		begin++;
	}
	f->from_ns = c->times_ns[begin], f->to_ns = c->times_ns[end];
	f->from_bytes = c->bytes[begin];
	if (f->to_ns < f->from_ns + run / 10 * 3 || f->to_ns < run / 10 * 7 || end < begin + 8 ||
			c->bytes[end] < f->from_bytes + f->top_bytes / 5) {
		return false;
	}
	double v[N_SAMPLES];
	sample(c, f->from_ns, f->to_ns, v);
	if (!keeps_rising(v)) {
		return false;
	}
	// If it held more shortly before the end, it grew until then
	uint32_t to = end;
	const uint64_t late_ns = f->to_ns - (f->to_ns - f->from_ns) / 4;
	for (uint32_t i = end; c->times_ns[i] >= late_ns; i--) {
		to = (double)c->bytes[i] > (double)c->bytes[to] * (f->is_freed ? 1 : 1.01) ? i : to;
	}
	f->shape = CURVE_GREW, f->to_ns = c->times_ns[to], f->top_bytes = c->bytes[to];
	sample(c, f->from_ns, f->to_ns, v);
	f->is_even = straightness(v) > 0.95;
	const int last = N_SAMPLES - 1, first = f->is_even ? 0 : N_SAMPLES / 4 * 3;
	double ns = (double)(f->to_ns - f->from_ns) / last * (last - first);
	f->rate = v[last] > v[first] ? (uint64_t)((v[last] - v[first]) * 1e9 / ns) : 0;
	return true;
}

/** The largest single rise on the way, as a fraction of the whole. */
static double largest_step(const struct curve *c, uint32_t first, uint32_t last, uint64_t top) {
	uint64_t step = LARGEST(i, last + 1,
			i > 0 && i >= first && c->bytes[i] > c->bytes[i - 1] ? c->bytes[i] - c->bytes[i - 1]
																 : 0);
	return (double)step / (double)top;
}

/** Rose gradually, then held its level until nearly the end; or rose at once. */
static bool judge_level(const struct curve *c, uint32_t end, struct curve_facts *f) {
	double top = (double)f->top_bytes;
	uint64_t run = c->times_ns[c->n - 1];
	uint32_t reached = first_with(c, top * 0.95), began = first_with(c, top * 0.1);
	f->from_ns = c->times_ns[began];
	f->to_ns = c->times_ns[reached];
	if ((double)lowest(c, reached, end) < top * 0.85 || c->times_ns[end] < run / 10 * 8 ||
			c->times_ns[end] - f->to_ns < run / 5) {
		return false;
	}
	uint64_t start = f->from_ns > c->start_ns ? c->start_ns : 0;
	bool is_start = c->start_ns != UINT64_MAX && f->to_ns - start <= (run - start) / 10;
	bool is_once = f->to_ns - f->from_ns < run / 33;
	f->shape = is_start ? CURVE_AT_START : is_once ? CURVE_ONCE : CURVE_STOPPED;
	f->once_bytes = c->bytes[reached] - (f->shape == CURVE_ONCE && began ? c->bytes[began - 1] : 0);
	return is_start || is_once ||
			(reached >= began + 5 && largest_step(c, began, reached, f->top_bytes) < 0.3);
}

static bool judge_bursts(const struct curve *c, uint32_t end, struct curve_facts *f) {
	(void)end;
	uint64_t in_burst = 0, first_begin = 0, last_begin = 0, low = 0, high = 0;
	bool is_up = false;
	for (uint32_t i = 0; i < c->n; i++) {
		if (!is_up && c->bytes[i] > f->top_bytes / 2) {
			struct curve_stretch s = curve_stretch_at(c, i);
			is_up = true;
			high = c->bytes[i];
			last_begin = c->times_ns[i];
			first_begin = f->n_bursts++ == 0 ? last_begin : first_begin;
			in_burst += s.ns;
		} else if (is_up && c->bytes[i] < f->top_bytes / 5) {
			is_up = false;
			f->risen_bytes += high - low;
			low = c->bytes[i];
		}
		high = is_up && c->bytes[i] > high ? c->bytes[i] : high;
		low = !is_up && c->bytes[i] < low ? c->bytes[i] : low;
	}
	if (f->n_bursts < 3 || is_up || in_burst > c->times_ns[c->n - 1] / 2) {
		return false;
	}
	f->shape = CURVE_BURSTS;
	f->lasted_ns = in_burst / f->n_bursts;
	f->period_ns = (last_begin - first_begin) / (f->n_bursts - 1);
	return true;
}

struct curve_facts curve_judge(const struct curve *c) {
	struct curve_facts f, none = {.top_bytes = c->n < 8 ? 0 : top_of(c)};
	if (none.top_bytes == 0) {
		return none;
	}
	uint32_t end = last_with(c, (double)none.top_bytes * 0.9);
	uint64_t run = c->times_ns[c->n - 1];
	none.is_freed = c->bytes[c->n - 1] < none.top_bytes / 10;
	none.held_until_ns = c->times_ns[end];
	uint32_t began = first_with(c, (double)none.top_bytes * 0.05);
	uint64_t before_ns = began > 0 ? c->times_ns[began - 1] : 0;
	if (c->times_ns[began] >= run - run / 100 && before_ns >= run - run / 10) {
		none.shape = CURVE_AT_END;
		none.from_ns = before_ns;
		return none;
	}
	static bool (*const judges[])(const struct curve *c, uint32_t end,
			struct curve_facts *f) = {judge_level, judge_growth, judge_bursts};
	for (size_t i = 0; i < N_OF(judges); i++) {
		f = none;
		if (judges[i](c, end, &f)) {
			return f;
		}
	}
	return none;
}

struct curve_stretch curve_stretch_at(const struct curve *c, uint32_t at) {
	struct curve_stretch s = {at, at, 0};
	uint64_t half = c->bytes[at] / 2;
	while (s.first > 0 && c->bytes[s.first - 1] > half) {
		s.first--;
	}
	while (s.last + 1 < c->n && c->bytes[s.last + 1] > half) {
		s.last++;
	}
	uint64_t from = c->times_ns[s.first], to = c->times_ns[s.last];
	from -= s.first > 0 ? (from - c->times_ns[s.first - 1]) / 2 : 0;
	to += s.last + 1 < c->n ? (c->times_ns[s.last + 1] - to) / 2 : 0;
	s.ns = to - from;
	return s;
}

bool curve_find_level(const struct curve *c, struct curve_level *out) {
	enum { HALF = N_SAMPLES / 2, QUARTER = N_SAMPLES / 4 };
	if (c->n < 8) {
		return false;
	}
	// Just under half of the maximum: a structure that is rebuilt briefly exists twice
	double kept = (double)top_of(c) * 0.45, v[N_SAMPLES];
	uint64_t run = c->times_ns[c->n - 1];
	uint32_t end = last_with(c, kept);
	if (kept == 0 || c->times_ns[end] < run / 10 * 9) {
		return false;
	}
	sample(c, 0, c->times_ns[end], v);
	double before = mean(v + HALF, QUARTER), after = mean(v + HALF + QUARTER, QUARTER);
	double level = (before + after) / 2;
	uint32_t first = first_with(c, level * 0.9);
	*out = (struct curve_level){c->times_ns[first], lowest(c, first, end),
			LARGEST(i, end + 1, i >= first ? c->bytes[i] : 0)};
	bool is_steady = after - before < level / 20 && before - after < level / 20;
	return is_steady && out->from_ns <= run / 2 && (double)out->low_bytes >= kept;
}

uint64_t curve_rise_since(const struct curve *c, uint64_t ns) {
	uint64_t run = c->times_ns[c->n - 1], last = c->bytes[c->n - 1];
	double v[N_SAMPLES];
	sample(c, ns > run / 10 ? ns - run / 10 : ns, ns, v);
	double before = mean(v, N_SAMPLES);
	return (double)last > before ? last - (uint64_t)before : 0;
}

struct fall {
	uint32_t from, to;
	uint64_t bytes;
};

/** The largest fall until then; of equal ones the last. */
static struct fall largest_fall(const struct curve *c, uint64_t until_ns) {
	struct fall most = {0};
	for (uint32_t i = 0, top = 0; i < c->n && c->times_ns[i] <= until_ns; i++) {
		top = c->bytes[i] >= c->bytes[top] ? i : top;
		uint64_t bytes = c->bytes[top] - c->bytes[i];
		most = bytes >= most.bytes ? (struct fall){top, i, bytes} : most;
	}
	return most;
}

enum curve_waves curve_find_waves(const struct curve *live, const struct curve *kept,
		const struct curve_facts *grew) {
	const uint64_t grown = grew->top_bytes - grew->from_bytes;
	const struct fall last = largest_fall(live, grew->to_ns);
	const bool is_last = kept->bytes[last.to] < grew->from_bytes + grown / 4;
	if (!is_last && grew->is_even && last.bytes >= grown / 2) {
		return CURVE_BELOW_WAVES;
	}
	uint64_t from_ns = grew->from_ns, above_ns = 0;
	RAISE_TO(from_ns, is_last ? live->times_ns[last.to] : 0);
	const struct fall f = largest_fall(live, from_ns);
	for (uint32_t i = 1; i <= f.to; i++) {
		bool is_above = live->bytes[i] >= live->bytes[f.from] - f.bytes / 2;
		above_ns += is_above ? live->times_ns[i] - live->times_ns[i - 1] : 0;
	}
	bool is_alike = f.bytes >= grown / 2 && f.bytes / 4 <= grown;
	return is_alike && above_ns >= (grew->to_ns - from_ns) / 4 ? CURVE_LAST_WAVE : CURVE_NO_WAVES;
}

uint64_t curve_first_ns(const struct curve *c, double part) {
	uint64_t ns = c->times_ns[first_with(c, (double)top_of(c) * part)];
	return RAISE_TO(ns, c->times_ns[c->n - 1] / 20);
}
