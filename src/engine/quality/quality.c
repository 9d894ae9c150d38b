// SPDX-License-Identifier: MIT
/* Writes the quality lines, most important first. */
#include "engine/findings.h"
#include "engine/memory.h"
#include "engine/quality/parts.h"

/** A file of another program that lacks numbers: they are nowhere shown as zero. */
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
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		if (w->recording->missing & numbers[i].bit) {
			(void)strcat(strcat(all, *all ? ", " : ""), numbers[i].what);
		}
	}
	if (*all) {
		quality_say(w, "not-in-file", w->recording->missing,
				"this file of another program does not say: %s", all);
	}
}

static void say_sampled(struct quality_writer *w) {
	uint64_t rate_log2 = w->recording->meta.rate_log2;
	if (rate_log2) {
		quality_say(w, "sampled", UINT64_C(1) << rate_log2,
				"sampled: all figures are estimates, from one allocation in about %s",
				HUMAN_BYTES(UINT64_C(1) << rate_log2));
	}
}

/**
 * Allocations whose stacks are cut off before they reach main (or a thread's start). `is_strict`:
 * those that reach it and are cut off behind as well.
 */
static uint64_t count_cut_off(const struct quality_writer *w, bool is_strict) {
	const struct recording *r = w->recording;
	uint8_t *is_cut = arena_new(w->arena, uint8_t, r->nodes.n);
	for (uint32_t i = 1; is_cut && i < r->nodes.n; i++) {
		const struct rec_node *node = &r->nodes.items[i];
		uint32_t n_frames;
		const struct name *frames = names_of(w->names, node->location, &n_frames);
		bool is_main = !is_strict &&
				slice_equal(frames[n_frames - 1].function, slice_of_text("main"));
		is_cut[i] = !is_main &&
				(node->parent ? is_cut[node->parent] : r->locations.items[node->location].is_mark);
	}
	return SUM(i, is_cut ? r->stacks.n : 0,
			is_cut[r->stacks.items[i].node] ? r->stacks.items[i].allocations : 0);
}

/** Of less than 1 % of the allocations nothing is said; `--json` has their number. */
static void say_truncated(struct quality_writer *w) {
	const struct recording *r = w->recording;
	uint64_t all = r->summary.allocations, truncated = r->quality.truncated_stacks;
	uint64_t cut = truncated ? count_cut_off(w, false) : 0;
	if (cut > 0 && cut >= all / 100) {
		quality_say(w, "truncated-stacks", cut,
				"%s allocations (%s) have stacks without their outer callers: their sizes count; "
				"in the tree they begin at the outermost caller that is known",
				HUMAN_COUNT(cut), HUMAN_PERCENT(cut, all));
	}
	// The others found no room in the trie. Calls that map may be among them, and frees
	uint64_t known = truncated ? count_cut_off(w, true) : 0;
	known += SUM(i, r->mappings.n, 2 * r->mappings.items[i].maps);
	if (truncated > known && truncated - known >= all / 100 + 1 && !r->meta.has_free_stacks) {
		quality_say(w, "folded-stacks", truncated - known,
				"at least %s allocations (%s) have stacks without their inner callers, for want of "
				"room for more stacks: they count for the innermost caller that is known",
				HUMAN_COUNT(truncated - known), HUMAN_PERCENT(truncated - known, all));
	}
}

static void say_peak_range(struct quality_writer *w) {
	const struct rec_summary *s = &w->recording->summary;
	if (s->peak_high_bytes > 0) {
		quality_say(w, "peak-range", s->peak_high_bytes - s->peak_low_bytes,
				"the peak is not exact: it lies between %s and %s. Some events arrived late, from "
				"threads that stalled in the middle of a call",
				HUMAN_BYTES(s->peak_low_bytes), HUMAN_BYTES(s->peak_high_bytes));
	}
}

static void say_losses(struct quality_writer *w) {
	const struct rec_quality *q = &w->recording->quality;
	// How many events came after the recording's end is unknown
	if (q->lost_events && !q->recording_stopped_early) {
		quality_say(w, "lost-events", q->lost_events,
				"%s allocations or frees could not be recorded and are missing from the totals",
				HUMAN_COUNT(q->lost_events));
	}
	if (q->runtime_mismatches > w->recording->summary.allocations / 100) {
		quality_say(w, "runtime", q->runtime_mismatches,
				"%s stack%s without the names of scripts: what the interpreter says of them does "
				"not fit",
				HUMAN_COUNT(q->runtime_mismatches), q->runtime_mismatches == 1 ? "" : "s");
	}
	if (q->skipped_numbers || q->abandoned_hooks) {
		uint64_t sum = q->skipped_numbers + q->abandoned_hooks;
		quality_say(w, "abandoned", sum,
				"%s events were begun and never finished (threads killed or jumped out of in "
				"the middle of a call)",
				HUMAN_COUNT(sum));
	}
	say_peak_range(w);
	say_truncated(w);
	if (q->marks_dropped) {
		quality_say(w, "marks-dropped", q->marks_dropped,
				"too many marks: dropped %s, kept the first ones", HUMAN_COUNT(q->marks_dropped));
	}
	if (q->double_allocations > w->recording->summary.allocations / 10000) {
		quality_say(w, "missed-frees", q->double_allocations,
				"%s addresses were handed out twice: some frees of an allocator were missed, so "
				"\"never freed\" was corrected when the address was allocated again",
				HUMAN_COUNT(q->double_allocations));
	}
	if (q->detail_ends_ns) {
		quality_say(w, "detail-ends", q->detail_ends_ns,
				"the disk was nearly full: from %s on there are totals, but no more detail over "
				"time",
				HUMAN_DURATION(q->detail_ends_ns));
	}
}

enum { FEW = 100 };

const char *quality_why_old(const struct rec_meta *m, char out[QUALITY_OLD_MAX]) {
	if (m->old_unknown == REC_OLD_LATE) {
		(void)snprintf(out, QUALITY_OLD_MAX,
				"blocks allocated before the attach are not known: copying the program's memory "
				"takes longer than %s (--max-pause allows more)",
				HUMAN_DURATION(m->max_pause_ns));
		return out;
	}
	const char *why = "the kernel refused to copy the program's memory";
	if (m->old_unknown == REC_OLD_OFF) {
		why = "the program's memory was not copied (--max-pause 0)";
	} else if (m->old_unknown == REC_OLD_NOT_FOUND) {
		why = "no heap of glibc's malloc was found";
	}
	(void)snprintf(out, QUALITY_OLD_MAX, "blocks allocated before the attach are not known: %s",
			why);
	return out;
}

/** Blocks from before the attach, which do not count as never freed. */
static void say_before(struct quality_writer *w) {
	const struct rec_summary *s = &w->recording->summary;
	if (s->old_blocks) {
		char freed[2 * HUMAN_MAX + 32] = "none of them was freed";
		if (s->old_freed_blocks > 0) {
			(void)snprintf(freed, sizeof freed, "%s of them, %s, %s freed",
					HUMAN_COUNT(s->old_freed_blocks), HUMAN_BYTES(s->old_freed_bytes),
					s->old_freed_blocks == 1 ? "was" : "were");
		}
		quality_say(w, "before-attach", s->old_blocks,
				"allocated before the attach: %s block%s, %s; %s since. They are in no other "
				"number here",
				HUMAN_COUNT(s->old_blocks), s->old_blocks == 1 ? "" : "s",
				HUMAN_BYTES(s->old_bytes), freed);
	}
	if (w->recording->meta.old_unknown) {
		char text[QUALITY_OLD_MAX];
		quality_say(w, "before-attach-unknown", w->recording->meta.max_pause_ns, "%s",
				quality_why_old(&w->recording->meta, text));
	}
	uint64_t n = w->recording->quality.unknown_frees;
	if (w->recording->meta.source == REC_ATTACHED && n) {
		quality_say(w, "unknown-frees", n,
				"%s %s of%s %s from before the attach, of which nothing is known", HUMAN_COUNT(n),
				n == 1 ? "free was" : "frees were",
				s->old_blocks    ? n == 1 ? " another" : " other"
						: n == 1 ? " a"
								 : "",
				n == 1 ? "block" : "blocks");
	}
	// Of what ran before the first allocation was seen there are some, but never many
	if (w->recording->meta.source == REC_LAUNCHED && n > FEW && n > s->allocations / FEW) {
		quality_say(w, "missed-allocations", n,
				"%s frees were of blocks whose allocation was not seen: an allocator's allocations "
				"are partly missing here%s",
				HUMAN_COUNT(n), names_is_of_nim(w->names) ? " (build with -d:useMalloc)" : "");
	}
}

/** Allocators that were seen and could not be hooked. */
static void say_unhooked(struct quality_writer *w) {
	const struct recording *r = w->recording;
	const struct rec_allocator *first = NULL;
	uint64_t n = 0;
	EACH(a, r->allocators) {
		bool is_one = quality_lacks(r, a);
		first = !first && is_one ? a : first;
		n += is_one ? a->n_functions : 0;
	}
	if (!first) {
		return;
	}
	char more[64] = "";
	if (n > first->n_functions) {
		(void)snprintf(more, sizeof more, " (and %" PRIu64 " more functions, see --json)",
				n - first->n_functions);
	}
	quality_say(w, "not-hooked", n,
			"%.*s of %.*s %s seen but not hooked: %.*s%s. What %s is missing here",
			SLICE_ARG(r->strings.items[first->functions]),
			SLICE_ARG(path_base(r->strings.items[first->module])),
			first->n_functions == 1 ? "was" : "were", SLICE_ARG(r->strings.items[first->why]), more,
			n == 1 ? "it does" : "they do");
}

enum { MAPPER_MAX = RUNTIME_FLAG_MAX + 2 };

/**
 * Who had mapped most outside of allocation functions when most was mapped. How much of it was
 * resident is not known. A long name is cut: the line takes two rows of a terminal.
 */
static void name_mapper(const struct quality_writer *w, uint64_t least_bytes,
		char out[MAPPER_MAX]) {
	enum { NAME_MAX_BYTES = 36 };
	const struct recording *r = w->recording;
	uint64_t *bytes_of = arena_new(w->arena, uint64_t, names_n_functions(w->names) + 1ul);
	const struct name *best = NULL;
	uint64_t most = 0;
	for (uint32_t i = 0; bytes_of && i < r->mappings.n; i++) {
		const struct rec_mapping *m = &r->mappings.items[i];
		const struct name *running;
		const struct name *name = m->is_inside ? NULL : names_mapper(w->names, m->node, &running);
		name = name && !name->has_name ? names_without_symbols(w->names, name) : name;
		uint64_t bytes = name ? bytes_of[name->function_id] += m->peak_bytes : 0;
		best = bytes > most ? name : best;
		most = bytes > most ? bytes : most;
	}
	if (best && most >= least_bytes) {
		bool has_name = best->has_name || best->module.size == 0;
		struct slice name = has_name ? best->function : path_base(best->module);
		bool is_cut = name.size > NAME_MAX_BYTES;
		name.size = is_cut ? NAME_MAX_BYTES - 1 : name.size;
		(void)snprintf(out, MAPPER_MAX, "; %.*s%s had mapped most, %s of addresses",
				SLICE_ARG(name), is_cut ? "…" : "", HUMAN_BYTES(most));
	}
}

/**
 * Resident memory that no live block explains is told when it is most of the process, and not just
 * its code. What it is was not measured: freed blocks that the allocator keeps, mappings, stacks,
 * code. In two rows of 80 columns, for the first screen.
 */
static void say_outside(struct quality_writer *w) {
	enum { LARGE_BYTES = 64000000, OWN_BYTES = 16000000 };
	const struct recording *r = w->recording;
	const struct memory_look m = memory_at_peak(r);
	const struct rec_sample *top = NULL;
	EACH(s, r->samples) {
		top = !top || s->rss_bytes - s->ours_bytes > top->rss_bytes - top->ours_bytes ? s : top;
	}
	if (!top || top->ours_bytes > top->rss_bytes) {
		return;
	}
	if (m.look && (m.look->has & REC_HAS_PAGES) && m.look->rss_bytes > top->rss_bytes / 2) {
		return; // its parts say it
	}
	uint64_t rss = top->rss_bytes - top->ours_bytes;
	uint64_t heap_bytes = top->heap_bytes + r->summary.old_bytes;
	bool is_large = rss >= LARGE_BYTES || top->rss_anon_bytes >= heap_bytes + OWN_BYTES;
	if (!is_large || heap_bytes > rss / 2) {
		return;
	}
	char more[MAPPER_MAX] = "", own[RUNTIME_FLAG_MAX];
	bool has_unknown = r->meta.source == REC_ATTACHED && r->summary.old_blocks == 0;
	// If live blocks never reached half of it, the rest is not freed memory that is kept
	bool is_own = r->summary.peak_bytes + r->summary.old_bytes < rss / 2 &&
			runtime_own_memory(r->strings.items[r->meta.exe], own);
	if (is_own) {
		(void)snprintf(more, sizeof more, "; %s", own);
	} else {
		name_mapper(w, OWN_BYTES / 4, more);
	}
	if (*more == 0) {
		(void)snprintf(more, sizeof more,
				" (%sfreed memory, mappings, stacks, code: not told apart)",
				has_unknown ? "older blocks, " : "");
	}
	quality_say(w, "outside-heap", rss - heap_bytes,
			"of %s resident memory at its peak, %s were not in %s blocks%s", HUMAN_BYTES(rss),
			HUMAN_BYTES(rss - heap_bytes), has_unknown ? "known" : "live", more);
}

/** Silence would read as if nothing had been mapped. */
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
	if (r->quality.looks_refused) {
		quality_say(w, "no-looks", r->quality.looks_refused,
				"what resident memory holds is not known: the kernel does not let this user read "
				"which pages the program has; root may");
	}
}

/** Is there a function on the stack that the runtime knows, but that could not be read? */
static bool has_unread(const struct recording *r, uint32_t node) {
	for (; node; node = r->nodes.items[node].parent) {
		const struct rec_location *l = &r->locations.items[r->nodes.items[node].location];
		if (l->n_frames == 0 && r->modules.items[l->module].kind != 0) {
			return true;
		}
	}
	return false;
}

/** The shares of the bytes at the peak whose site, or one of whose callers, has no name. */
static void say_unnamed(struct quality_writer *w) {
	const struct recording *r = w->recording;
	uint64_t unnamed = 0, unread = 0, all = 0, heaviest = 0;
	struct slice module = {0};
	EACH(s, r->stacks) {
		const struct name *name = s->peak_bytes ? names_site(w->names, s->node) : NULL;
		all += s->peak_bytes;
		unread += s->peak_bytes && has_unread(r, s->node) ? s->peak_bytes : 0;
		if (!name || name->has_name) {
			continue;
		}
		unnamed += s->peak_bytes;
		if (s->peak_bytes > heaviest) {
			heaviest = s->peak_bytes;
			module = name->module;
		}
	}
	char share[HUMAN_MAX];
	if (unread > all / 20) {
		human_percent(share, unread, all);
		quality_say(w, "unread", unread,
				"%s of the bytes at the peak have callers without names: functions of a runtime "
				"that could not be read",
				share);
	}
	if (unnamed == 0 || unnamed < all / 20) {
		return;
	}
	human_percent(share, unnamed, all);
	if (module.size == 0) {
		quality_say(w, "unnamed", unnamed,
				"%s of the bytes at the peak come from generated code without "
				"names",
				share);
		return;
	}
	// A recording that broke off may have its names still to come
	quality_say(w, "unnamed", unnamed,
			"%s of the bytes at the peak come from code without names, most of it in %.*s: %s",
			share, SLICE_ARG(path_base(module)),
			r->meta.is_complete ? "install its debug symbols or build it with -g"
								: "heaptrack -i FILE reads them from the program's files");
}

size_t quality_lines(const struct recording *r, const struct names *n, struct arena *arena,
		struct quality_line out[QUALITY_LINES_MAX]) {
	struct quality_writer w = {.recording = r, .names = n, .arena = arena, .out = out};
	say_missing(&w);
	say_sampled(&w);
	quality_say_launched(&w);
	quality_say_ending(&w);
	say_losses(&w);
	say_before(&w);
	say_unhooked(&w);
	quality_say_unrecorded(&w);
	say_outside(&w);
	say_unnamed(&w);
	say_unmapped(&w);
	return w.n;
}
