// SPDX-License-Identifier: MIT
/* Program, totals, findings and metrics as one JSON object. */
#include "engine/findings.h"
#include "engine/memory.h"
#include "engine/metrics.h"
#include "web/encode/columns.h"

struct facts {
	struct json j;
	const struct recording *r;
	const struct page_stacks *stacks;
	const struct names *names;
	struct arena *arena;
	bool is_redacted;
};

static void put_path(struct facts *f, const char *key, uint32_t string) {
	struct slice path = f->r->strings.items[string];
	json_string(&f->j, key, f->is_redacted ? path_base(path) : path);
}

static void put_program(struct facts *f) {
	const struct rec_meta *m = &f->r->meta;
	struct json *j = &f->j;
	JSON_OBJECT(j, "program");
	json_string(j, "name", path_base(f->r->strings.items[m->exe]));
	put_path(f, "executable", m->exe);
	json_open(j, "command", '[');
	for (uint32_t i = 0; i < m->n_argv && !f->is_redacted; i++) {
		json_string(j, NULL, f->r->strings.items[m->argv_first + i]);
	}
	json_close(j);
	json_string(j, "host", f->is_redacted ? (struct slice){0} : f->r->strings.items[m->host]);
	JSON_FIELDS(j, m, pid, ended, time_unit);
	json_signed(j, "exit_status", m->exit_status);
	json_number(j, "source", m->source);
	json_number(j, "started_ns", m->wall_start_ns);
	json_bool(j, "complete", m->is_complete && !f->r->quality.recording_stopped_early);
	json_number(j, "memory_limit_bytes", m->memory_limit_bytes);
}

static void put_summary(struct facts *f) {
	const struct rec_summary *s = &f->r->summary;
	struct json *j = &f->j;
	JSON_OBJECT(j, "summary");
	json_number(j, "duration_ns", f->r->meta.duration_ns);
	JSON_FIELDS(j, s, allocations, failed, allocated_bytes, frees);
	json_number(j, "reallocations", s->reallocs);
	JSON_FIELDS(j, s, temporary, short_lived, peak_bytes, peak_blocks, peak_time_ns);
	json_number(j, "never_freed_blocks", s->live_blocks);
	json_number(j, "never_freed_bytes", s->live_bytes);
	JSON_FIELDS(j, s, peak_rss_bytes, peak_rss_time_ns);
}

static void put_children(struct facts *f) {
	JSON_LIST(&f->j, "children");
	EACH(c, f->r->children) {
		JSON_OBJECT(&f->j, NULL);
		json_number(&f->j, "pid", c->pid);
		json_string(&f->j, "name", f->r->strings.items[c->name]);
		json_number(&f->j, "peak_rss_bytes", c->peak_rss_bytes);
	}
}

static bool put_findings(struct facts *f, struct err *err) {
	struct findings findings;
	struct json *j = &f->j;
	if (!findings_make(&findings, f->r, f->names, f->arena, err)) {
		return false;
	}
	JSON_FIELDS(j, &findings, noise_bytes, noise_blocks);
	JSON_LIST(j, "findings");
	EACH(one, findings) {
		JSON_OBJECT(j, NULL);
		finding_put_json(j, one);
		json_text(j, "place", one->place);
		json_number(j, "severity", one->severity);
		json_bool(j, "is_quality", one->is_quality);
	}
	return true;
}

// ---- looks at resident memory

static void put_place(struct facts *f, const struct name *name) {
	json_string(&f->j, "function", name->function);
	json_string(&f->j, "file", f->is_redacted ? path_base(name->file) : name->file);
	json_number(&f->j, "line", name->line);
}

/** Whoever mapped it, the last part of a file's name, or nothing. */
static void put_memory_row(struct facts *f, const struct memory_row *row) {
	JSON_OBJECT(&f->j, NULL);
	if (row->maker) {
		put_place(f, row->maker);
		json_string(&f->j, "via", row->via ? row->via->function : slice_of(NULL, 0));
	} else {
		json_string(&f->j, "name", path_base(row->name));
	}
	json_number(&f->j, "bytes", row->bytes);
	json_number(&f->j, "lazy_free_bytes", row->lazy_free);
}

static bool put_part(struct facts *f, const struct memory_look *m, uint8_t part) {
	uint32_t n;
	const struct memory_row *rows = memory_rows(m, part, f->r, f->names, f->arena, &n);
	JSON_OBJECT(&f->j, NULL);
	json_text(&f->j, "id", memory_part_texts[part].id);
	json_text(&f->j, "words", memory_part_texts[part].words);
	json_number(&f->j, "bytes", m->bytes[part]);
	json_number(&f->j, "lazy_free_bytes", m->lazy_free[part]);
	JSON_LIST(&f->j, "rows");
	for (uint32_t i = 0; rows && i < n; i++) {
		put_memory_row(f, &rows[i]);
	}
	return rows;
}

static void put_untouched(struct facts *f, const struct rec_untouched *u) {
	const struct name *site = names_site(f->names, f->r->stacks.items[u->stack].node);
	if (site && memory_is_absent(u)) {
		JSON_OBJECT(&f->j, NULL);
		put_place(f, site);
		JSON_FIELDS(&f->j, u, blocks, asked_bytes, resident_bytes);
	}
}

#define ITEM(j, _, value) json_number(j, NULL, value)

/** For a lens under which another look than the shown one is asked. */
static void put_stacks(struct facts *f, const struct memory_look *m) {
	JSON_LIST(&f->j, "stacks");
	EACH_OF(u, m->untouched, m->n_untouched) {
		FOR_FIELDS(ITEM, &f->j, _, f->stacks->of[u->stack], u->resident_bytes,
				u->asked_bytes - u->resident_bytes, u->blocks);
	}
	EACH_OF(p, m->rows, m->n_rows) {
		if (p->part == REC_PART_MAPPED && p->mapping > 0) {
			FOR_FIELDS(ITEM, &f->j, _, f->stacks->mapping[p->mapping - 1], p->resident_bytes, 0, 0);
		}
	}
}

static bool put_look(struct facts *f, uint32_t look) {
	const struct memory_look m = memory_look(f->r, look);
	struct json *j = &f->j;
	bool ok = true;
	JSON_OBJECT(j, NULL);
	json_text(j, "at", memory_at_ids[m.look->at]);
	JSON_FIELDS(j, m.look, time_ns, rss_bytes, swap_bytes, changed_bytes);
	json_number(j, "asked_bytes", m.asked_bytes);
	json_bool(j, "has_pages", m.look->has & REC_HAS_PAGES);
	SCOPED(buffer) group = {0};
	if (m.group) {
		memory_put_group(&group, m.group);
	}
	json_string(j, "control_group", buffer_view(&group));
	json_open(j, "parts", '[');
	ok = ok && ALL(i, REC_PARTS, m.bytes[i] == 0 || put_part(f, &m, (uint8_t)i));
	json_close(j);
	memory_put_arenas_json(j, &m, f->r);
	put_stacks(f, &m);
	JSON_LIST(j, "untouched");
	for (uint32_t i = 0; i < m.n_notable; i++) {
		put_untouched(f, &m.untouched[i]);
	}
	return ok;
}

static bool put_looks(struct facts *f, struct err *err) {
	JSON_LIST(&f->j, "looks");
	return ALL(i, f->r->looks.n, put_look(f, i) || err_memory(err));
}

// ---- all of it

/** What the page knows of metrics: all that it shows of them, and how they count. */
static void put_metrics(struct json *j) {
	JSON_LIST(j, "metrics");
	for (enum lens_metric i = 0; i < N_LENS_METRICS; i++) {
		const struct metric *m = &lens_metrics[i];
		JSON_OBJECT(j, NULL);
		json_text(j, "name", lens_metric_names[i]);
		json_text(j, "title", m->title);
		json_text(j, "share", m->share);
		json_text(j, "unit", m->unit);
		json_text(j, "help", m->help);
		json_text(j, "heading", m->page.heading);
		json_string(j, "key", slice_of(&m->page.key, m->page.key ? 1 : 0));
		json_bool(j, "counted", m->is_counted);
		json_bool(j, "of_ranges", m->page.is_of_ranges);
		json_bool(j, "of_blocks", m->of == METRIC_OF_BLOCKS);
		json_text(j, "rule", metric_rule_texts[m->rule].name);
		json_text(j, "bytes", m->bytes.name);
		json_text(j, "blocks", m->blocks.name);
		json_number(j, "place", m->page.table ? m->report.place : 0);
		json_text(j, "table", m->page.table);
	}
}

/** What this page leaves out of the recording. */
static void put_page(struct facts *f, const struct blob_options *options, uint32_t n_merged) {
	JSON_OBJECT(&f->j, "page");
	json_text(&f->j, "heaptrack_version", HEAPTRACK_VERSION);
	json_number(&f->j, "merged_stacks", n_merged);
	json_number(&f->j, "merged_below_bytes", options->least_bytes);
	json_bool(&f->j, "redacted", options->is_redacted);
}

bool facts_write(struct buffer *out, const struct columns *c, struct err *err) {
	const struct recording *r = c->r;
	SCOPED(arena) arena = {0};
	struct facts f = {json_init(out), r, &c->stacks, c->names, &arena, c->options->is_redacted};
	json_open(&f.j, NULL, '{');
	put_program(&f);
	put_summary(&f);
	json_text(&f.j, "verdict", QUALITY_VERDICT(r));
	quality_put_json(&f.j, "quality", r, c->names, &arena);
	bool ok = put_findings(&f, err) && put_looks(&f, err);
	put_children(&f);
	marks_put_json(&f.j, r);
	allocators_put_json(&f.j, r, !f.is_redacted);
	put_metrics(&f.j);
	put_page(&f, c->options, c->stacks.n_merged);
	json_close(&f.j);
	return ok && (!out->failed || err_memory(err));
}
