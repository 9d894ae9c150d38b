// SPDX-License-Identifier: MIT
/* Writes names, findings, quality lines, marks and allocators as JSON. */
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

void finding_put_json(struct json *j, const struct finding *f) {
	json_text(j, "id", f->id);
	json_text(j, "title", f->title);
	json_text(j, "text", f->text);
	json_text(j, "lens", f->lens);
	if (f->function) {
		json_string(j, "function", f->function->function);
	} else {
		json_null(j, "function");
	}
	JSON_OBJECT(j, "numbers");
	for (uint32_t i = 0; i < f->n_numbers; i++) {
		json_number(j, f->numbers[i].name, f->numbers[i].value);
	}
}

void quality_put_json(struct json *j, const char *key, const struct recording *r,
		const struct names *n, struct arena *arena) {
	struct quality_line lines[QUALITY_LINES_MAX];
	size_t n_lines = quality_lines(r, n, arena, lines);
	JSON_LIST(j, key);
	for (size_t i = 0; i < n_lines; i++) {
		JSON_OBJECT(j, NULL);
		json_text(j, "id", lines[i].id);
		json_number(j, "value", lines[i].value);
		json_text(j, "text", lines[i].text);
	}
}

void marks_put_json(struct json *j, const struct recording *r) {
	JSON_LIST(j, "marks");
	EACH(m, r->marks) {
		JSON_OBJECT(j, NULL);
		json_string(j, "name", r->strings.items[m->name]);
		json_number(j, "time_ns", m->time_ns);
	}
}

/** `list`: names with ", " between them. */
static void put_names(struct json *j, const char *key, struct slice list) {
	JSON_LIST(j, key);
	struct slice name;
	while (take_part(&list, ',', &name)) {
		json_string(j, NULL, trimmed(name));
	}
}

void allocators_put_json(struct json *j, const struct recording *r, bool has_paths) {
	JSON_LIST(j, "allocators");
	EACH(a, r->allocators) {
		JSON_OBJECT(j, NULL);
		struct slice module = r->strings.items[a->module];
		json_string(j, "module", has_paths ? module : path_base(module));
		put_names(j, "functions", r->strings.items[a->functions]);
		json_bool(j, "hooked", a->why == 0);
		json_string_if(j, "why", r->strings.items[a->why]);
	}
}
