// SPDX-License-Identifier: MIT
/*
 * Finds who holds the peak: the innermost named function of the user's own that, with its callees,
 * holds three fifths of it. If no function holds as much (threads, stacks without outer callers),
 * it is the largest site. Unnamed code counts as one function. If it reaches three fifths only with
 * what named library functions called back, a function that holds a fifth is preferred. If the heap
 * is nearly as large without it (others reach the same at other times), it is the largest site.
 */
#include "engine/breakdown.h"
#include "engine/findings/parts.h"

// Per function, while the stacks of the peak are walked
struct inclusive {
	uint64_t bytes, own;
	uint64_t depth;   // bytes times the number of frames to the allocation
	uint32_t seen_in; // stack + 1: recursion counts once
	const struct name *name;
};

/** How many of the ranked stacks cover the peak, or are enough. */
static uint32_t count_heaviest(const struct finder *f, const struct rank *ranks, uint32_t n) {
	enum { STACKS_MAX = 20000 };
	const uint64_t peak = f->r->summary.peak_bytes;
	uint64_t left = peak;
	uint32_t i = 0;
	for (; i < STACKS_MAX && i < n && ranks[i].weight > 0 && left > peak / 1000; i++) {
		left -= ranks[i].weight < left ? ranks[i].weight : left;
	}
	return i;
}

/** `nameless`: weigh the addresses in this place's code instead of functions; or NULL. */
static void add_frames(struct finder *f, struct inclusive *functions, uint32_t stack,
		const struct place *nameless, uint64_t weight) {
	struct stack_walk w = walk_of(f, stack);
	const struct name *frame;
	for (uint64_t depth = 0; (frame = stack_walk_next(&w)); depth++) {
		struct inclusive *in = &functions[frame->function_id];
		bool may_be = !nameless
				? holder_may_be(frame, w.site)
				: !frame->has_name && slice_equal(frame->module, nameless->name->module);
		if (!may_be || in->seen_in == stack + 1) {
			continue;
		}
		in->seen_in = stack + 1;
		in->name = in->name ? in->name : frame;
		in->bytes += weight;
		in->depth += weight * depth;
		in->own += frame == w.site ? weight : 0;
	}
}

/** Did a named library function call the site in this stack? */
static bool is_called_back(const struct finder *f, uint32_t stack) {
	struct stack_walk w = walk_of(f, stack);
	(void)NEXT_FRAME_THAT(frame, &w, frame == w.site);
	return NEXT_FRAME_THAT(frame, &w,
			frame->owner == OWNER_LIBRARY && !frame->is_runtime && !frame->is_wrapper &&
					frame->has_name);
}

static void add_stack(struct finder *f, struct inclusive *functions, uint32_t stack) {
	const uint64_t bytes = f->r->stacks.items[stack].peak_bytes;
	add_frames(f, functions, stack, NULL, bytes);
	const struct name *site = names_site(f->names, f->r->stacks.items[stack].node);
	const struct name *unnamed = finder_site(f, stack);
	// Not requested by the user's code, as libstdc++ for exceptions; of scripts: runtime.c
	bool is_start_up = f->start_up && f->place_of[stack] == f->start_up - f->places;
	bool is_runtimes_own = site && site->is_runtime && !f->runs_scripts && !is_start_up;
	if (site && (unnamed != site || is_runtimes_own)) {
		struct inclusive *in = &functions[unnamed->function_id];
		in->name = unnamed;
		in->bytes += unnamed != site && is_called_back(f, stack) ? 0 : bytes;
		in->own += bytes;
	}
}

/** Of two that hold about the same: the one that allocates most of it, else the inner one. */
static bool is_further_in(const struct inclusive *a, const struct inclusive *b) {
	bool a_allocates = a->own > a->bytes / 2, b_allocates = b->own > b->bytes / 2;
	return a_allocates || b_allocates
			? a->own > b->own
			: (double)a->depth / (double)a->bytes < (double)b->depth / (double)b->bytes;
}

/** The smallest that holds three fifths, or an inner one that differs little from it; or NULL. */
static const struct inclusive *innermost(const struct finder *f, const struct inclusive *functions,
		uint64_t all) {
	uint64_t most = all / 5 * 3, smallest = UINT64_MAX;
	uint32_t n = names_n_functions(f->names);
	const struct inclusive *best = NULL;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t bytes = functions[i].bytes;
		smallest = functions[i].name && bytes > most && bytes < smallest ? bytes : smallest;
	}
	EACH_OF_WHILE(in, functions, n, smallest < UINT64_MAX) {
		bool is_near = in->name && in->bytes >= smallest && in->bytes - smallest <= smallest / 20;
		best = is_near && (!best || is_further_in(in, best)) ? in : best;
	}
	return best;
}

static const struct inclusive *choose(const struct finder *f, const struct inclusive *functions,
		bool is_site) {
	const struct inclusive *best = is_site ? NULL : innermost(f, functions, finder_own_peak(f));
	const uint32_t n = names_n_functions(f->names);
	const struct inclusive *largest = MOST_OF(in, functions, n,
			in->name && !in->name->is_runtime ? in->own + 1 : 0);
	const struct inclusive *named = MOST_OF(in, functions, n,
			in->name && !in->name->is_runtime && in->name->has_name ? in->own : 0);
	const uint64_t fifth = finder_own_peak(f) / 5;
	bool is_by_calls = largest && largest->own > fifth * 3 && named && named->own > fifth;
	return best ? best : is_by_calls ? named : largest;
}

/** Per location: does it have a frame of this function in the user's own code? */
static uint8_t *locations_of(struct finder *f, uint32_t function_id) {
	uint8_t *out = arena_new(&f->scratch, uint8_t, f->r->locations.n);
	for (uint32_t i = 0; i < f->r->locations.n; i++) {
		const struct name_list frames = names_of(f->names, i);
		out[i] = FIND_IN(x, frames, x->owner == OWNER_YOURS && x->function_id == function_id) !=
				NULL;
	}
	return out;
}

/** Tag and sum up all stacks through the holder, also those that hold nothing at the peak. */
static void tag_stacks(struct finder *f, struct holder *h) {
	uint32_t id = h->name->function_id;
	uint8_t *of_location = locations_of(f, id);
	uint8_t *through = arena_new(&f->scratch, uint8_t, f->r->nodes.n + 1ul);
	h->tags = arena_new(&f->scratch, uint8_t, f->r->stacks.n + 1ul);
	for (uint32_t i = 1; i < f->r->nodes.n; i++) {
		const struct rec_node *node = &f->r->nodes.items[i];
		through[i] = through[node->parent] | of_location[node->location];
	}
	for (uint32_t i = 0; i < f->r->stacks.n; i++) {
		// No frame has a runtime's name; a dependency only counts where it names the stack
		const struct name *site = finder_site(f, i);
		h->tags[i] = through[f->r->stacks.items[i].node] || (site && site->function_id == id);
		h->bytes += h->tags[i] ? f->r->stacks.items[i].peak_bytes : 0;
		h->own += site && site->function_id == id ? f->r->stacks.items[i].peak_bytes : 0;
	}
}

/** What the runtime allocated before the program: no finding, unless there is nothing else. */
static void find_start_up(struct finder *f) {
	uint64_t begin_ns = UINT64_MAX;
	EACH_OF(p, f->places, f->n_places) {
		begin_ns = p->name->is_runtime || p->first_ns > begin_ns ? begin_ns : p->first_ns;
	}
	bool has_seen_it = f->r->meta.source == REC_LAUNCHED && !f->runs_scripts;
	EACH_OF_THAT(p, f->places, f->n_places,
			has_seen_it && p->name->is_runtime && p->last_ns < begin_ns &&
					p->peak_bytes > (f->start_up ? f->start_up->peak_bytes : 0)) {
		f->start_up = p->peak_bytes < f->r->summary.peak_bytes ? p : NULL;
	}
}

uint64_t holder_what_if(const struct finder *f, uint64_t *when_ns) {
	const struct rec_edge *edges = f->r->edges.items;
	const uint64_t *held = f->holder.curve;
	const struct rec_edge *most = held ? MOST(e, f->r->edges, e->bytes - held[e - edges]) : NULL;
	*when_ns = most ? most->time_ns : 0;
	return most ? most->bytes - held[most - edges] : 0;
}

bool holder_is_replaced(const struct finder *f) {
	uint64_t when_ns;
	return f->holder.own < f->holder.bytes / 10 * 9 &&
			holder_what_if(f, &when_ns) > f->r->summary.peak_bytes / 20 * 19;
}

void finder_find_holder(struct finder *f, bool is_site) {
	if (f->r->summary.peak_bytes == 0 || f->r->missing & REC_PEAK_BYTES) {
		return;
	}
	find_start_up(f);
	uint32_t n;
	FREED struct rank *ranks = rank_stacks(f->r, LENS_PEAK, &n);
	struct inclusive *functions = FINDER_NEW(f, struct inclusive, names_n_functions(f->names));
	n = count_heaviest(f, ranks, n);
	for (uint32_t i = 0; i < n; i++) {
		add_stack(f, functions, ranks[i].index);
	}
	const struct inclusive *best = choose(f, functions, is_site);
	if (best) {
		f->holder = (struct holder){.name = best->name};
		tag_stacks(f, &f->holder);
	}
}

// ---- where in unnamed code

/** "38 % at prog+0x1136, 29 % at prog+0x1151, 33 % elsewhere"; only one, if it is three fifths. */
static void put_sites(const struct finder *f, struct buffer *text, struct inclusive *addresses,
		uint64_t all) {
	uint64_t rest = all;
	bool is_most = all == 0;
	for (int n = 0; n < 3 && !is_most; n++) {
		struct inclusive *best = MOST_OF(in, addresses, names_n_functions(f->names), in->own);
		if (!best || best->own <= all / 20) {
			break;
		}
		buffer_printf(text, "%s%s at %.*s", n ? ", " : "", HUMAN_PERCENT(best->own, all),
				SLICE_ARG(best->name->function));
		is_most = best->own > all / 5 * 3;
		rest -= best->own;
		best->own = 0;
	}
	if (rest > 0 && rest < all && !is_most) {
		buffer_printf(text, ", %s elsewhere", HUMAN_PERCENT(rest, all));
	}
}

void put_addresses(struct finder *f, const struct place *p, const uint64_t *weights,
		const char *when) {
	if (!weights || p->name->has_name || p->name->owner != OWNER_YOURS) {
		return;
	}
	struct inclusive *addresses = FINDER_NEW(f, struct inclusive, names_n_functions(f->names));
	SCOPED(buffer) text = {0};
	uint64_t all = 0;
	EACH_NUMBER(i, f->r->stacks.n, f->place_of[i] == p - f->places && weights[i] > 0) {
		add_frames(f, addresses, i, p, weights[i]);
		all += weights[i];
	}
	const struct inclusive *in = all ? innermost(f, addresses, all) : NULL;
	bool is_caller = in && in->own < in->bytes;
	put_sites(f, &text, addresses, all);
	if (is_caller) {
		buffer_printf(&text, "%s%s through %.*s", text.size ? "; " : "",
				HUMAN_PERCENT(in->bytes, all), SLICE_ARG(in->name->function));
	}
	if (text.size > 0) {
		SAY(f, " (%s%.*s)", when, SLICE_ARG(buffer_view(&text)));
	}
}
