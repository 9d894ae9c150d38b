// SPDX-License-Identifier: MIT
/* What the page says besides its tables: as in --json, and what it alone asks. */
#include "engine/findings.h"
#include "web/encode/columns.h"

struct writer {
	struct json j;
	const struct columns *c;
	struct arena *arena;
};

// ---- looks at resident memory

static void put_place(struct writer *w, const struct name *name) {
	json_string(&w->j, "function", name->function);
	json_string(&w->j, "file", columns_shown_path(w->c, name->file));
	json_number(&w->j, "line", name->line);
}

/** Whoever mapped it, the last part of a file's name, or nothing. */
static void put_memory_row(struct writer *w, const struct memory_row *row) {
	JSON_OBJECT(&w->j, NULL);
	if (row->maker) {
		put_place(w, row->maker);
		json_string(&w->j, "via", row->via ? row->via->function : slice_of(NULL, 0));
	} else {
		json_string(&w->j, "name", path_base(row->name));
	}
	json_number(&w->j, "bytes", row->bytes);
	json_number(&w->j, "lazy_free_bytes", row->lazy_free);
}

static void put_rows(void *user, const struct memory_look *m, uint8_t part) {
	struct writer *w = user;
	uint32_t n;
	const struct memory_row *rows = memory_rows(m, part, w->c->r, w->c->names, w->arena, &n);
	for (uint32_t i = 0; i < n; i++) {
		put_memory_row(w, &rows[i]);
	}
}

/** Of live blocks: the function they are named after, if they have a stack. */
static void put_site(void *user, uint32_t node) {
	struct writer *w = user;
	const struct name *site = names_site(w->c->names, node);
	if (site) {
		put_place(w, site);
	}
}

#define ITEM(j, _, value) json_number(j, NULL, value)

/** For a lens under which another look than the shown one is asked. */
static void put_stacks(struct writer *w, const struct memory_look *m) {
	JSON_LIST(&w->j, "stacks");
	EACH_OF(u, m->untouched, m->n_untouched) {
		FOR_FIELDS(ITEM, &w->j, _, w->c->stacks.of[u->stack], u->resident_bytes,
				u->asked_bytes - u->resident_bytes, u->blocks);
	}
	EACH_OF_THAT(p, m->rows, m->n_rows, p->part == REC_PART_MAPPED && p->mapping > 0) {
		FOR_FIELDS(ITEM, &w->j, _, w->c->stacks.mapping[p->mapping - 1], p->resident_bytes, 0, 0);
	}
}

/** A look as in --json, but for whose its parts are, and what only the page asks of it. */
static void put_look(struct writer *w, uint32_t look) {
	const struct looks_writer looks = {&w->j, w->c->r, put_site, w, put_rows};
	const struct memory_look m = memory_look(w->c->r, look);
	JSON_OBJECT(&w->j, NULL);
	look_put_json(&looks, &m);
	json_number(&w->j, "asked_bytes", m.asked_bytes);
	SCOPED(buffer) group = {0};
	if (m.group) {
		memory_put_group(&group, m.group);
	}
	json_string(&w->j, "limit_used", buffer_view(&group));
	put_stacks(w, &m);
}

// ---- all of it

/** What the page knows of metrics: all that it shows of them, and how they count. */
static void put_metrics(struct json *j) {
	JSON_LIST(j, "metrics");
	for (enum lens_metric i = 0; i < N_LENS_METRICS; i++) {
		const struct metric *m = &lens_metrics[i];
		JSON_OBJECT(j, NULL);
		json_text(j, "name", lens_metric_names[i]);
		JSON_TEXTS(j, m, title, share, unit, help);
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

/** What the page asks beyond --json: how to read the file, and what this page leaves out of it. */
static void put_page(struct writer *w, const struct findings *findings) {
	const struct recording *r = w->c->r;
	struct json *j = &w->j;
	JSON_OBJECT(j, "page");
	json_text(j, "heaptrack_version", HEAPTRACK_VERSION);
	JSON_FIELDS(j, &r->meta, ended, source, time_unit);
	JSON_FIELDS(j, &r->summary, peak_rss_time_ns, left_bytes, left_blocks);
	JSON_FIELDS(j, findings, noise_bytes, noise_blocks);
	json_number(j, "merged_stacks", w->c->stacks.n_merged);
	json_number(j, "merged_below_bytes", w->c->options->least_bytes);
	json_bool(j, "redacted", w->c->options->is_redacted);
	JSON_OBJECT(j, "parts");
	EACH_OF(part, memory_part_texts, REC_PARTS) {
		json_text(j, part->id, part->words);
	}
}

/** One JSON object. */
void columns_facts(struct columns *c, struct buffer *out) {
	SCOPED(arena) arena = {0};
	struct writer w = {json_init(out), c, &arena};
	const struct facts facts = {&w.j, c->r, c->names, &arena, 0, c->options->is_redacted};
	const struct findings findings = findings_make(c->r, c->names, &arena);
	json_open(&w.j, NULL, '{');
	facts_put_first(&facts, &findings);
	json_open(&w.j, "looks", '[');
	for (uint32_t i = 0; i < c->r->looks.n; i++) {
		put_look(&w, i);
	}
	json_close(&w.j);
	const struct looks_writer looks = {&w.j, c->r, put_site, &w, NULL};
	json_open(&w.j, "leaks", '{');
	leaks_put_json(&looks);
	json_close(&w.j);
	facts_put_last(&facts);
	put_metrics(&w.j);
	put_page(&w, &findings);
	json_close(&w.j);
}
