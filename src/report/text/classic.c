// SPDX-License-Identifier: MIT
/*
 * The layout of KDE's heaptrack_print, which scripts and people know: sections of entries, the six
 * lines, and the table of suppressions, in its wording and number format. An entry is an innermost
 * frame (C++ allocation functions skipped) with the backtraces that lead to it.
 */
#include "report/text/page.h"

enum what { CALLS, PEAK, LEAKED, TEMPORARY };

struct entry {
	uint32_t first, n; // its stacks, in `order`
	struct rec_stack sum;
};

struct classic {
	struct buffer *out;
	const struct recording *r;
	const struct names *names;
	const struct classic_options *options;
	struct arena arena;
	struct entry *entries;
	uint32_t n_entries;
	uint32_t *order; // stacks, entry by entry
	uint32_t *leaf;  // per stack: its node behind the skipped frames
	enum what what;  // the section being written
};

static uint64_t of_stack(const struct classic *c, const struct rec_stack *s) {
	return c->what == CALLS     ? s->allocations
			: c->what == PEAK   ? s->peak_bytes
			: c->what == LEAKED ? s->live_bytes
								: s->temporary;
}

static struct name_list frames_of(const struct classic *c, uint32_t node) {
	return names_of(c->names, c->r->nodes.items[node].location);
}

static uint32_t skip_operator_new(const struct classic *c, uint32_t node) {
	static const char plain[] =
			"|operator new(unsigned long)|operator new[](unsigned long)|operator new(unsigned int)"
			"|operator new[](unsigned int)";
	while (node && is_any(frames_of(c, node).items->function, plain)) {
		node = c->r->nodes.items[node].parent;
	}
	return node;
}

/** Bare addresses distinguish nothing: all unnamed functions of a module are one. */
static struct slice known_function(const struct name *f) {
	return f->has_name ? f->function : (struct slice){0};
}

/** Compares what the merged view does: module, function, file, line of the innermost frame. */
static int compare_leaves(const struct classic *c, uint32_t s, uint32_t t) {
	const struct name *x = frames_of(c, c->leaf[s]).items, *y = frames_of(c, c->leaf[t]).items;
	return slice_compare(known_function(x), known_function(y))
			?: slice_compare(x->file, y->file)
			?: slice_compare(x->module, y->module) ?: compare_u64(x->line, y->line);
}

ORDER_BY(by_leaf, uint32_t, compare_leaves(user, *a, *b) ?: compare_u64(*a, *b));

static void gather(struct classic *c) {
	uint32_t n = c->r->stacks.n;
	c->entries = arena_new(&c->arena, struct entry, n);
	c->order = arena_new(&c->arena, uint32_t, n);
	c->leaf = arena_new(&c->arena, uint32_t, n);
	for (uint32_t i = 0; i < n; i++) {
		c->order[i] = i;
		c->leaf[i] = skip_operator_new(c, c->r->stacks.items[i].node);
	}
	if (c->options->merge_backtraces) {
		qsort_r(c->order, n, sizeof *c->order, by_leaf, c);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct rec_stack *s = &c->r->stacks.items[c->order[i]];
		bool is_new = i == 0 || !c->options->merge_backtraces ||
				compare_leaves(c, c->order[i - 1], c->order[i]) != 0;
		if (is_new) {
			c->entries[c->n_entries++] = (struct entry){.first = i};
		}
		struct entry *e = &c->entries[c->n_entries - 1];
		e->n++;
		rec_stack_add(&e->sum, s);
	}
}

/** The function's name, or if unknown, the address of the call. */
static void put_function(struct classic *c, uint32_t node, const struct name *f) {
	const struct rec_location *l = &c->r->locations.items[c->r->nodes.items[node].location];
	if (!f->has_name && !l->is_mark) {
		buffer_printf(c->out, "0x%" PRIx64, l->pc - (!l->is_exact && l->pc > 0));
		return;
	}
	const bool is_short = c->options->shorten_templates;
	buffer_text(c->out,
			is_short ? template_short(f->function, &c->arena) : arena_text(&c->arena, f->function));
}

/** The module, also of functions of scripts, which no loaded file contains: [python]. */
static struct slice module_of(const struct classic *c, uint32_t node, const struct name *f) {
	const uint32_t id = c->r->locations.items[c->r->nodes.items[node].location].module;
	const bool is_virtual = id != 0 && c->r->modules.items[id].kind != 0;
	struct slice module = is_virtual ? c->r->strings.items[c->r->modules.items[id].path]
									 : f->module;
	return module.size ? module : slice_of_text("??");
}

/** One node: its innermost frame with the module, then what that was inlined into. */
static void put_node(struct classic *c, uint32_t node, int indent) {
	const struct name_list frames = frames_of(c, node);
	EACH(f, frames) {
		buffer_printf(c->out, "%*s", indent, "");
		put_function(c, node, f);
		if (f->file.size) {
			buffer_printf(c->out, "\n%*s  at %.*s:%" PRIu32, indent, "", SLICE_ARG(f->file),
					f->line);
		}
		if (f == frames.items) {
			buffer_printf(c->out, "\n%*s  in %.*s", indent, "", SLICE_ARG(module_of(c, node, f)));
		}
		buffer_u8(c->out, '\n');
	}
}

static bool is_stop_node(const struct classic *c, uint32_t node) {
	static const char stops[] = "|main|__libc_start_main|__static_initialization_and_destruction_0";
	return is_any(frames_of(c, node).items->function, stops);
}

/** From a node that is no operator new, outwards. */
static void put_backtrace(struct classic *c, uint32_t node, int indent) {
	while (node && c->r->nodes.items[node].location) {
		put_node(c, node, indent);
		node = is_stop_node(c, node) ? 0 : skip_operator_new(c, c->r->nodes.items[node].parent);
	}
}

static void put_line(struct classic *c, const struct rec_stack *s, bool is_entry) {
	const char *end = is_entry ? "from\n" : "from:\n";
	if (c->what == CALLS) {
		buffer_printf(c->out, "%" PRIu64 " calls%s with %s peak consumption %s", s->allocations,
				is_entry ? " to allocation functions" : "", HUMAN_CLASSIC(s->peak_bytes), end);
	} else if (c->what == TEMPORARY) {
		buffer_printf(c->out,
				"%" PRIu64 " temporary allocations of %" PRIu64 " allocations in total (%.2f%%) %s",
				s->temporary, s->allocations,
				s->allocations ? 100.0 * (double)s->temporary / (double)s->allocations : 0, end);
	} else {
		const char *is_what = c->what == LEAKED ? "leaked"
				: is_entry                      ? "peak memory consumed"
												: "consumed";
		buffer_printf(c->out, "%s %s over %" PRIu64 " calls %s", HUMAN_CLASSIC(of_stack(c, s)),
				is_what, s->allocations, end);
	}
}

static uint64_t of_nth(const struct classic *c, uint32_t stack) {
	return of_stack(c, &c->r->stacks.items[stack]);
}

ORDER_BY(most_first, uint32_t,
		compare_u64(of_nth(user, *b), of_nth(user, *a)) ?: compare_u64(*a, *b));

ORDER_BY(largest_first, struct entry,
		compare_u64(of_stack(user, &b->sum), of_stack(user, &a->sum)) ?: LOWEST(first));

static void put_rest(struct classic *c, const struct entry *e, uint32_t shown) {
	const uint32_t *stacks = &c->order[e->first + shown];
	uint64_t rest = SUM(i, e->n - shown, of_nth(c, stacks[i]));
	bool is_number = c->what == CALLS || c->what == TEMPORARY;
	buffer_printf(c->out, "  and %s from %" PRIu32 " other places\n",
			is_number ? FORMAT(32, "%" PRIu64, rest) : HUMAN_CLASSIC(rest),
			e->n - c->options->sub_peak_limit);
}

static void put_entry(struct classic *c, const struct entry *e) {
	put_line(c, &e->sum, true);
	uint32_t *stacks = &c->order[e->first];
	if (!c->options->merge_backtraces) {
		put_backtrace(c, c->leaf[stacks[0]], 2);
		buffer_text(c->out, c->r->stacks.items[stacks[0]].node ? "\n" : "  ??\n");
		return;
	}
	qsort_r(stacks, e->n, sizeof *stacks, most_first, c);
	if (!c->leaf[stacks[0]]) {
		buffer_text(c->out, "0x0\n  in ??\n");
		return;
	}
	put_node(c, c->leaf[stacks[0]], 0);
	uint32_t shown = 0;
	const uint32_t most = c->options->sub_peak_limit;
	for (; shown < e->n && shown < most && of_nth(c, stacks[shown]) > 0; shown++) {
		put_line(c, &c->r->stacks.items[stacks[shown]], false);
		uint32_t leaf = c->leaf[stacks[shown]];
		if (!is_stop_node(c, leaf)) {
			put_backtrace(c, skip_operator_new(c, c->r->nodes.items[leaf].parent), 4);
		}
	}
	if (e->n > most) {
		put_rest(c, e, shown);
	}
	buffer_u8(c->out, '\n');
}

static void put_section(struct classic *c, enum what what, bool is_asked, const char *title) {
	if (!is_asked) {
		return;
	}
	buffer_printf(c->out, "%s\n", title);
	c->what = what;
	qsort_r(c->entries, c->n_entries, sizeof *c->entries, largest_first, c);
	const uint64_t limit = c->options->peak_limit, n = limit < c->n_entries ? limit : c->n_entries;
	EACH_OF_THAT(e, c->entries, n, of_stack(c, &e->sum) > 0) {
		put_entry(c, e);
	}
	buffer_text(c->out, c->options->merge_backtraces ? "\n" : "\n\n");
}

static void put_command(struct classic *c) {
	const struct rec_meta *m = &c->r->meta;
	if (m->n_argv == 0) {
		return;
	}
	buffer_text(c->out, "Debuggee command was:");
	for (uint32_t i = 0; i < m->n_argv; i++) {
		buffer_printf(c->out, " %.*s", SLICE_ARG(c->r->strings.items[m->argv_first + i]));
	}
	buffer_u8(c->out, '\n');
}

void report_classic(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, const struct classic_options *classic) {
	struct classic c = {.out = out, .r = r, .names = n, .options = classic};
	buffer_printf(out, "reading file \"%s\" - please wait, this might take some time...\n",
			options->file ? options->file : "");
	put_command(&c);
	buffer_text(out, "finished reading file, now analyzing data:\n\n");
	struct recording by_node;
	recording_by_node(r, &c.arena, &by_node);
	c.r = &by_node;
	gather(&c);
	put_section(&c, CALLS, classic->allocators, "MOST CALLS TO ALLOCATION FUNCTIONS");
	put_section(&c, PEAK, classic->peaks, "PEAK MEMORY CONSUMERS");
	put_section(&c, LEAKED, classic->leaks, "MEMORY LEAKS");
	put_section(&c, TEMPORARY, classic->temporary, "MOST TEMPORARY ALLOCATIONS");
	report_six_lines(out, r);
	arena_finish(&c.arena);
}

// ---- the six lines

/** What a file of another program does not say gets no line: a script must not take it for zero. */
void report_six_lines(struct buffer *out, const struct recording *r) {
	const struct rec_summary *s = &r->summary;
	if (!(r->missing & REC_TIME)) {
		buffer_printf(out, "total runtime: %.2fs.\n", (double)r->meta.duration_ns / 1e9);
	}
	if (!(r->missing & REC_ALLOCATIONS)) {
		buffer_printf(out, "calls to allocation functions: %" PRIu64 " (%" PRIu64 "/s)\n",
				s->allocations, page_per_second(r, s->allocations));
	}
	if (!(r->missing & REC_TEMPORARY)) {
		buffer_printf(out, "temporary memory allocations: %" PRIu64 " (%" PRIu64 "/s)\n",
				s->temporary, page_per_second(r, s->temporary));
	}
	if (!(r->missing & REC_PEAK_BYTES)) {
		buffer_printf(out, "peak heap memory consumption: %s\n", HUMAN_CLASSIC(s->peak_bytes));
	}
	const bool is_tree = recording_is_tree(r);
	if (is_tree ? s->peak_rss_bytes > 0 : r->meta.source != REC_IMPORTED) {
		buffer_printf(out, "peak RSS (including heaptrack overhead): %s\n",
				HUMAN_CLASSIC(s->peak_rss_bytes));
	}
	if (!(r->missing & REC_LIVE_BYTES)) {
		buffer_printf(out, "total memory leaked: %s\n", HUMAN_CLASSIC(s->live_bytes));
	}
	if (is_tree) {
		const struct rec_sample *pss = recording_most_pss(r);
		buffer_printf(out, "of %" PRIu32 " processes: sums; %s%s%s\n", r->processes.n - 1,
				s->peak_rss_bytes ? "RSS counts shared pages once per process"
								  : "their RSS is not known",
				pss ? "; PSS, which divides them: " : "", pss ? HUMAN_CLASSIC(pss->pss_bytes) : "");
	}
	if (s->suppressed_bytes) {
		buffer_printf(out, "suppressed leaks: %s\n", HUMAN_CLASSIC(s->suppressed_bytes));
	}
}

// ---- suppressions

void report_suppressions(struct buffer *out, const struct suppressions *s) {
	buffer_text(out, "Suppressions used:\n");
	buffer_printf(out, "%16s %16s %s\n", "matches", "leaked", "pattern");
	EACH_THAT(rule, s->rules, rule->n_stacks) {
		const char *unit = rule->bytes > 1000 ? "B" : ""; // KDE's table has "8.67KB" and "0B"
		buffer_printf(out, "%16" PRIu64 " %16s %.*s\n", rule->n_stacks,
				FORMAT(32, "%s%s", HUMAN_CLASSIC(rule->bytes), unit), SLICE_ARG(rule->pattern));
	}
}
