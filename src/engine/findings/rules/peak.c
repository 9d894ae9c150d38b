// SPDX-License-Identifier: MIT
/*
 * States who holds the peak, among which functions it is split, and what is odd about it: it lasted
 * only a moment, consists of equal blocks, or is a container that grew by doubling.
 */
#include "engine/findings/parts.h"

// Blocks of one exact size at the peak
struct twins {
	uint64_t size, blocks;
	uint32_t n_stacks;
};

/** Large blocks of equal size from different places, live at once, as copies are. */
static struct twins find_twins(const struct finder *f, const struct holder *h) {
	enum { FEW = 8, ON_ONE_PATH = 2, COPIES_MAX = 4 };
	struct twins found[FEW] = {0};
	for (uint32_t i = 0; i < f->r->stacks.n; i++) {
		const struct rec_stack *s = &f->r->stacks.items[i];
		if (!h->tags[i] || s->peak_blocks == 0 || s->peak_blocks > ON_ONE_PATH ||
				s->peak_bytes % s->peak_blocks) {
			continue;
		}
		uint64_t size = s->peak_bytes / s->peak_blocks;
		if (size < f->r->summary.peak_bytes / 10 ||
				(s->peak_blocks > 1 &&
						!FIND_IN(z, f->r->sizes,
								z->stack == i && z->size == size && !z->is_class))) {
			continue;
		}
		struct twins *its = FIND(t, found, FEW, t->size == size || t->size == 0);
		if (its) {
			its->size = size;
			its->blocks += s->peak_blocks;
			its->n_stacks++;
		}
	}
	const struct twins *best = MOST_OF(t, found, FEW,
			t->n_stacks > 1 && t->blocks <= COPIES_MAX ? t->size * t->blocks : 0);
	return best ? *best : (struct twins){0};
}

static void put_what_if(struct finder *f) {
	uint64_t without_ns, without_bytes = holder_what_if(f, &without_ns);
	if (without_bytes > 0) {
		SAY(f, "; without it the largest heap is %s at %s", HUMAN_BYTES(without_bytes),
				HUMAN_DURATION(without_ns));
		FINDER_PUT_VALUES(f, without_bytes, without_ns);
	}
}

/** How long it lasted and what else was live; nothing if it was there most of the time. */
static bool put_spike(struct finder *f, const uint64_t *curve) {
	const struct recording *r = f->r;
	struct curve c = finder_as_curve(f, curve);
	const struct rec_edge *peak = FIND_IN(e, r->edges, e->time_ns == r->summary.peak_time_ns);
	if (!peak) {
		return false;
	}
	const uint32_t at = (uint32_t)(peak - r->edges.items);
	struct curve_stretch s = curve_stretch_at(&c, at);
	bool is_gone = s.last + 1 < r->edges.n;
	if (s.ns > r->meta.duration_ns / 2 || !is_gone) {
		return false;
	}
	// The level before the rise: the lowest since the curve was last above half of its peak
	uint32_t before = s.first;
	for (uint32_t i = before; i > 0 && curve[i - 1] <= curve[at] / 2; i--) {
		before = curve[i - 1] < curve[before] ? i - 1 : before;
		if (curve[before] <= curve[at] / 20) {
			break;
		}
	}
	uint64_t base = r->edges.items[at].bytes - curve[at];
	uint64_t held = before < s.first && curve[before] > curve[at] / 20 ? curve[before] : 0;
	SAY(f, "; it lasted %s", HUMAN_SPAN(s.ns));
	if (held > 0) {
		SAY(f, ", up from %s", HUMAN_BYTES(held));
		finder_put(f, "before_bytes", held);
	}
	if (base > 0) {
		SAY(f, ", on top of %s", HUMAN_BYTES(base));
	}
	finder_put(f, "lasted_ns", s.ns);
	finder_put(f, "base_bytes", base);
	return true;
}

static bool put_twins(struct finder *f, const struct holder *h) {
	struct twins twins = find_twins(f, h);
	if (twins.blocks < 2 || twins.size * twins.blocks < f->r->summary.peak_bytes / 5) {
		return false;
	}
	SAY(f, ", %s%llu blocks of exactly %s each",
			twins.size * twins.blocks == h->bytes ? "in " : "among it ",
			(unsigned long long)twins.blocks, HUMAN_BYTES(twins.size));
	finder_put(f, "equal_blocks", twins.blocks);
	finder_put(f, "equal_size", twins.size);
	return true;
}

/** Did another rule explain a site with most of what it holds? */
static bool is_explained(const struct finder *f, const struct holder *h) {
	return SUM(i, f->r->stacks.n,
				   h->tags[i] && f->places[f->place_of[i]].has_memory_finding
						   ? f->r->stacks.items[i].peak_bytes
						   : 0) > h->bytes / 2;
}

// ---- how it is split

struct part {
	uint64_t bytes;
	const struct name *name; // the holder's own: what it allocates, not what it calls
};

/** Overloads. Those of the very same name are different functions of different files. */
static bool are_called_alike(struct finder *f, const struct name *a, const struct name *b) {
	return slice_equal(short_name_of(f, a), short_name_of(f, b)) &&
			!slice_equal(a->function, b->function);
}

/**
 * The next function inwards from the holder in a stack. Overloads of the holder, which look the
 * same in a sentence, count as the holder. `alike`: per function, a cache of that.
 */
static const struct name *next_below(struct finder *f, const struct holder *h, uint32_t stack,
		uint8_t *alike) {
	enum { UNKNOWN, ALIKE, OTHER };
	struct stack_walk w = walk_of(f, stack);
	const struct name *const site = w.site, *frame, *below = NULL;
	while ((frame = stack_walk_next(&w)) && frame->function_id != h->name->function_id) {
		uint8_t *is = &alike[frame->function_id];
		if (*is == UNKNOWN && holder_may_be(frame, site)) {
			*is = are_called_alike(f, frame, h->name) ? ALIKE : OTHER;
		}
		below = holder_may_be(frame, site) && *is == OTHER ? frame : below;
	}
	return below ? below : h->name;
}

/** Merge parts with equal names, if large enough to be named. */
static void join_overloads(struct finder *f, struct part *parts, uint64_t least) {
	for (uint32_t i = 0; i < names_n_functions(f->names); i++) {
		EACH_NUMBER(k, i,
				parts[i].bytes >= least && parts[k].bytes >= least &&
						are_called_alike(f, parts[i].name, parts[k].name)) {
			parts[k].bytes += parts[i].bytes;
			parts[i].bytes = 0;
		}
	}
}

/** ", of it parse() 4.0 MB, build() 3.0 MB and the rest 1.0 MB": the three largest parts. */
static void put_split(struct finder *f, const struct holder *h) {
	enum { NAMED = 3 };
	uint32_t n = names_n_functions(f->names);
	struct part *parts = FINDER_NEW(f, struct part, n);
	uint8_t *alike = FINDER_NEW(f, uint8_t, n);
	uint64_t rest = h->bytes, least = h->bytes / 20 + 1;
	EACH_NUMBER(i, f->r->stacks.n, h->tags[i] && f->r->stacks.items[i].peak_bytes > 0) {
		const struct name *below = next_below(f, h, i, alike);
		struct part *p = &parts[below->function_id];
		p->name = p->name ? p->name : below;
		p->bytes += f->r->stacks.items[i].peak_bytes;
	}
	join_overloads(f, parts, least);
	const char *before = ", of it ";
	struct part *best;
	for (int i = 0; i < NAMED && (best = MOST_OF(p, parts, n, p->bytes >= least ? p->bytes : 0));
			i++) {
		bool is_itself = best->name->function_id == h->name->function_id;
		struct slice name = is_itself ? slice_of_text("itself") : short_name_of(f, best->name);
		// Each file has its own <module>, <lambda>, <listcomp>
		bool is_of_file = (starts_with(name, "<") && ends_with(name, ">")) ||
				slice_equal(name, short_name_of(f, h->name));
		struct slice file = is_of_file ? path_base(best->name->file) : (struct slice){0};
		SAY(f, "%s%.*s%s%.*s %s", before, SLICE_ARG(name), file.size ? " " : "", SLICE_ARG(file),
				HUMAN_BYTES(best->bytes));
		before = ", ";
		rest -= best->bytes;
		best->bytes = 0;
	}
	if (rest > h->bytes / 100 && rest < h->bytes) {
		SAY(f, " and the rest %s", HUMAN_BYTES(rest));
	}
}

static void put_start_up(struct finder *f) {
	const uint64_t all = f->r->summary.peak_bytes, own = f->start_up ? f->start_up->peak_bytes : 0;
	if (own > all / 10) {
		const struct name *who = f->start_up->name;
		bool is_linked_in = slice_equal(who->module, names_program(f->r));
		SAY(f,
				"; %.*s allocated %s (%s of the peak) for itself before the program allocated "
				"anything",
				SLICE_ARG(is_linked_in ? slice_of_text("its runtime") : who->function),
				HUMAN_BYTES(own), HUMAN_PERCENT(own, all));
		finder_put(f, "start_up_bytes", own);
	}
}

/** Much of what was requested was never in memory; swapped out memory was. */
static void put_most_in_memory(struct finder *f) {
	const struct rec_summary *s = &f->r->summary;
	bool is_swapped = ANY(i, f->r->looks.n, f->r->looks.items[i].swap_bytes > 0);
	if (s->peak_rss_bytes > 0 && s->peak_rss_bytes < s->peak_bytes / 2 && !is_swapped &&
			!recording_is_tree(f->r) && f->r->meta.source < REC_IMPORTED &&
			f->r->meta.is_complete) {
		SAY(f, "; of the %s, at most %s were in memory (the peak RSS)", HUMAN_BYTES(s->peak_bytes),
				HUMAN_BYTES(s->peak_rss_bytes));
		finder_put(f, "peak_rss_bytes", s->peak_rss_bytes);
	}
}

static void say_peak(struct finder *f, const struct holder *h) {
	enum { LARGE_BYTES = 1000000 };
	const struct rec_summary *s = &f->r->summary;
	const struct place *place = FIND(p, f->places, f->n_places,
			p->name->function_id == h->name->function_id);
	// As displayed: the tables show the site's own bytes, too
	bool is_alone = h->own >= h->bytes - h->bytes / 100 &&
			strcmp(HUMAN_BYTES(h->own), HUMAN_BYTES(h->bytes)) == 0;
	if (is_alone && place) {
		(void)say_place(f, place, BY_PEAK_BYTES, "peak", "", NULL);
	} else {
		finder_about(f, h->name, "peak");
		SAY(f, "%s and what it calls", name_words(f, h->name));
	}
	SAY(f, "%s %s (%s of the peak)", is_alone ? " holds" : " hold", HUMAN_BYTES(h->bytes),
			HUMAN_PERCENT(h->bytes, s->peak_bytes));
	if (h->name->is_runtime) {
		SAY(f, " for itself%s",
				h->bytes == s->peak_bytes ? ": the program's own code holds nothing" : "");
		f->draft.lens = "m=peak&fold=0";
	} else if (!is_alone) {
		put_split(f, h);
	}
	finder_put(f, "bytes", h->bytes);
	finder_put(f, "peak_bytes", s->peak_bytes);
	finder_put(f, "peak_ns", s->peak_time_ns);
	bool is_copied = put_twins(f, h), has_doubled = say_doubling(f, h->tags, place);
	bool has_time = !(f->r->missing & REC_TIME), is_spike = has_time && put_spike(f, h->curve);
	if (has_time) {
		put_what_if(f);
	}
	put_start_up(f);
	put_most_in_memory(f);
	bool is_large = h->bytes >= s->peak_bytes / 4 && h->bytes >= LARGE_BYTES;
	bool has_pattern = is_copied || has_doubled || (is_spike && !is_explained(f, h));
	finder_say(f, has_pattern && is_large ? FINDING_LOOK_FIRST : FINDING_EXPLAINS,
			millionths(h->bytes, s->peak_bytes));
}

void find_peak(struct finder *f) {
	if (f->holder.name && f->holder.bytes >= finder_own_peak(f) / 10) {
		say_peak(f, &f->holder);
	}
}
