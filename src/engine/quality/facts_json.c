// SPDX-License-Identifier: MIT
/* Writes as JSON what a recording says besides its costs. */
#include "engine/findings.h"

void document_put_version(struct json *j) {
	json_number(j, "version", 1);
	json_number(j, "schema", DOCUMENT_SCHEMA);
}

void name_put_json(struct json *j, const struct name *f, const struct rec_location *at) {
	json_string(j, "function", f->function);
	json_string_if(j, "symbol", f->symbol);
	json_string_if(j, "file", f->file);
	json_number_if(j, "line", f->line, f->line);
	json_string_if(j, "module", f->module);
	if (at) {
		json_text(j, "address", FORMAT(24, "0x%" PRIx64, at->pc));
		json_bool(j, "inlined", f->is_inlined);
	}
	json_text(j, "owner",
			f->owner == OWNER_YOURS             ? "yours"
					: f->owner == OWNER_LIBRARY ? "library"
												: NULL);
}

void marks_put_json(struct json *j, const struct recording *r) {
	JSON_LIST(j, "marks");
	EACH(m, r->marks) {
		JSON_OBJECT(j, NULL);
		json_string(j, "name", r->strings.items[m->name]);
		json_number(j, "time_ns", m->time_ns);
	}
}

static struct slice shown_path(const struct facts *f, uint32_t string) {
	const struct slice path = f->r->strings.items[string];
	return f->is_redacted ? path_base(path) : path;
}

/** Never in a redacted file. */
static void put_private(const struct facts *f, const char *key, uint32_t string) {
	json_string_if(f->j, key, f->r->strings.items[f->is_redacted ? 0 : string]);
}

static void put_program(const struct facts *f) {
	const struct rec_meta *m = &f->r->meta;
	JSON_OBJECT(f->j, "program");
	json_open(f->j, "command", '[');
	for (uint32_t i = 0; i < m->n_argv && !f->is_redacted; i++) {
		json_string(f->j, NULL, f->r->strings.items[m->argv_first + i]);
	}
	json_close(f->j);
	json_string_if(f->j, "executable", shown_path(f, m->exe));
	put_private(f, "directory", m->cwd);
	put_private(f, "host", m->host);
	json_number(f->j, "pid", m->pid);
	if (m->ended == REC_EXITED && m->exit_status != REC_STATUS_UNKNOWN) {
		json_signed(f->j, "exit_status", m->exit_status);
	} else if (m->ended == REC_SIGNALED) {
		json_signed(f->j, "exit_status", 128 + m->exit_status);
		json_signed(f->j, "signal", m->exit_status);
	} else {
		json_null(f->j, "exit_status");
	}
	static const char *const reasons[] = {NULL, "memory", "limit"};
	json_text(f->j, "end_reason", reasons[m->end_reason]);
	json_number(f->j, "started_ns", m->wall_start_ns);
	json_number(f->j, "images", m->n_images);
	json_bool(f->j, "attached", m->source == REC_ATTACHED || m->was_attached);
	json_string_if(f->j, "heaptrack_version", f->r->strings.items[m->version]);
}

/** Null where an imported file lacks it. */
static void put_known(const struct facts *f, const char *key, uint64_t v, uint32_t number) {
	json_number_if(f->j, key, !(f->missing & number), v);
}

/** Null where nobody looked for blocks from before an attach. */
static void put_old(const struct facts *f, const char *key, uint64_t v) {
	json_number_if(f->j, key, !f->r->meta.old_unknown, v);
}

static void put_summary(const struct facts *f) {
	const struct recording *r = f->r;
	const struct rec_summary *s = &r->summary;
	struct json *j = f->j;
	JSON_OBJECT(j, "summary");
	put_known(f, "duration_ns", r->meta.duration_ns, REC_TIME);
	put_known(f, "allocations", s->allocations, REC_ALLOCATIONS);
	json_number(j, "failed", s->failed);
	put_known(f, "allocated_bytes", s->allocated_bytes, REC_ALLOCATED_BYTES);
	put_known(f, "frees", s->frees - s->suppressed_blocks, REC_ALLOCATIONS | REC_LIVE_BLOCKS);
	json_number(j, "reallocations", s->reallocs);
	put_known(f, "temporary", s->temporary, REC_TEMPORARY);
	put_known(f, "short_lived", s->short_lived, REC_TEMPORARY);
	put_known(f, "peak_bytes", s->peak_bytes, REC_PEAK_BYTES);
	if (s->peak_high_bytes > 0) {
		json_number(j, "peak_bytes_low", s->peak_low_bytes);
		json_number(j, "peak_bytes_high", s->peak_high_bytes);
	}
	put_known(f, "peak_blocks", s->peak_blocks, REC_PEAK_BLOCKS);
	put_known(f, "peak_time_ns", s->peak_time_ns, REC_PEAK_BYTES | REC_TIME);
	put_known(f, "never_freed_blocks", s->live_blocks + s->suppressed_blocks, REC_LIVE_BLOCKS);
	put_known(f, "never_freed_bytes", s->live_bytes + s->suppressed_bytes, REC_LIVE_BYTES);
	JSON_FIELDS(j, s, suppressed_blocks, suppressed_bytes);
	put_old(f, "before_attach_blocks", s->old_blocks);
	put_old(f, "before_attach_bytes", s->old_bytes);
	put_old(f, "before_attach_freed_blocks", s->old_freed_blocks);
	put_old(f, "before_attach_freed_bytes", s->old_freed_bytes);
	json_number_if(j, "peak_rss_bytes", s->peak_rss_bytes > 0, s->peak_rss_bytes);
	const struct rec_sample *pss = recording_most_pss(r);
	if (pss) {
		json_number(j, "peak_pss_bytes", pss->pss_bytes);
		json_number(j, "peak_pss_time_ns", pss->time_ns);
	}
	json_number(j, "system_memory_bytes", r->meta.system_memory_bytes);
	json_number(j, "threads", r->threads.n ? r->threads.n - 1 : 0);
	JSON_FIELDS(j, &r->quality, lost_events, truncated_stacks);
	json_bool(j, "complete", r->meta.is_complete && !r->quality.recording_stopped_early);
}

static void put_quality(const struct facts *f) {
	const struct rec_quality *q = &f->r->quality;
	struct json *j = f->j;
	JSON_OBJECT(j, "quality");
	JSON_FIELDS(j, q, abandoned_hooks, skipped_numbers, unknown_frees, double_allocations,
			time_corrections, children_forked, children_executed, detail_ends_ns, events_dropped);
	JSON_FIELDS(j, q, marks_dropped, looks_refused, runtime_mismatches);
	json_text(j, "verdict", QUALITY_VERDICT(f->r));
	struct quality_line lines[QUALITY_LINES_MAX];
	size_t n_lines = quality_lines(f->r, f->names, f->arena, lines);
	JSON_LIST(j, "sentences");
	EACH_OF(line, lines, n_lines) {
		JSON_OBJECT(j, NULL);
		json_text(j, "id", line->id);
		json_number(j, "value", line->value);
		json_text(j, "text", line->text);
	}
}

static void put_findings(struct json *j, const struct findings *findings) {
	static const char *const severities[] = {[FINDING_FACT] = "fact",
			[FINDING_EXPLAINS] = "explains",
			[FINDING_WORTH_IT] = "worth-it",
			[FINDING_LOOK_FIRST] = "look-first"};
	JSON_LIST(j, "findings");
	EACH(f, *findings) {
		JSON_OBJECT(j, NULL);
		JSON_TEXTS(j, f, id, title, text, lens);
		json_string_if(j, "function", f->function ? f->function->function : (struct slice){0});
		json_open(j, "numbers", '{');
		EACH_OF(n, f->numbers, f->n_numbers) {
			json_number(j, n->name, n->value);
		}
		json_close(j);
		json_text(j, "severity", severities[f->severity]);
		if (f->function) {
			json_text(j, "place", f->place);
			json_string(j, "package", names_package(f->function));
		}
	}
}

static void put_allocators(const struct facts *f) {
	JSON_LIST(f->j, "allocators");
	EACH(a, f->r->allocators) {
		JSON_OBJECT(f->j, NULL);
		json_string(f->j, "module", shown_path(f, a->module));
		json_open(f->j, "functions", '[');
		struct slice list = f->r->strings.items[a->functions];
		for (struct slice name; take_part(&list, ',', &name);) {
			json_string(f->j, NULL, skip_spaces(name));
		}
		json_close(f->j);
		json_bool(f->j, "hooked", a->why == 0);
		json_string_if(f->j, "why", f->r->strings.items[a->why]);
	}
}

static void put_children(const struct facts *f) {
	JSON_LIST(f->j, "children");
	EACH(c, f->r->children) {
		JSON_OBJECT(f->j, NULL);
		json_number(f->j, "pid", c->pid);
		json_string_if(f->j, "name", f->r->strings.items[c->name]);
		json_string_if(f->j, "executable", shown_path(f, c->exe));
		json_bool(f->j, "forked", c->is_fork);
		json_text(f->j, "why", quality_why_id(c->why));
		json_number(f->j, "peak_rss_bytes", c->peak_rss_bytes);
	}
}

static void put_commands(const struct facts *f) {
	JSON_LIST(f->j, "commands");
	for (uint32_t i = 1; i < f->r->commands.n; i++) {
		const struct rec_command *c = &f->r->commands.items[i];
		JSON_OBJECT(f->j, NULL);
		json_string(f->j, "name", f->r->strings.items[c->name]);
		json_string(f->j, "executable", shown_path(f, c->exe));
		json_number(f->j, "processes", c->n_processes);
	}
}

void processes_put_json(struct json *j, const struct recording *r) {
	JSON_LIST(j, "processes");
	for (uint32_t i = 1; i < r->processes.n; i++) {
		const struct rec_process *p = &r->processes.items[i];
		const bool has_status = p->end_ns > 0 && p->exit_status != REC_STATUS_UNKNOWN;
		JSON_OBJECT(j, NULL);
		json_number(j, "id", i);
		json_number(j, "pid", p->pid);
		json_number_if(j, "parent", p->parent > 0, p->parent);
		json_string(j, "command", r->strings.items[r->commands.items[p->command].name]);
		json_number(j, "started_ns", p->start_ns);
		json_number_if(j, "ended_ns", p->end_ns > 0, p->end_ns);
		json_number_if(j, "exit_status", has_status, (uint64_t)p->exit_status);
		JSON_FIELDS(j, p, allocations, allocated_bytes, temporary, peak_bytes, peak_time_ns);
		json_number(j, "never_freed_bytes", p->live_bytes);
		json_number(j, "never_freed_blocks", p->live_blocks);
		JSON_FIELDS(j, p, inherited_bytes, inherited_blocks);
		json_number(j, "inherited_freed_blocks", p->inherited_freed);
		json_number_if(j, "dirtied_bytes", p->dirtied_bytes > 0, p->dirtied_bytes);
		json_number_if(j, "peak_rss_bytes", p->peak_rss_bytes > 0, p->peak_rss_bytes);
		json_number_if(j, "pss_bytes", p->pss_bytes > 0, p->pss_bytes);
		json_number_if(j, "pss_time_ns", p->pss_bytes > 0, p->pss_time_ns);
	}
}

void facts_put_first(const struct facts *f, const struct findings *findings) {
	put_program(f);
	put_summary(f);
	put_quality(f);
	put_findings(f->j, findings);
}

void facts_put_last(const struct facts *f) {
	marks_put_json(f->j, f->r);
	put_allocators(f);
	put_children(f);
	if (f->r->processes.n > 0) {
		processes_put_json(f->j, f->r);
		put_commands(f);
	}
}
