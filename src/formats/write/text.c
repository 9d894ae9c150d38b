// SPDX-License-Identifier: MIT
/* Frames as text, as several writers need them. */
#include "formats/write/text.h"

void put_plain(struct buffer *out, struct slice text, const char *forbidden) {
	uint8_t *at = buffer_room(out, text.size);
	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = text.data[i];
		at[i] = c < ' ' || c == 0x7f ? ' ' : c < 0x80 && strchr(forbidden, c) ? ':' : c;
	}
	out->size += text.size;
}

struct slice frame_function(const struct profile *p, uint32_t frame) {
	struct slice name = profile_text(p, p->frames.items[frame].function);
	return name.size ? name : slice_of_text("???");
}

void put_frame_place(struct buffer *out, const struct profile *p, uint32_t frame) {
	const struct profile_frame *f = &p->frames.items[frame];
	put_plain(out, frame_function(p, frame), "");
	if (f->file) {
		buffer_text(out, " (");
		put_plain(out, profile_text(p, f->file), "");
		buffer_printf(out, ":%u)", f->line);
	} else if (f->mapping && p->mappings.items[f->mapping].path) {
		buffer_text(out, " (in ");
		put_plain(out, profile_text(p, p->mappings.items[f->mapping].path), "");
		buffer_text(out, ")");
	}
}

void path_of(struct path *path, const struct profile_node *nodes, uint32_t node) {
	size_t n = 0;
	for (uint32_t at = node; at; at = nodes[at].parent) {
		n++;
	}
	path->n = 0;
	(void)vec_reserve(path, n);
	path->n = n;
	for (uint32_t at = node; at; at = nodes[at].parent) {
		path->items[--n] = at;
	}
}
