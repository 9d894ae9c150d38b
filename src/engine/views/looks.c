// SPDX-License-Identifier: MIT
/* The looks of a recording as JSON: each with its parts, and who has how much of them. */
#include "engine/memory.h"

/** The stack that mapped it; `mapping` as in a part. */
static void put_maker(const struct looks_writer *w, uint32_t mapping) {
	if (mapping) {
		w->put_stack(w->user, w->r->mappings.items[mapping - 1].node);
	} else {
		json_null(w->j, "stack");
	}
}

static void put_row(const struct looks_writer *w, const struct rec_part *p) {
	struct json *j = w->j;
	JSON_OBJECT(j, NULL);
	json_number(j, "bytes", p->resident_bytes);
	json_number(j, "lazy_free_bytes", p->lazy_free_bytes);
	json_string_if(j, "name", w->r->strings.items[p->name]);
	put_maker(w, p->mapping);
}

static void put_part(const struct looks_writer *w, const struct memory_look *m, uint8_t part) {
	struct json *j = w->j;
	JSON_OBJECT(j, NULL);
	json_text(j, "id", memory_part_texts[part].id);
	json_number(j, "bytes", m->bytes[part]);
	if (part == REC_PART_HEAP_LIVE || part == REC_PART_HEAP) {
		json_number(j, "asked_bytes", m->asked_bytes);
	}
	JSON_LIST(j, "rows");
	if (w->put_rows) {
		w->put_rows(w->user, m, part);
		return;
	}
	EACH_OF_THAT(row, m->rows, m->n_rows, row->part == part && row->resident_bytes > 0) {
		put_row(w, row);
	}
}

/** What of a stack's live blocks was not in memory. */
static void put_untouched(const struct looks_writer *w, const struct rec_untouched *u) {
	struct json *j = w->j;
	JSON_OBJECT(j, NULL);
	JSON_FIELDS(j, u, blocks, asked_bytes, resident_bytes, pinned_bytes);
	w->put_stack(w->user, w->r->stacks.items[u->stack].node);
}

/** Null: no limit is known. */
static void put_group(struct json *j, const struct rec_group *g) {
	if (!g) {
		json_null(j, "control_group");
		return;
	}
	JSON_OBJECT(j, "control_group");
	JSON_FIELDS(j, g, limit_bytes, used_bytes, anonymous_bytes, file_bytes, shared_bytes,
			inactive_bytes, kernel_bytes, swap_bytes, limit_hits);
	json_number(j, "other_processes_bytes", memory_others_bytes(g));
}

static void put_arenas(struct json *j, const struct memory_look *m, uint64_t page_bytes) {
	JSON_LIST(j, "arenas");
	EACH_OF(arena, m->arenas, m->n_arenas) {
		SCOPED(buffer) name = {0};
		memory_put_arena(&name, arena);
		JSON_OBJECT(j, NULL);
		json_string(j, "name", buffer_view(&name));
		json_number(j, "live_bytes", arena->live_bytes);
		JSON_LIST(j, "bytes_by_fullness");
		for (size_t k = 0; k < REC_FULLNESS; k++) {
			json_number(j, NULL, arena->pages[k] * page_bytes);
		}
	}
}

void look_put_json(const struct looks_writer *w, const struct memory_look *m) {
	struct json *j = w->j;
	json_number(j, "look", m->number);
	json_number(j, "pid", m->look->pid);
	json_text(j, "at", memory_at_ids[m->look->at]);
	JSON_FIELDS(j, m->look, time_ns, rss_bytes, swap_bytes, changed_bytes, huge_bytes,
			huge_free_bytes);
	json_bool(j, "has_pages", m->look->has & REC_HAS_PAGES);
	json_bool(j, "has_makers", m->look->has & REC_HAS_MAKERS);
	put_group(j, m->group);
	json_open(j, "parts", '[');
	EACH_NUMBER(i, REC_PARTS, m->bytes[i] > 0) {
		put_part(w, m, (uint8_t)i);
	}
	json_close(j);
	put_arenas(j, m, w->r->meta.page_bytes);
	JSON_LIST(j, "untouched");
	for (uint32_t i = 0; i < m->n_notable; i++) {
		put_untouched(w, &m->untouched[i]);
	}
}

// ---- what points to live blocks

void memory_put_grades_json(struct json *j, const struct memory_grades *g) {
	JSON_LIST(j, "grades");
	for (uint8_t grade = 0; grade < REC_GRADES; grade++) {
		JSON_OBJECT(j, NULL);
		json_text(j, "grade", lens_grade_names[grade]);
		json_number(j, "blocks", g->blocks[grade]);
		json_number(j, "bytes", g->bytes[grade]);
	}
}

/** Newest first. */
static void put_graded_looks(struct json *j, const struct recording *r) {
	JSON_LIST(j, "looks");
	for (uint32_t i = r->looks.n; i-- > 0;) {
		const struct rec_look *look = &r->looks.items[i];
		if (look->has & REC_HAS_GRAPH) {
			const struct memory_grades g = memory_grades(r, look->time_ns);
			JSON_OBJECT(j, NULL);
			json_number(j, "look", i);
			json_number(j, "pid", look->pid);
			json_text(j, "at", memory_at_ids[look->at]);
			json_number(j, "time_ns", look->time_ns);
			memory_put_grades_json(j, &g);
		}
	}
}

/** The classes of blocks, or of the examined blocks of a stack. */
static void put_classes(const struct looks_writer *w) {
	static const char *const kinds[REC_CLASS_KINDS] = {"python", "nim", "cpp"};
	JSON_LIST(w->j, "classes");
	EACH(c, w->r->classes) {
		JSON_OBJECT(w->j, NULL);
		JSON_FIELDS(w->j, c, look, blocks, bytes);
		json_number_if(w->j, "retained_bytes", c->kind == REC_CLASS_CPP, c->retained_bytes);
		json_number_if(w->j, "objects_in_arenas", c->kind == REC_CLASS_CPP, c->objects);
		json_text(w->j, "kind", kinds[c->kind]);
		json_string_if(w->j, "name", w->r->strings.items[c->name]);
		w->put_stack(w->user, c->node);
	}
}

/** Only the roots; what is below them is a tree under the metric `held`. */
static void put_holders(const struct looks_writer *w) {
	JSON_LIST(w->j, "holders");
	EACH_THAT(h, w->r->holders, h->above == 0) {
		JSON_OBJECT(w->j, NULL);
		json_string_if(w->j, "name", w->r->strings.items[h->name]);
		json_text(w->j, "kind", memory_holder_ids[h->kind]);
		json_string_if(w->j, "file", w->r->strings.items[h->file]);
		json_number_if(w->j, "line", h->line > 0, h->line);
		JSON_FIELDS(w->j, h, look, retained_bytes, retained_blocks);
		put_maker(w, h->mapping);
	}
}

void leaks_put_json(const struct looks_writer *w) {
	put_graded_looks(w->j, w->r);
	put_classes(w);
	put_holders(w);
}
