// SPDX-License-Identifier: MIT
#include "formats/formats.h"
#include "formats/text.h"

#include <inttypes.h>

/*
 * A line per stack, for spreadsheets and scripts: what it is named after, the numbers, and its
 * frames from the root to the leaf, joined by ';'. A number that the profile does not have is an
 * empty field. RFC 4180: CRLF, quotes doubled. The columns of a comparison's base begin with "base_".
 */

static void put_field(struct buffer *out, struct slice text) {
	buffer_u8(out, '"');
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] == '"') {
			buffer_u8(out, '"');
		}
		buffer_u8(out, text.data[i]);
	}
	buffer_u8(out, '"');
}

static void put_columns(struct buffer *out, const struct profile *p) {
	buffer_text(out, "site,file,line");
	for (int side = 0; side < (p->is_diff ? 2 : 1); side++) {
		for (int v = 0; v < N_PROFILE_VALUES; v++) {
			buffer_printf(out, ",%s%s", side ? "base_" : "",
					profile_value_name((enum profile_value)v));
		}
	}
	buffer_text(out, ",stack\r\n");
}

static void put_values(struct buffer *out, const struct profile *p, const uint64_t *values) {
	for (int v = 0; v < N_PROFILE_VALUES; v++) {
		buffer_u8(out, ',');
		if (profile_knows(p, (enum profile_value)v)) {
			buffer_printf(out, "%" PRIu64, values ? values[v] : 0);
		}
	}
}

static void put_stack(struct buffer *out, const struct profile *p, const struct path *path) {
	struct buffer text = {0};
	for (uint32_t i = 0; i < path->n; i++) {
		if (i > 0) {
			buffer_u8(&text, ';');
		}
		put_plain(&text, frame_function(p, p->nodes.items[path->nodes[i]].frame), ";");
	}
	put_field(out, buffer_view(&text));
	out->failed |= text.failed;
	buffer_finish(&text);
}

static void put_site(struct buffer *out, const struct profile *p, uint32_t frame) {
	const struct profile_frame *f = &p->frames.items[frame];
	put_field(out, frame ? frame_function(p, frame) : (struct slice){0});
	buffer_u8(out, ',');
	put_field(out, profile_text(p, f->file));
	buffer_u8(out, ',');
	if (f->line) {
		buffer_printf(out, "%u", f->line);
	}
}

/** The samples of a stack stand one behind the other: ours, the base's, or both. */
static void put_row(struct buffer *out, const struct profile *p, const struct profile_sample *ours,
		const struct profile_sample *base, const struct path *path) {
	const struct profile_sample *s = ours ? ours : base;
	put_site(out, p, s->site);
	put_values(out, p, ours ? ours->values : NULL);
	if (p->is_diff) {
		put_values(out, p, base ? base->values : NULL);
	}
	buffer_u8(out, ',');
	put_stack(out, p, path);
	buffer_text(out, "\r\n");
}

static bool put_rows(struct buffer *out, const struct profile *p, const uint32_t *parents,
		const struct profile_sample **base_of) {
	struct path path = {0};
	bool ok = true;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; ok && i < p->samples.n; i++) {
			const struct profile_sample *s = &p->samples.items[i];
			const struct profile_sample *base = base_of[s->node];
			if (s->is_base != (pass == 1) || (pass == 1 && base != s)) {
				continue;
			}
			ok = path_of(&path, parents, s->node);
			put_row(out, p, s->is_base ? NULL : s, base, &path);
			base_of[s->node] = NULL; // stands in a row now
		}
	}
	path_finish(&path);
	return ok;
}

bool csv_encode(struct buffer *out, const struct profile *p, struct err *err) {
	struct arena scratch = {0};
	uint32_t *parents = arena_new(&scratch, uint32_t, p->nodes.n);
	const struct profile_sample **base_of = arena_new(&scratch, const struct profile_sample *,
			p->nodes.n);
	bool ok = parents && base_of;
	for (uint32_t i = 0; ok && i < p->nodes.n; i++) {
		parents[i] = p->nodes.items[i].parent;
	}
	for (uint32_t i = 0; ok && i < p->samples.n; i++) {
		if (p->samples.items[i].is_base) {
			base_of[p->samples.items[i].node] = &p->samples.items[i];
		}
	}
	put_columns(out, p);
	ok = ok && put_rows(out, p, parents, base_of);
	arena_finish(&scratch);
	return (ok && !out->failed) || err_memory(err);
}
