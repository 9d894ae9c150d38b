// SPDX-License-Identifier: MIT
/*
 * Writes speedscope's file format: shared frames, and a "sampled" profile per value, beginning with
 * the one to show. The base of a comparison has its own profiles.
 */
#include "formats/write/text.h"

static const struct {
	const char *name, *unit;
} columns[N_PROFILE_VALUES] = {
		[PROFILE_PEAK_BYTES] = {"peak, bytes", "bytes"},
		[PROFILE_LIVE_BYTES] = {"never freed, bytes", "bytes"},
		[PROFILE_ALLOC_BYTES] = {"allocated, bytes", "bytes"},
		[PROFILE_ALLOC_OBJECTS] = {"allocations", "none"},
		[PROFILE_TEMPORARY] = {"temporary allocations", "none"},
};

struct document {
	struct json j;
	const struct profile *p;
	struct path path;
};

static void put_frames(struct document *d) {
	const struct profile *p = d->p;
	JSON_OBJECT(&d->j, "shared");
	JSON_LIST(&d->j, "frames");
	for (uint32_t i = 1; i < p->frames.n; i++) {
		const struct profile_frame *f = &p->frames.items[i];
		JSON_OBJECT(&d->j, NULL);
		json_string(&d->j, "name", frame_function(p, i));
		if (f->file) {
			json_string(&d->j, "file", profile_text(p, f->file));
		}
		if (f->line) {
			json_number(&d->j, "line", f->line);
		}
	}
}

static bool is_shown(const struct profile_sample *s, enum profile_value value, bool of_base) {
	return s->is_base == of_base && s->values[value];
}

static void put_samples(struct document *d, enum profile_value value, bool of_base) {
	const struct profile *p = d->p;
	json_open(&d->j, "samples", '[');
	EACH_THAT(s, p->samples, is_shown(s, value, of_base)) {
		path_of(&d->path, p->nodes.items, s->node);
		JSON_LIST(&d->j, NULL);
		for (uint32_t k = 0; k < d->path.n; k++) {
			json_number(&d->j, NULL, p->nodes.items[d->path.items[k]].frame - 1);
		}
	}
	json_close(&d->j);
	JSON_LIST(&d->j, "weights");
	EACH_THAT(s, p->samples, is_shown(s, value, of_base)) {
		json_number(&d->j, NULL, s->values[value]);
	}
}

static void put_profile(struct document *d, enum profile_value value, bool of_base) {
	JSON_OBJECT(&d->j, NULL);
	json_text(&d->j, "type", "sampled");
	json_text(&d->j, "name", FORMAT(64, "%s%s", of_base ? "base: " : "", columns[value].name));
	json_text(&d->j, "unit", columns[value].unit);
	json_number(&d->j, "startValue", 0);
	json_number(&d->j, "endValue", profile_total(d->p, value, of_base));
	put_samples(d, value, of_base);
}

static void put_profiles(struct document *d, enum profile_value shown) {
	JSON_LIST(&d->j, "profiles");
	enum profile_value views[N_PROFILE_VALUES];
	unsigned n = profile_views(d->p, shown, views);
	for (unsigned i = 0; i < n; i++) {
		put_profile(d, views[i], false);
		if (d->p->is_diff) {
			put_profile(d, views[i], true);
		}
	}
}

bool speedscope_encode(struct buffer *out, const struct profile *p,
		const struct write_options *options, struct err *err) {
	(void)err;
	struct document d = {.j = json_init(out), .p = p};
	json_open(&d.j, NULL, '{');
	json_text(&d.j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_text(&d.j, "exporter", "heaptrack " HEAPTRACK_VERSION);
	json_string(&d.j, "name", profile_text(p, p->command ? p->command : p->program));
	json_number(&d.j, "activeProfileIndex", 0);
	put_frames(&d);
	put_profiles(&d, options->shown);
	json_close(&d.j);
	vec_finish(&d.path);
	return true;
}
