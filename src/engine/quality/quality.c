// SPDX-License-Identifier: MIT
/* Writes the quality lines, most important first. */
#include "engine/quality/parts.h"

/** Another program's file may lack numbers, which are never shown as zero. */
static void say_missing(struct quality_writer *w) {
	static const struct {
		uint32_t bit;
		const char *what;
	} numbers[] = {
			{REC_PEAK_BYTES, "the peak"},
			{REC_LIVE_BYTES, "what was never freed"},
			{REC_ALLOCATIONS, "how many blocks were allocated"},
			{REC_ALLOCATED_BYTES, "how many bytes were allocated"},
			{REC_TEMPORARY, "what was temporary"},
			{REC_TIME, "how long it took"},
	};
	char all[300] = "";
	EACH_NUMBER(i, N_OF(numbers), w->recording->missing & numbers[i].bit) {
		(void)strcat(strcat(all, *all ? ", " : ""), numbers[i].what);
	}
	if (*all) {
		quality_say(w, "not-in-file", w->recording->missing, "not in this file: %s", all);
	}
}

/** Allocations whose stacks are cut off before main (or a thread's start); is_strict: or beyond. */
static uint64_t count_cut_off(const struct quality_writer *w, bool is_strict) {
	const struct recording *r = w->recording;
	uint8_t *is_cut = arena_new(w->arena, uint8_t, r->nodes.n);
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct rec_node *node = &r->nodes.items[i];
		const struct name_list frames = names_of(w->names, node->location);
		bool is_main = !is_strict && slice_is(frames.items[frames.n - 1].function, "main");
		is_cut[i] = !is_main &&
				(node->parent ? is_cut[node->parent] : r->locations.items[node->location].is_mark);
	}
	return SUM(i, r->stacks.n,
			is_cut[r->stacks.items[i].node] ? r->stacks.items[i].allocations : 0);
}

/** Silent below 1 % of the allocations; --json has the number. */
static void say_truncated(struct quality_writer *w) {
	const struct recording *r = w->recording;
	uint64_t all = r->summary.allocations, truncated = r->quality.truncated_stacks;
	uint64_t cut = truncated ? count_cut_off(w, false) : 0;
	QUALITY_SAY_IF_ANY(w, "truncated-stacks", cut >= all / 100 ? cut : 0,
			"the outer callers of %s (%s) are not known: the sizes count; in the tree they begin "
			"at the outermost caller that is known",
			COUNTED(cut, "allocation"), HUMAN_PERCENT(cut, all));
	// The others found no room in the trie; calls that map, and frees, may be among them
	uint64_t known = truncated ? count_cut_off(w, true) : 0;
	known += SUM(i, r->mappings.n, 2 * r->mappings.items[i].maps);
	if (truncated > known && truncated - known >= all / 100 + 1 && !r->meta.has_free_stacks) {
		quality_say(w, "folded-stacks", truncated - known,
				"the inner callers of at least %s (%s) are not known, for want of room for more "
				"stacks: they count for the innermost caller that is known",
				COUNTED(truncated - known, "allocation"), HUMAN_PERCENT(truncated - known, all));
	}
}

static void say_peak_range(struct quality_writer *w) {
	const struct rec_summary *s = &w->recording->summary;
	if (s->peak_high_bytes > 0) {
		quality_say(w, "peak-range", s->peak_high_bytes - s->peak_low_bytes,
				"the peak is not exact: it lies between %s and %s. %s",
				HUMAN_BYTES(s->peak_low_bytes), HUMAN_BYTES(s->peak_high_bytes),
				w->recording->meta.source == REC_IMPORTED
						? "The largest snapshot in the file has no stacks"
						: "Some events arrived late, from threads that stalled in a call");
	}
}

static void say_losses(struct quality_writer *w) {
	const struct rec_quality *q = &w->recording->quality;
	const uint64_t all = w->recording->summary.allocations;
	// The number of events after the recording's end is unknown
	QUALITY_SAY_IF_ANY(w, "lost-events", q->recording_stopped_early ? 0 : q->lost_events,
			"%s (allocations or frees) could not be recorded, missing from the totals",
			COUNTED(q->lost_events, "event"));
	QUALITY_SAY_IF_ANY(w, "runtime", q->runtime_mismatches > all / 100 ? q->runtime_mismatches : 0,
			"%s without the names of scripts: what the interpreter says of them does not fit",
			COUNTED(q->runtime_mismatches, "stack"));
	const uint64_t unfinished = q->skipped_numbers + q->abandoned_hooks;
	QUALITY_SAY_IF_ANY(w, "abandoned", unfinished,
			"%s begun and never finished (threads killed or jumped out of in a call)",
			COUNTED(unfinished, "event"));
	say_peak_range(w);
	say_truncated(w);
	QUALITY_SAY_IF_ANY(w, "marks-dropped", q->marks_dropped,
			"too many marks: dropped %s, kept the first ones", HUMAN_COUNT(q->marks_dropped));
	QUALITY_SAY_IF_ANY(w, "missed-frees",
			q->double_allocations > all / 10000 ? q->double_allocations : 0,
			"an address was handed out twice %s: some frees of an allocator were missed, so "
			"\"never freed\" was corrected when the address was allocated again",
			COUNTED(q->double_allocations, "time"));
	QUALITY_SAY_IF_ANY(w, "detail-ends", q->detail_ends_ns,
			"the disk was nearly full: from %s on there are totals, but no more detail over "
			"time",
			HUMAN_DURATION(q->detail_ends_ns));
}

enum { FEW = 100 };

const char *quality_why_old(const struct rec_meta *m, char out[QUALITY_OLD_MAX]) {
	const char *why = m->old_unknown == REC_OLD_LATE
			? FORMAT(QUALITY_OLD_MAX,
					  "copying the program's memory takes longer than %s (--max-pause allows more)",
					  HUMAN_DURATION(m->max_pause_ns))
			: m->old_unknown == REC_OLD_OFF  ? "the program's memory was not copied (--max-pause 0)"
			: m->old_unknown == REC_OLD_TREE ? "they are not looked for with --children"
			: m->old_unknown == REC_OLD_NOT_FOUND
			? "no heap of glibc's malloc was found"
			: "the kernel refused to copy the program's memory";
	return format_text(out, QUALITY_OLD_MAX, "blocks allocated before the attach are not known: %s",
			why);
}

/** Blocks from before the attach, which do not count as never freed. */
static void say_before(struct quality_writer *w) {
	const struct rec_summary *s = &w->recording->summary;
	if (s->old_blocks) {
		const char *freed = s->old_freed_blocks == 0
				? "none of them was freed"
				: FORMAT(2 * HUMAN_MAX + 32, "%s of them, %s, %s freed",
						  HUMAN_COUNT(s->old_freed_blocks), HUMAN_BYTES(s->old_freed_bytes),
						  s->old_freed_blocks == 1 ? "was" : "were");
		quality_say(w, "before-attach", s->old_blocks,
				"allocated before the attach: %s, %s; %s since. They count only in resident memory",
				COUNTED(s->old_blocks, "block"), HUMAN_BYTES(s->old_bytes), freed);
	}
	if (w->recording->meta.old_unknown) {
		char text[QUALITY_OLD_MAX];
		quality_say(w, "before-attach-unknown", w->recording->meta.max_pause_ns, "%s",
				quality_why_old(&w->recording->meta, text));
	}
	const uint64_t n = w->recording->quality.unknown_frees;
	const bool is_one = n == 1;
	QUALITY_SAY_IF_ANY(w, "unknown-frees", w->recording->meta.source == REC_ATTACHED ? n : 0,
			"%s %s of%s %s from before the attach, of which nothing is known", HUMAN_COUNT(n),
			is_one ? "free was" : "frees were",
			s->old_blocks    ? is_one ? " another" : " other"
					: is_one ? " a"
							 : "",
			is_one ? "block" : "blocks");
	// There are always a few, from before the first allocation that was seen
	bool is_many = w->recording->meta.source == REC_LAUNCHED && n > FEW && n > s->allocations / FEW;
	QUALITY_SAY_IF_ANY(w, "missed-allocations", is_many ? n : 0,
			"%s frees were of blocks whose allocation was not seen: an allocator's allocations "
			"are partly missing here%s",
			HUMAN_COUNT(n), names_is_of_nim(w->names) ? " (build with -d:useMalloc)" : "");
}

static void say_unhooked(struct quality_writer *w) {
	const struct recording *r = w->recording;
	const struct rec_allocator *all = r->allocators.items;
	const struct rec_allocator *first = FIND_IN(a, r->allocators, quality_lacks(r, a));
	if (!first) {
		return;
	}
	const uint64_t n = SUM(i, r->allocators.n, quality_lacks(r, &all[i]) ? all[i].n_functions : 0);
	const char *more = n > first->n_functions
			? FORMAT(64, " (and %" PRIu64 " more functions, see --json)", n - first->n_functions)
			: "";
	quality_say(w, "not-hooked", n,
			"%.*s of %.*s %s seen but not hooked: %.*s%s. What %s is missing here",
			SLICE_ARG(r->strings.items[first->functions]),
			SLICE_ARG(path_base(r->strings.items[first->module])),
			first->n_functions == 1 ? "was" : "were", SLICE_ARG(r->strings.items[first->why]), more,
			n == 1 ? "it does" : "they do");
}

/** Silence would suggest that nothing was mapped. */
static void say_unmapped(struct quality_writer *w) {
	const struct recording *r = w->recording;
	bool is_ours = r->meta.source == REC_LAUNCHED || r->meta.source == REC_ATTACHED;
	if (is_ours && r->mapping_edges.n == 0) {
		quality_say(w, "no-mappings", 0,
				"calls that map memory, such as mmap, were not recorded: what they mapped is not "
				"known");
	} else if (is_ours && r->meta.source == REC_ATTACHED) {
		quality_say(w, "mapped-before", 0,
				"what was mapped before the attach is not among the mappings");
	}
	QUALITY_SAY_IF_ANY(w, "no-looks", r->quality.looks_refused,
			"what resident memory holds is not known: the kernel does not let this user read "
			"which pages the program has; root may");
}

/** By node: is there a runtime's function on its stack that could not be read? */
static const uint8_t *find_unread(const struct quality_writer *w) {
	const struct recording *r = w->recording;
	uint8_t *unread = arena_new(w->arena, uint8_t, r->nodes.n);
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct rec_node *n = &r->nodes.items[i];
		const struct rec_location *l = &r->locations.items[n->location];
		unread[i] = unread[n->parent] ||
				(l->n_frames == 0 && r->modules.items[l->module].kind != 0);
	}
	return unread;
}

/** The shares of the peak's bytes whose site, or one of whose callers, has no name. */
static void say_unnamed(struct quality_writer *w) {
	const struct recording *r = w->recording;
	uint64_t unnamed = 0, unread = 0, all = 0, heaviest = 0;
	struct slice module = {0};
	const uint8_t *is_unread = find_unread(w);
	EACH(s, r->stacks) {
		const struct name *name = s->peak_bytes ? names_site(w->names, s->node) : NULL;
		all += s->peak_bytes;
		unread += is_unread[s->node] ? s->peak_bytes : 0;
		const uint64_t bytes = name && !name->has_name ? s->peak_bytes : 0;
		unnamed += bytes;
		module = bytes > heaviest ? name->module : module;
		RAISE_TO(heaviest, bytes);
	}
	QUALITY_SAY_IF_ANY(w, "unread", unread > all / 20 ? unread : 0,
			"%s of the bytes at the peak have callers without names: functions of a runtime "
			"that could not be read",
			HUMAN_PERCENT(unread, all));
	const uint64_t said = unnamed < all / 20 ? 0 : unnamed;
	const char *share = HUMAN_PERCENT(unnamed, all);
	const char *when = r->missing & REC_PEAK_BYTES ? "that were live" : "at the peak";
	QUALITY_SAY_IF_ANY(w, "unnamed", module.size ? 0 : said,
			"%s of the bytes %s come from generated code without names", share, when);
	// A recording that broke off may get its names later
	QUALITY_SAY_IF_ANY(w, "unnamed", module.size ? said : 0,
			"%s of the bytes %s come from code without names, most of it in %.*s: %s", share, when,
			SLICE_ARG(path_base(module)),
			r->meta.is_complete ? "install its debug symbols or build it with -g"
								: "heaptrack -i FILE reads them from the program's files");
}

size_t quality_lines(const struct recording *r, const struct names *n, struct arena *arena,
		struct quality_line out[QUALITY_LINES_MAX]) {
	struct quality_writer w = {.recording = r, .names = n, .arena = arena, .out = out};
	say_missing(&w);
	quality_say_launched(&w);
	quality_say_ending(&w);
	say_losses(&w);
	say_before(&w);
	say_unhooked(&w);
	quality_say_unrecorded(&w);
	say_unnamed(&w);
	say_unmapped(&w);
	return w.n;
}
