// SPDX-License-Identifier: MIT
/*
 * Says what no table of sites shows: handovers between threads, memory outside the heap, children.
 */
#include "engine/findings/parts.h"

/** The only site that allocated nine tenths of what was handed over, and no more; or NULL. */
static const struct place *place_handed_over(const struct finder *f, const struct rec_handover *h) {
	const struct place *found = NULL;
	uint32_t n = 0;
	EACH_OF(p, f->places, f->n_places) {
		uint64_t blocks = p->allocations - p->live_blocks;
		uint64_t bytes = p->allocated_bytes - p->live_bytes;
		bool is_near = !p->name->is_runtime && blocks <= h->blocks && bytes <= h->bytes &&
				blocks >= h->blocks / 10 * 9 && bytes >= h->bytes / 10 * 9;
		found = is_near ? p : found;
		n += is_near;
	}
	return n == 1 ? found : NULL;
}

/** Is this an interpreter's own thread, whose handovers user code cannot change? */
static bool is_runtimes_own(const struct finder *f, uint32_t thread) {
	uint64_t own = 0, all = 0;
	EACH_WHILE(s, f->r->stacks, f->runs_scripts) {
		const struct name *site = s->thread == thread ? names_site(f->names, s->node) : NULL;
		all += site ? s->allocations : 0;
		own += site && site->is_runtime ? s->allocations : 0;
	}
	return own > 0 && own >= all / 10 * 9;
}

static void put_thread(struct finder *f, const struct rec_thread *t) {
	const char *form = t->tid ? "thread %.*s (%u)"
			: t->name         ? "ended threads %.*s"
							  : "other threads";
	SAY(f, form, SLICE_ARG(f->r->strings.items[t->name]), t->tid);
}

void find_handed_over(struct finder *f) {
	const struct recording *r = f->r;
	const struct rec_handover *best = MOST(h, r->handovers, h->from != h->to ? h->blocks : 0);
	const struct rec_thread *from = best ? &r->threads.items[best->from] : NULL;
	if (!best || best->blocks < 1000 || is_runtimes_own(f, best->from) ||
			best->blocks < from->allocations / 2) {
		return;
	}
	const struct rec_thread *to = &r->threads.items[best->to];
	const struct place *p = place_handed_over(f, best);
	SAY(f, "%s blocks (%s) allocated by ", HUMAN_COUNT(best->blocks), HUMAN_BYTES(best->bytes));
	put_thread(f, from);
	SAY(f, " were freed by ");
	put_thread(f, to);
	if (p) {
		SAY(f, "; ");
		(void)say_place(f, p, BY_ALLOCATIONS, "allocations", "", NULL);
		SAY(f, " allocated %s blocks (%s)", HUMAN_COUNT(p->allocations),
				HUMAN_BYTES(p->allocated_bytes));
		finder_put(f, "allocated_blocks", p->allocations);
		finder_put(f, "allocated_bytes", p->allocated_bytes);
	}
	FINDER_PUT(f, best, blocks, bytes);
	finder_put(f, "from_tid", from->tid);
	finder_put(f, "to_tid", to->tid);
	finder_say(f, FINDING_WORTH_IT, millionths(best->blocks, r->summary.allocations));
}

/** Resident memory beyond the largest heap so far, since freed memory may stay resident. */
static void outside_of_heap(const struct recording *r, uint64_t *times, uint64_t *bytes) {
	uint64_t largest_heap = 0;
	EACH(s, r->samples) {
		const uint64_t known = s->ours_bytes + RAISE_TO(largest_heap, s->heap_bytes);
		*times++ = s->time_ns;
		*bytes++ = s->rss_bytes > known ? s->rss_bytes - known : 0;
	}
}

/** How much the largest heap grew after a moment. */
static uint64_t heap_growth(const struct recording *r, uint64_t from_ns) {
	const struct rec_sample *s = r->samples.items;
	return LARGEST(i, r->samples.n, s[i].heap_bytes) -
			LARGEST(i, r->samples.n, s[i].time_ns <= from_ns ? s[i].heap_bytes : 0);
}

/** The part of RSS that grew most since a moment, according to looks. */
static void put_part_that_grew(struct finder *f, uint64_t from_ns) {
	const struct memory_look to = memory_at_peak(f->r); // by the end, much may be gone
	struct memory_look from = to;
	for (uint32_t i = to.number; i-- > 0 && f->r->looks.items[i].time_ns >= from_ns;) {
		from = f->r->looks.items[i].has & REC_HAS_PAGES ? memory_look(f->r, i) : from;
	}
	uint64_t grown[REC_PARTS] = {0};
	for (uint8_t part = 0; to.look && (to.look->has & REC_HAS_PAGES) && part < REC_PARTS; part++) {
		bool is_outside = part != REC_PART_HEAP_LIVE && part != REC_PART_OURS;
		bool has_grown = is_outside && to.bytes[part] > from.bytes[part];
		grown[part] = has_grown ? to.bytes[part] - from.bytes[part] : 0;
	}
	const uint64_t *most = MOST_OF(bytes, grown, REC_PARTS, *bytes);
	if (most) {
		SAY(f, "; of its parts, \"%s\" grew most, by %s from %s to %s",
				memory_part_texts[most - grown].words, HUMAN_BYTES(*most),
				HUMAN_DURATION(from.look->time_ns), HUMAN_DURATION(to.look->time_ns));
		finder_put(f, "part_grown_bytes", *most);
	}
}

/** Resident memory that no block explains, rising to the end while the run goes on. */
void find_outside_growing(struct finder *f) {
	enum { MIN_SAMPLES = 32, MIN_BYTES = 8000000 };
	const struct recording *r = f->r;
	uint64_t *times = FINDER_NEW(f, uint64_t, r->samples.n);
	uint64_t *bytes = FINDER_NEW(f, uint64_t, r->samples.n);
	if (r->samples.n < MIN_SAMPLES || recording_is_tree(r) ||
			finder_has_said(f, "mapped-growing", NULL)) {
		return;
	}
	outside_of_heap(r, times, bytes);
	struct curve curve = {times, bytes, r->samples.n, 0};
	struct curve_facts c = curve_judge(&curve);
	uint64_t grown = c.top_bytes - c.from_bytes, heap = heap_growth(r, c.from_ns);
	// Neither malloc's overhead nor a long start is growth of its own
	uint64_t late = bytes[r->samples.n - 1] - bytes[r->samples.n / 2];
	bool is_late = bytes[r->samples.n - 1] > bytes[r->samples.n / 2] && late >= grown / 4;
	if (c.shape != CURVE_GREW || c.is_freed || grown < MIN_BYTES || grown < heap / 2 || !is_late) {
		return;
	}
	SAY(f, "resident memory beyond the largest heap so far grew by %s", HUMAN_BYTES(grown));
	put_rate(f, &c);
	SAY(f, " from %s on; the heap by %s", HUMAN_DURATION(c.from_ns), HUMAN_BYTES(heap));
	put_part_that_grew(f, c.from_ns);
	put_window(f, &c);
	finder_say(f, FINDING_LOOK_FIRST, millionths(grown, r->summary.peak_rss_bytes));
}

/** Unrecorded children: a quality line and a finding. */
void find_in_quality(struct finder *f) {
	struct quality_line lines[QUALITY_LINES_MAX];
	size_t n = quality_lines(f->r, f->names, f->arena, lines);
	const struct quality_line *line = FIND(l, lines, n, strcmp(l->id, "children") == 0);
	// A launcher's children affect no figure: no quality line, and ranked last
	const uint64_t value = line ? line->value : quality_minor_children(f->r, &f->text);
	buffer_text(&f->text, line ? line->text : "");
	if (value > 0) {
		f->draft.is_quality = line != NULL;
		finder_put(f, "value", value);
		finder_say(f, line ? FINDING_EXPLAINS : FINDING_FACT, 0);
	}
}

/** "nothing was left allocated except 320 B of the runtime itself", if true. */
void find_all_freed(struct finder *f) {
	const struct findings *o = f->out;
	if (f->r->summary.allocations == 0 || f->r->summary.live_bytes > o->noise_bytes ||
			o->noise_bytes > f->r->summary.peak_bytes / 4 || !f->r->meta.is_complete ||
			finder_misses_allocator(f)) {
		return;
	}
	SAY(f,
			f->r->meta.source == REC_ATTACHED ? "nothing allocated since the attach was left"
											  : "nothing was left allocated");
	if (o->noise_blocks > 0) {
		SAY(f, " except %s of the runtime itself, in %s", HUMAN_BYTES(o->noise_bytes),
				COUNTED(o->noise_blocks, "block"));
	}
	finder_put(f, "runtime_bytes", o->noise_bytes);
	finder_put(f, "runtime_blocks", o->noise_blocks);
	finder_say(f, FINDING_FACT, 0);
}
