// SPDX-License-Identifier: MIT
#include "engine/findings_parts.h"

#include <stdlib.h>

// Whether anything grows is asked of every recording. Where no rule speaks of growth, what was measured
// is said instead: how much more the site that grew most held near the end than halfway. All sites are
// looked at, not only those that have a curve.

// Two edges: the last one of the run's first half, and the last one before its last twentieth, in which
// programs give back what they have
struct window {
	uint32_t from, to;
};

static bool find_window(const struct recording *r, struct window *out) {
	uint64_t run = r->meta.duration_ns;
	uint32_t first_half = 0, near_end = 0;
	for (uint32_t i = 0; i < r->edges.n; i++) {
		first_half += r->edges.items[i].time_ns <= run / 2;
		near_end += r->edges.items[i].time_ns <= run - run / 20;
	}
	*out = (struct window){first_half - 1, near_end - 1};
	return first_half > 0 && near_end > first_half;
}

/** By how many bytes each place held more at the second moment; one more for what has no place. */
static int64_t *growth_of_places(struct finder *f, const struct window *w) {
	int64_t *grown = arena_new(&f->scratch, int64_t, f->n_places + 1ul);
	const struct rec_interval_row *rows = f->r->intervals.items;
	for (uint32_t i = 0; grown && i < f->r->intervals.n; i++) {
		const struct rec_interval v = rec_interval_of(&rows[i], f->r->wide.items);
		bool is_first = v.from <= w->from && w->from < v.until;
		bool is_second = v.from <= w->to && w->to < v.until;
		uint32_t place = f->place_of[v.stack];
		place = place == UINT32_MAX ? f->n_places : place;
		grown[place] += (int64_t)v.bytes * ((int)is_second - (int)is_first);
	}
	f->failed |= !grown;
	return grown;
}

static bool is_growth_told(const struct finder *f) {
	for (uint32_t i = 0; i < f->n; i++) {
		for (uint32_t k = 0; k < f->items[i].n_numbers; k++) {
			if (strcmp(f->items[i].numbers[k].name, "rate_bytes_per_s") == 0) {
				return true;
			}
		}
	}
	return false;
}

/** "from 1.58 s to 3.00 s nothing grew by more than 12.0 kB (0.1 % of the peak): parse() app.cpp:3". */
static void say_most(struct finder *f, struct finding *out, struct buffer *text, uint64_t bytes,
		const struct name *name) {
	char a[HUMAN_MAX], b[HUMAN_MAX];
	uint64_t peak = f->r->summary.peak_bytes;
	bool is_much = bytes >= peak / 10;
	if (name) {
		finder_about(f, out, name, NULL);
	}
	if (is_much && name) {
		buffer_u8(text, ' ');
		put_name(f, text, name);
	}
	buffer_printf(text,
			is_much ? " grew most, by %s (%s of the peak)"
					: " nothing grew by more than %s (%s of the peak)",
			human_bytes(a, bytes), human_percent(b, bytes, peak));
	if (!is_much && name) {
		buffer_text(text, ": ");
		put_name(f, text, name);
	}
}

void find_steady(struct finder *f) {
	const struct recording *r = f->r;
	struct window w;
	if ((r->missing & (REC_TIME | REC_LIVE_BYTES)) || is_growth_told(f) || !find_window(r, &w)) {
		return;
	}
	const int64_t *grown = growth_of_places(f, &w);
	uint32_t most = f->n_places;
	for (uint32_t i = 0; grown && i < f->n_places; i++) {
		most = grown[i] > grown[most] ? i : most;
	}
	if (!grown) {
		return;
	}
	uint64_t from_ns = r->edges.items[w.from].time_ns, to_ns = r->edges.items[w.to].time_ns;
	uint64_t bytes = grown[most] > 0 ? (uint64_t)grown[most] : 0;
	struct finding *out = finder_add(f, "no-growth", "growing");
	struct buffer text = {0};
	char a[HUMAN_MAX], b[HUMAN_MAX];
	buffer_printf(&text, "from %s to %s", human_duration(a, from_ns), human_duration(b, to_ns));
	if (bytes > 0) {
		say_most(f, out, &text, bytes, most < f->n_places ? f->places[most].name : NULL);
	} else {
		buffer_text(&text, " nothing grew");
	}
	finding_put(out, "grown_bytes", bytes);
	finding_put(out, "from_ns", from_ns);
	finding_put(out, "to_ns", to_ns);
	finder_say(f, out, &text);
	out->severity = FINDING_FACT;
	out->weight = millionths(bytes, r->summary.peak_bytes);
}
