// SPDX-License-Identifier: MIT
/* Writes the whole profile as JSON, version 1 (docs/exports.md). Unknown totals are null. */
#include "formats/write/text.h"

static void put_totals(struct json *j, const char *key, const struct profile *p, bool of_base) {
	JSON_OBJECT(j, key);
	for (int v = 0; v < N_PROFILE_VALUES; v++) {
		enum profile_value value = (enum profile_value)v;
		json_number_if(j, profile_value_name(value), profile_knows(p, value),
				profile_total(p, value, of_base));
	}
}

static void put_frames(struct json *j, const struct profile *p) {
	JSON_LIST(j, "frames");
	for (uint32_t i = 1; i < p->frames.n; i++) {
		const struct profile_frame *f = &p->frames.items[i];
		JSON_OBJECT(j, NULL);
		json_string(j, "function", frame_function(p, i));
		json_string_if(j, "symbol", profile_text(p, f->symbol));
		json_string_if(j, "file", profile_text(p, f->file));
		json_number_if(j, "line", f->line, f->line);
		json_string_if(j, "module", profile_text(p, p->mappings.items[f->mapping].path));
		json_number(j, "address", f->address);
		json_bool(j, "inlined", f->is_inlined);
	}
}

static void put_stack(struct json *j, const struct profile *p, const struct profile_sample *s) {
	JSON_OBJECT(j, NULL);
	if (p->is_diff) {
		json_bool(j, "base", s->is_base);
	}
	if (s->site) {
		json_number(j, "site", s->site - 1);
	}
	if (s->size) {
		json_number(j, "size", s->size);
	}
	EACH_NUMBER(v, N_PROFILE_VALUES, profile_knows(p, (enum profile_value)v)) {
		json_number(j, profile_value_name((enum profile_value)v), s->values[v]);
	}
	JSON_LIST(j, "frames");
	for (uint32_t node = s->node; node; node = p->nodes.items[node].parent) {
		json_number(j, NULL, p->nodes.items[node].frame - 1);
	}
}

static void put_moments(struct json *j, const struct profile *p) {
	JSON_LIST(j, "timeline");
	EACH(m, p->moments) {
		JSON_OBJECT(j, NULL);
		json_number(j, "time_ns", m->time_ns);
		json_number(j, "bytes", m->bytes);
		if (profile_knows(p, PROFILE_PEAK_OBJECTS)) {
			json_number(j, "blocks", m->blocks);
		}
	}
}

bool json_profile_encode(struct buffer *out, const struct profile *p,
		const struct write_options *options, struct err *err) {
	(void)options, (void)err;
	struct json j = json_init(out);
	json_open(&j, NULL, '{');
	json_number(&j, "version", 1);
	json_string_if(&j, "program", profile_text(p, p->program));
	json_string_if(&j, "command", profile_text(p, p->command));
	json_number_if(&j, "duration_ns", p->duration_ns, p->duration_ns);
	json_number_if(&j, "peak_time_ns", p->peak_time_ns, p->peak_time_ns);
	put_totals(&j, "totals", p, false);
	if (p->is_diff) {
		put_totals(&j, "base_totals", p, true);
	}
	put_frames(&j, p);
	json_open(&j, "stacks", '[');
	for (uint32_t i = 0; i < p->samples.n; i++) {
		put_stack(&j, p, &p->samples.items[i]);
	}
	json_close(&j);
	put_moments(&j, p);
	json_close(&j);
	buffer_u8(out, '\n');
	return true;
}
