// SPDX-License-Identifier: MIT
/* Says when resident memory rose steeply, and what was allocated or mapped meanwhile and stayed. */
#include "engine/findings/parts.h"

enum { STEP_NS = 1000000000, STEP_BYTES = 8000000 };
enum { STEEP = 3 }; // times the rate at which an even run would reach the largest RSS

/** Samples around the largest rise within a second, or between two samples; not at the start. */
struct step {
	const struct rec_sample *from, *to;
	uint64_t bytes;
};

static struct step largest_step(const struct recording *r) {
	struct step best = {0};
	const struct rec_sample *from = r->samples.items;
	EACH(to, r->samples) {
		for (; to - from > 1 && to->time_ns - from->time_ns > STEP_NS; from++) {}
		for (const struct rec_sample *s = from; s < to; s++) {
			bool is_late = s->time_ns > r->meta.duration_ns / 10;
			if (is_late && to->rss_bytes > s->rss_bytes + best.bytes) {
				best = (struct step){s, to, to->rss_bytes - s->rss_bytes};
			}
		}
	}
	const uint64_t most = best.bytes / 10 * 9; // in the shortest time
	for (; best.bytes && best.to->rss_bytes >= best.from[1].rss_bytes + most; best.from++) {}
	for (; best.bytes && best.to[-1].rss_bytes >= best.from->rss_bytes + most; best.to--) {}
	best.bytes = best.bytes ? best.to->rss_bytes - best.from->rss_bytes : 0;
	return best;
}

/** What came meanwhile and stayed. */
struct cause {
	const struct name *name; // or NULL
	uint64_t bytes;
	uint64_t since_ns, until_ns; // the edges around the step
	uint64_t first_ns, last_ns;  // of its calls
};

/** The last edge before the step, and the first one after it. */
static struct window window_around(const struct rec_edge *edges, uint32_t n, const struct step *s) {
	const size_t behind = sorted_first_of(edges, n, sizeof *edges, s->from->time_ns + 1);
	return (struct window){.from = behind ? (uint32_t)behind - 1 : 0,
			.to = (uint32_t)sorted_first_of(edges, n, sizeof *edges, s->to->time_ns)};
}

static uint64_t edge_ns(const struct finder *f, const struct rec_edge *edges, uint32_t n,
		uint32_t at) {
	return at < n ? edges[at].time_ns : f->r->meta.duration_ns;
}

static struct cause largest_site(struct finder *f, const struct step *s) {
	const struct rec_edge *edges = f->r->edges.items;
	const uint32_t n = f->r->edges.n;
	const struct window w = window_around(edges, n, s);
	const int64_t *grown = growth_of_places(f, growth_of_stacks(f, &w));
	const int64_t *most = MOST_OF(g, grown, f->n_places, *g > 0 ? (uint64_t)*g : 0);
	if (!most) {
		return (struct cause){0};
	}
	const struct place *p = &f->places[most - grown];
	return (struct cause){p->name, (uint64_t)*most, edge_ns(f, edges, n, w.from),
			edge_ns(f, edges, n, w.to), p->first_ns, p->last_ns};
}

/** Who mapped most, except allocators. */
static struct cause largest_maker(struct finder *f, const struct step *s) {
	const struct recording *r = f->r;
	const struct rec_edge *edges = r->mapping_edges.items;
	const uint32_t n = r->mapping_edges.n;
	const struct window w = window_around(edges, n, s);
	struct cause *of = FINDER_NEW(f, struct cause, names_n_functions(f->names));
	EACH(v, r->mapping_intervals) {
		const struct rec_mapping *m = &r->mappings.items[v->stack];
		const struct name *running, *maker = names_mapper(f->names, m->node, &running);
		if (m->is_inside || !maker) {
			continue;
		}
		struct cause *c = &of[maker->function_id];
		if (!c->name) {
			*c = (struct cause){maker, 0, edge_ns(f, edges, n, w.from), edge_ns(f, edges, n, w.to),
					m->first_ns, m->last_ns};
		}
		c->bytes += (uint64_t)window_change(&w, v);
		c->first_ns = m->first_ns < c->first_ns ? m->first_ns : c->first_ns;
		c->last_ns = m->last_ns > c->last_ns ? m->last_ns : c->last_ns;
	}
	const struct cause *best = MOST_OF(c, of, names_n_functions(f->names),
			(int64_t)c->bytes > 0 ? c->bytes : 0);
	return best ? *best : (struct cause){0};
}

static void say_step(struct finder *f, const struct step *s, const struct cause *c,
		bool is_mapped) {
	const uint64_t from_ns = s->from->time_ns, to_ns = s->to->time_ns, rss_bytes = s->to->rss_bytes;
	SAY(f, "RSS rose by %s from %s to %s, to %s; meanwhile %s %s %s", HUMAN_BYTES(s->bytes),
			HUMAN_DURATION(from_ns), HUMAN_DURATION(to_ns), HUMAN_BYTES(rss_bytes),
			name_words(f, c->name), is_mapped ? "mapped" : "grew by", HUMAN_BYTES(c->bytes));
	finder_about(f, c->name, NULL);
	f->draft.lens = is_mapped ? "" : f->draft.lens; // it may have been unmapped since
	finder_put(f, "bytes", s->bytes);
	FINDER_PUT_VALUES(f, rss_bytes, from_ns, to_ns);
	finder_put(f, "site_bytes", c->bytes);
	FINDER_PUT(f, c, since_ns, until_ns);
	// Who holds memory is more important than when it came
	finder_say(f, FINDING_EXPLAINS, millionths(s->bytes, f->r->summary.peak_rss_bytes) / 2);
}

/** Does it explain most of the step, came at about the same time, and is not a runtime's own? */
static bool is_cause(const struct step *s, const struct cause *c) {
	const uint64_t since = c->since_ns > c->first_ns ? c->since_ns : c->first_ns;
	const uint64_t until = c->until_ns < c->last_ns ? c->until_ns : c->last_ns;
	return c->bytes >= s->bytes / 2 && c->bytes / 2 <= s->bytes && !c->name->is_runtime &&
			since + STEP_NS >= s->from->time_ns && until <= s->to->time_ns + STEP_NS;
}

void find_rss_step(struct finder *f) {
	const struct recording *r = f->r;
	const struct step s = largest_step(r);
	const double even = (double)r->summary.peak_rss_bytes / (double)(r->meta.duration_ns + 1);
	if (s.bytes < STEP_BYTES || recording_is_tree(r) ||
			(double)s.bytes < STEEP * even * (double)(s.to->time_ns - s.from->time_ns)) {
		return;
	}
	const struct cause site = largest_site(f, &s), maker = largest_maker(f, &s);
	if (maker.bytes > site.bytes && is_cause(&s, &maker)) {
		say_step(f, &s, &maker, true);
	} else if (is_cause(&s, &site) && !finder_has_said(f, "allocated-once", site.name)) {
		say_step(f, &s, &site, false);
	}
}
