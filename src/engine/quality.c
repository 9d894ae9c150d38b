// SPDX-License-Identifier: MIT
#include "engine/quality.h"

#include "base/human.h"
#include "engine/clock_time.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct lines {
	const struct recording *recording;
	const struct names *names;
	struct arena *arena;
	struct quality_line *out;
	size_t n;
};

ATTR_PRINTF(4, 5)
static void say(struct lines *l, const char *id, uint64_t value, const char *fmt, ...) {
	char text[512];
	va_list args;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	const char *kept = arena_text(l->arena, slice_of_text(text));
	if (l->n < QUALITY_LINES_MAX) {
		l->out[l->n++] = (struct quality_line){id, kept ? kept : "(out of memory)", value};
	}
}

/** A file of another program that lacks numbers: they are nowhere shown as zero. */
static void say_missing(struct lines *l) {
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
		if (l->recording->missing & numbers[i].bit) {
			(void)strcat(strcat(all, *all ? ", " : ""), numbers[i].what);
		}
	}
	if (*all) {
		say(l, "not-in-file", l->recording->missing,
				"this file of another program does not say: %s", all);
	}
}

static void say_how_it_ended(struct lines *l) {
	const struct rec_meta *m = &l->recording->meta;
	char at[HUMAN_MAX];
	human_duration(at, m->duration_ns);
	if (m->is_complete) {
		if (l->recording->quality.recording_stopped_early) {
			say(l, "stopped-early", m->duration_ns,
					"the recording ended at %s, before the program did", at);
		}
		return;
	}
	if (m->source == REC_IMPORTED || m->source == REC_FROM_KDE) {
		say(l, "incomplete", m->duration_ns,
				"the recording has no end: the file is cut, or still being written (state after %s)",
				at);
		return;
	}
	char when[CLOCK_TIME_MAX];
	say(l, "incomplete", m->duration_ns,
			"still recording, state at %s, %s after the start (or the collector was killed then)",
			clock_time_text(when, m, m->written_ns), at);
}

static void say_losses(struct lines *l) {
	const struct rec_quality *q = &l->recording->quality;
	char n[HUMAN_MAX];
	// Of what came after the recording's end, nobody knows how much it was
	if (q->lost_events && !q->recording_stopped_early) {
		say(l, "lost-events", q->lost_events,
				"%s allocations or frees could not be recorded; totals are too small by them",
				human_count(n, q->lost_events));
	}
	if (q->skipped_numbers || q->abandoned_hooks) {
		uint64_t sum = q->skipped_numbers + q->abandoned_hooks;
		say(l, "abandoned", sum,
				"%s events were begun and never finished (threads killed or jumped out of in "
				"the middle of a call)",
				human_count(n, sum));
	}
	if (q->truncated_stacks) {
		say(l, "truncated-stacks", q->truncated_stacks,
				"%s stacks lack their outer callers: their sizes count, their place in the tree "
				"is the deepest that is known",
				human_count(n, q->truncated_stacks));
	}
	if (q->marks_dropped) {
		say(l, "marks-dropped", q->marks_dropped,
				"%s named moments found no room: the first are kept",
				human_count(n, q->marks_dropped));
	}
	if (q->double_allocations) {
		say(l, "missed-frees", q->double_allocations,
				"%s addresses were handed out twice: an allocator's frees are partly not seen, "
				"so \"never freed\" was corrected when the address came again",
				human_count(n, q->double_allocations));
	}
	if (q->detail_ends_ns) {
		say(l, "detail-ends", q->detail_ends_ns,
				"the disk was nearly full: from %s on there are totals, but no more detail over time",
				human_duration(n, q->detail_ends_ns));
	}
}

enum { FEW = 100 };

/** What a program had before it was attached to is nobody's leak. */
static void say_before(struct lines *l) {
	const struct rec_summary *s = &l->recording->summary;
	char a[HUMAN_MAX], b[HUMAN_MAX], c[HUMAN_MAX], d[HUMAN_MAX];
	if (s->old_blocks) {
		say(l, "before-attach", s->old_blocks,
				"allocated before the attach: %s blocks, %s; %s of them, %s, were freed since. They are "
				"in no other number here",
				human_count(a, s->old_blocks), human_bytes(b, s->old_bytes),
				human_count(c, s->old_freed_blocks), human_bytes(d, s->old_freed_bytes));
	}
	uint64_t n = l->recording->quality.unknown_frees;
	if (l->recording->meta.source == REC_ATTACHED && n) {
		say(l, "unknown-frees", n,
				"%s frees were of%s blocks from before the attach, of which "
				"nothing is known",
				human_count(a, n), s->old_blocks ? " other" : "");
	}
	// Of what ran before the first allocation was seen there are some, but never many
	if (l->recording->meta.source == REC_LAUNCHED && n > FEW && n > s->allocations / FEW) {
		say(l, "missed-allocations", n,
				"%s frees were of blocks whose allocation was not seen: an allocator's allocations are "
				"partly missing here (Nim: build with -d:useMalloc)",
				human_count(a, n));
	}
}

static struct slice file_name(struct slice path) {
	const uint8_t *slash = memrchr(path.data, '/', path.size);
	size_t n = slash ? (size_t)(slash + 1 - path.data) : 0;
	return slice_of(path.data + n, path.size - n);
}

/** Allocators that were seen and could not be hooked. */
static void say_unhooked(struct lines *l) {
	const struct recording *r = l->recording;
	const struct rec_allocator *first = NULL;
	uint64_t n = 0;
	for (uint32_t i = 0; i < r->allocators.n; i++) {
		const struct rec_allocator *a = &r->allocators.items[i];
		first = !first && a->why ? a : first;
		n += a->why ? a->n_functions : 0;
	}
	if (!first) {
		return;
	}
	char more[64] = "";
	if (n > first->n_functions) {
		(void)snprintf(more, sizeof more, " (and %" PRIu64 " more functions, see --json)",
				n - first->n_functions);
	}
	say(l, "not-hooked", n, "%.*s of %.*s %s seen but not hooked: %.*s%s. What %s is missing here",
			SLICE_ARG(r->strings.items[first->functions]),
			SLICE_ARG(file_name(r->strings.items[first->module])),
			first->n_functions == 1 ? "was" : "were", SLICE_ARG(r->strings.items[first->why]), more,
			n == 1 ? "it does" : "they do");
}

static void say_unrecorded_images(struct lines *l) {
	const struct recording *r = l->recording;
	for (uint32_t i = 0; i < r->images.n; i++) {
		const struct rec_image *m = &r->images.items[i];
		char at[HUMAN_MAX];
		if (m->is_too_narrow) {
			say(l, "unrecorded-image", m->time_ns,
					"%s after the start the program became %.*s, whose address space is too narrow for "
					"the recorder (ulimit -v): what that allocated is missing; with 100 MB more it is "
					"recorded",
					human_duration(at, m->time_ns), SLICE_ARG(r->strings.items[m->exe]));
		} else if (m->is_unrecorded) {
			say(l, "unrecorded-image", m->time_ns,
					"%s after the start the program became %.*s, which the recorder did not get into "
					"(%s): what that allocated is missing",
					human_duration(at, m->time_ns), SLICE_ARG(r->strings.items[m->exe]),
					r->allocators.n
							? "where it was put into a program, it does not follow to the next"
							: "it is static, or its environment was emptied");
		}
	}
}

/**
 * Memory outside the heap is told when it is most of the process, and not just its code: an interpreter
 * that hands out its objects itself, as Python does, has little heap.
 */
static void say_outside(struct lines *l) {
	enum { LARGE_BYTES = 64000000, OWN_BYTES = 16000000 };
	const struct recording *r = l->recording;
	const struct rec_sample *top = NULL;
	for (uint32_t i = 0; i < r->samples.n; i++) {
		const struct rec_sample *s = &r->samples.items[i];
		top = !top || s->rss_bytes - s->ours_bytes > top->rss_bytes - top->ours_bytes ? s : top;
	}
	if (!top || top->ours_bytes > top->rss_bytes) {
		return;
	}
	uint64_t rss = top->rss_bytes - top->ours_bytes;
	uint64_t heap_bytes = top->heap_bytes + r->summary.old_bytes;
	bool is_large = rss >= LARGE_BYTES || top->rss_anon_bytes >= heap_bytes + OWN_BYTES;
	if (!is_large || heap_bytes > rss / 2) {
		return;
	}
	char heap[HUMAN_MAX], all[HUMAN_MAX], rest[HUMAN_MAX];
	say(l, "outside-heap", rss - heap_bytes,
			"the heap seen here is %s of %s RSS; %s are outside malloc",
			human_bytes(heap, heap_bytes), human_bytes(all, rss),
			human_bytes(rest, rss - heap_bytes));
}

/** The share of the bytes at the peak that are named after code without a name. */
static void say_unnamed(struct lines *l) {
	const struct recording *r = l->recording;
	uint64_t unnamed = 0, all = 0, heaviest = 0;
	struct slice module = {0};
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		const struct rec_stack *s = &r->stacks.items[i];
		const struct name *name = s->peak_bytes ? names_site(l->names, s->node) : NULL;
		all += s->peak_bytes;
		if (!name || name->has_name) {
			continue;
		}
		unnamed += s->peak_bytes;
		if (s->peak_bytes > heaviest) {
			heaviest = s->peak_bytes;
			module = name->module;
		}
	}
	if (unnamed == 0 || unnamed < all / 20) {
		return;
	}
	char share[HUMAN_MAX];
	human_percent(share, unnamed, all);
	if (module.size == 0) {
		say(l, "unnamed", unnamed,
				"%s of the bytes at the peak come from generated code without "
				"names",
				share);
		return;
	}
	say(l, "unnamed", unnamed,
			"%s of the bytes at the peak come from code without names, most of it in %.*s: "
			"install its debug symbols or build it with -g",
			share, SLICE_ARG(module));
}

static void say_children(struct lines *l) {
	const struct recording *r = l->recording;
	uint64_t n = r->quality.children_forked + r->quality.children_executed;
	if (n == 0) {
		return;
	}
	const struct rec_child *largest = NULL;
	for (uint32_t i = 0; i < r->children.n; i++) {
		const struct rec_child *c = &r->children.items[i];
		largest = !largest || c->peak_rss_bytes > largest->peak_rss_bytes ? c : largest;
	}
	char count[HUMAN_MAX], size[HUMAN_MAX];
	human_count(count, n);
	if (!largest || largest->name == 0) {
		say(l, "children", n, "%s child process%s not recorded", count,
				n == 1 ? " was" : "es were");
		return;
	}
	struct slice exe = r->strings.items[largest->exe ? largest->exe : largest->name];
	say(l, "children", n,
			"%s child process%s not recorded; the largest, %.*s (pid %u%s%s), would be by: "
			"heaptrack %.*s ...",
			count, n == 1 ? " was" : "es were", SLICE_ARG(r->strings.items[largest->name]),
			largest->pid, largest->peak_rss_bytes ? ", " : "",
			largest->peak_rss_bytes ? human_bytes(size, largest->peak_rss_bytes) : "",
			SLICE_ARG(exe));
}

size_t quality_lines(const struct recording *r, const struct names *n, struct arena *arena,
		struct quality_line out[QUALITY_LINES_MAX]) {
	struct lines l = {.recording = r, .names = n, .arena = arena, .out = out};
	say_missing(&l);
	say_how_it_ended(&l);
	say_losses(&l);
	say_before(&l);
	say_unhooked(&l);
	say_unrecorded_images(&l);
	say_outside(&l);
	say_unnamed(&l);
	say_children(&l);
	return l.n;
}
