// SPDX-License-Identifier: MIT
/*
 * Writes CSV. A line is a stack: its site, the numbers, and its frames from the root to the leaf,
 * joined by ';'. Unknown numbers are empty fields. RFC 4180: CRLF, quotes doubled. Columns of a
 * comparison's base begin with "base_". Lines repeat what stacks share: deep recursion made 168 MB
 * from a recording of 0.6 MB. If all of them would take more than STACKS_MAX_BYTES, each is cut to
 * as many innermost frames as fit, and says how many are left out. Numbers are always complete.
 */
#include "formats/write/text.h"

enum {
	STACKS_MAX_BYTES = 32 << 20,
	DEPTH_MOST = 1 << 20,
	DEPTH_LEAST = 4,
};

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

/** The size of the innermost `depth` frames of all stacks. */
static uint64_t stacks_bytes(const struct profile *p, uint32_t depth) {
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < p->samples.n && bytes <= STACKS_MAX_BYTES; i++) {
		uint32_t node = p->samples.items[i].node;
		for (uint32_t n = 0; node && n < depth && bytes <= STACKS_MAX_BYTES; n++) {
			bytes += frame_function(p, p->nodes.items[node].frame).size + 1;
			node = p->nodes.items[node].parent;
		}
	}
	return bytes;
}

static uint32_t depth_that_fits(const struct profile *p) {
	uint32_t depth = DEPTH_MOST;
	while (depth > DEPTH_LEAST && stacks_bytes(p, depth) > STACKS_MAX_BYTES) {
		depth /= 2;
	}
	return depth;
}

static void put_stack(struct buffer *out, const struct profile *p, const struct path *path,
		uint32_t depth) {
	SCOPED(buffer) text = {0};
	size_t first = path->n > depth ? path->n - depth : 0;
	if (first) {
		buffer_printf(&text, "(%zu frames left out);", first);
	}
	for (size_t i = first; i < path->n; i++) {
		if (i > first) {
			buffer_u8(&text, ';');
		}
		put_plain(&text, frame_function(p, p->nodes.items[path->items[i]].frame), ";");
	}
	put_field(out, buffer_view(&text));
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

/** A stack's samples are adjacent: ours, the base's, or both. */
static void put_row(struct buffer *out, const struct profile *p, const struct profile_sample *ours,
		const struct profile_sample *base, const struct path *path, uint32_t depth) {
	const struct profile_sample *s = ours ? ours : base;
	put_site(out, p, s->site);
	put_values(out, p, ours ? ours->values : NULL);
	if (p->is_diff) {
		put_values(out, p, base ? base->values : NULL);
	}
	buffer_u8(out, ',');
	put_stack(out, p, path, depth);
	buffer_text(out, "\r\n");
}

static void put_rows(struct buffer *out, const struct profile *p,
		const struct profile_sample **base_of) {
	SCOPED_BY(vec_release) struct path path = {0};
	uint32_t depth = depth_that_fits(p);
	for (int pass = 0; pass < 2; pass++) {
		EACH(s, p->samples) {
			const struct profile_sample *base = base_of[s->node];
			if (s->is_base != (pass == 1) || (pass == 1 && base != s)) {
				continue;
			}
			path_of(&path, p->nodes.items, s->node);
			put_row(out, p, s->is_base ? NULL : s, base, &path, depth);
			base_of[s->node] = NULL; // it is in this row
		}
	}
}

bool csv_encode(struct buffer *out, const struct profile *p, const struct write_options *options,
		struct err *err) {
	(void)options, (void)err;
	SCOPED(arena) scratch = {0};
	const struct profile_sample **base_of = arena_new(&scratch, const struct profile_sample *,
			p->nodes.n);
	EACH_THAT(s, p->samples, s->is_base) {
		base_of[s->node] = s;
	}
	put_columns(out, p);
	put_rows(out, p, base_of);
	return true;
}
