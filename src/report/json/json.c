// SPDX-License-Identifier: MIT
/* All of a recording, for programs. */
#include "report/report.h"

struct document {
	struct json j;
	const struct recording *r;
	const struct names *names;
	const struct report_options *options;
	struct arena *arena;
	struct slice *written; // per location: its frames as JSON; empty: not yet made
	uint64_t *untouched;   // per node: bytes of its live blocks that were not in memory
	bool is_broken;        // output could not be handed on
	struct err *err;
};

/** A location's frames as JSON items, made once and copied: stacks share locations. */
static struct slice frames_of(struct document *d, uint32_t location) {
	struct slice *written = &d->written[location];
	if (written->size == 0) {
		SCOPED(buffer) text = {0};
		struct json j = json_init(&text);
		const struct name_list frames = names_of(d->names, location);
		EACH(f, frames) {
			if (f > frames.items) {
				buffer_u8(&text, ',');
			}
			JSON_OBJECT(&j, NULL);
			name_put_json(&j, f, &d->r->locations.items[location]);
		}
		*written = slice_of(arena_text(d->arena, buffer_view(&text)), text.size);
	}
	return *written;
}

static void put_stack(void *user, uint32_t node) {
	struct document *d = user;
	JSON_LIST(&d->j, "stack");
	for (; node != 0; node = d->r->nodes.items[node].parent) {
		json_raw(&d->j, frames_of(d, d->r->nodes.items[node].location));
	}
}

enum { DRAIN_BYTES = 1 << 20 };

bool report_end_item(struct json *j, const struct report_options *options, struct err *err) {
	json_close(j);
	return !options->drain || j->out->size < DRAIN_BYTES ||
			options->drain(options->user, j->out, err);
}

static void end_item(struct document *d) {
	d->is_broken |= !report_end_item(&d->j, d->options, d->err);
}

static uint32_t limited(const struct document *d, uint64_t n) {
	uint32_t limit = d->options->limit ? d->options->limit : UINT32_MAX;
	return n < limit ? (uint32_t)n : limit;
}

/** What a stack costs by a metric, or what a rule suppresses of it. */
static void put_item(struct document *d, uint64_t bytes, uint64_t blocks, uint32_t number,
		const struct rec_stack *s, bool is_suppressed) {
	const uint32_t missing = d->r->missing;
	json_open(&d->j, NULL, '{');
	json_number(&d->j, "bytes", bytes);
	json_number_if(&d->j, "blocks", !(missing & number), blocks);
	json_number_if(&d->j, "allocations", !(missing & REC_ALLOCATIONS), s->allocations);
	json_number_if(&d->j, "temporary", !(missing & REC_TEMPORARY), s->temporary);
	if (is_suppressed) {
		json_bool(&d->j, "suppressed", true);
	} else if (d->untouched[s->node] > 0) {
		json_number(&d->j, "untouched_bytes", d->untouched[s->node]);
	}
	put_stack(d, s->node);
	end_item(d);
}

static void put_sites(struct document *d, enum lens_metric metric) {
	char key[METRIC_KEY_MAX];
	uint32_t n_all;
	FREED struct rank *ranks = rank_stacks(d->r, metric, &n_all);
	uint32_t n = limited(d, n_all);
	uint32_t n_suppressed = lens_metrics[metric].rule == METRIC_NEVER_FREED
			? limited(d, n_all + (uint64_t)d->r->suppressed.n) - n
			: 0;
	JSON_LIST(&d->j, metric_json_key(key, metric));
	EACH_OF_WHILE(rank, ranks, n, !d->is_broken) {
		const struct rec_stack *s = &d->r->stacks.items[rank->index];
		struct lens_costs c = lens_stack_costs(metric, s);
		put_item(d, c.bytes, c.blocks, lens_metrics[metric].blocks.number, s, false);
	}
	// After the others that were never freed: together they add up to the summary's number
	EACH_OF_WHILE(v, d->r->suppressed.items, n_suppressed, !d->is_broken) {
		put_item(d, v->bytes, v->blocks, REC_LIVE_BLOCKS, &d->r->stacks.items[v->stack], true);
	}
}

ORDER_OF(compare_mappings, struct rec_mapping *const,
		compare_u64((*b)->peak_bytes, (*a)->peak_bytes) ?: compare_u64((*a)->node, (*b)->node));

/** Stacks that mapped memory, by what they had mapped at the peak of all. */
static void put_mappings(struct document *d) {
	const struct recording *r = d->r;
	const struct rec_mapping **sorted = arena_new(d->arena, const struct rec_mapping *,
			r->mappings.n + 1ul);
	for (uint32_t i = 0; i < r->mappings.n; i++) {
		sorted[i] = &r->mappings.items[i];
	}
	qsort(sorted, r->mappings.n, sizeof *sorted, compare_mappings);
	JSON_LIST(&d->j, "mappings");
	for (uint32_t i = 0; i < limited(d, r->mappings.n) && !d->is_broken; i++) {
		const struct rec_mapping *m = sorted[i];
		json_open(&d->j, NULL, '{');
		JSON_FIELDS(&d->j, m, maps, mapped_bytes, peak_bytes);
		json_number(&d->j, "never_unmapped", m->live_maps);
		json_number(&d->j, "never_unmapped_bytes", m->live_bytes);
		json_bool(&d->j, "by_allocator", m->is_inside);
		put_stack(d, m->node);
		end_item(d);
	}
}

/** What stacks did to mappings, theirs or others', besides unmapping. */
static void put_changes(struct document *d) {
	JSON_LIST(&d->j, "changes");
	EACH_OF(c, d->r->changes.items, limited(d, d->r->changes.n)) {
		JSON_OBJECT(&d->j, NULL);
		json_text(&d->j, "what", memory_change_texts[c->what].id);
		JSON_FIELDS(&d->j, c, calls, bytes, first_ns, last_ns);
		json_bool(&d->j, "by_allocator", c->is_inside);
		put_stack(d, c->node);
	}
}

/** `r` has the stacks that looks name. */
static void put_memory(struct document *d, const struct recording *r) {
	const struct rec_summary *s = &r->summary;
	const struct looks_writer looks = {&d->j, r, put_stack, d, NULL};
	const bool has_mappings = r->mapping_edges.n > 0;
	if (!has_mappings && r->looks.n == 0) {
		json_null(&d->j, "memory");
		return;
	}
	JSON_OBJECT(&d->j, "memory");
	json_number_if(&d->j, "mapped_peak_bytes", has_mappings, s->mapped_peak_bytes);
	json_number_if(&d->j, "mapped_peak_time_ns", has_mappings, s->mapped_peak_time_ns);
	json_number_if(&d->j, "never_unmapped_bytes", has_mappings, s->never_unmapped_bytes);
	put_mappings(d);
	put_changes(d);
	JSON_LIST(&d->j, "looks");
	for (uint32_t i = 0; i < r->looks.n && !d->is_broken; i++) {
		const struct memory_look m = memory_look(r, i);
		json_open(&d->j, NULL, '{');
		look_put_json(&looks, &m);
		end_item(d);
	}
}

static void put_graded_sites(struct document *d, const struct recording *r,
		const struct memory_grades *g) {
	JSON_LIST(&d->j, "sites");
	EACH_OF_THAT(row, g->rows, g->n_rows, row->grade != REC_HELD) {
		JSON_OBJECT(&d->j, NULL);
		json_text(&d->j, "grade", lens_grade_names[row->grade]);
		JSON_FIELDS(&d->j, row, blocks, bytes, owned_blocks, owned_bytes);
		if (row->class) {
			json_string(&d->j, "class", r->strings.items[r->classes.items[row->class - 1].name]);
		}
		put_stack(d, r->stacks.items[row->stack].node);
	}
}

/** What points to live blocks, sites as of the newest look that asked, and types. `r`: by stack. */
static void put_leaks(struct document *d, const struct recording *r) {
	const struct memory_grades g = memory_grades(r, UINT64_MAX);
	const struct looks_writer looks = {&d->j, d->r, put_stack, d, NULL};
	JSON_OBJECT(&d->j, "leaks");
	leaks_put_json(&looks);
	put_graded_sites(d, r, &g);
}

static void put_timeline(struct document *d) {
	const struct recording *r = d->r;
	JSON_LIST(&d->j, "timeline");
	EACH_OF(e, r->curve.n ? r->curve.items : r->edges.items, r->curve.n ?: r->edges.n) {
		JSON_OBJECT(&d->j, NULL);
		JSON_FIELDS(&d->j, e, time_ns, bytes, blocks, min_bytes, allocations, temporary);
	}
}

bool report_json(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, struct err *err) {
	SCOPED(arena) arena = {0};
	struct document d = {json_init(out), r, n, options, &arena,
			arena_new(&arena, struct slice, r->locations.n),
			arena_new(&arena, uint64_t, r->nodes.n), false, err};
	struct recording by_node;
	const struct facts facts = {&d.j, r, n, &arena, r->missing, false};
	const struct findings findings = findings_make(r, n, &arena);
	const struct memory_look m = memory_at_peak(r); // the same look as in the report
	EACH_OF(u, m.untouched, m.n_untouched) {
		d.untouched[r->stacks.items[u->stack].node] += u->asked_bytes - u->resident_bytes;
	}
	json_open(&d.j, NULL, '{');
	document_put_version(&d.j);
	facts_put_first(&facts, &findings);
	json_open(&d.j, "sites", '{');
	recording_by_node(r, &arena, &by_node);
	d.r = &by_node;
	enum lens_metric metrics[N_LENS_METRICS];
	const size_t n_metrics = metrics_of_report(metrics);
	for (size_t i = 0; i < n_metrics; i++) {
		put_sites(&d, metrics[i]);
	}
	json_close(&d.j);
	put_memory(&d, r);
	put_leaks(&d, r);
	put_timeline(&d);
	facts_put_last(&facts);
	json_close(&d.j);
	buffer_u8(out, '\n');
	return !d.is_broken;
}
