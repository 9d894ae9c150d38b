// SPDX-License-Identifier: MIT
/* Cuts, pads and wraps text by its columns. */
#include "report/text/page.h"

/** The byte at which column `column` begins. */
static size_t byte_at(struct slice s, size_t column) {
	size_t i = 0;
	for (size_t n = 0; i < s.size; i++) {
		if (!utf8_continues(s.data[i]) && n++ == column) {
			break;
		}
	}
	return i;
}

void put_spaces(struct buffer *out, size_t n) {
	while (n-- > 0) {
		buffer_u8(out, ' ');
	}
}

void trim_spaces(struct buffer *out) {
	while (out->size && out->data[out->size - 1] == ' ') {
		out->size--;
	}
}

void put_left(struct buffer *out, struct slice s, size_t width) {
	size_t n = utf8_columns(s);
	if (n <= width) {
		put_cut_padded(out, s, width);
		return;
	}
	// The end of a name tells more than its start: a third before the gap, the rest behind
	size_t before = (width - 1) / 3, behind = width - 1 - before, cut = byte_at(s, n - behind);
	visible_put(out, slice_of(s.data, byte_at(s, before)));
	buffer_text(out, "…");
	visible_put(out, slice_from(s, cut));
}

void put_cut_padded(struct buffer *out, struct slice s, size_t width) {
	size_t n = utf8_columns(s);
	if (n <= width) {
		visible_put(out, s);
		put_spaces(out, width - n);
	} else if (width > 0) {
		visible_put(out, slice_of(s.data, byte_at(s, width - 1)));
		buffer_text(out, "…");
	}
}

void put_right(struct buffer *out, const char *text, size_t width) {
	size_t n = utf8_columns(slice_of_text(text));
	put_spaces(out, n < width ? width - n : 0);
	buffer_text(out, text);
}

void put_place(struct buffer *out, const struct name *f) {
	if (f->file.size) {
		buffer_slice(out, path_base(f->file));
		if (f->line) {
			buffer_printf(out, ":%" PRIu32, f->line);
		}
	} else if (f->has_name && !slice_equal(f->function, path_base(f->module))) {
		const char *end;
		buffer_slice(out, names_title_stem(f->module, &end));
		buffer_text(out, end);
	}
}

void put_site(struct buffer *out, const struct name *name, struct slice label,
		struct arena *arena) {
	buffer_text(out, name ? function_short(name->function, arena) : arena_text(arena, label));
	if (name && name->file.size && name->line) {
		buffer_printf(out, " %.*s:%" PRIu32, SLICE_ARG(path_base(name->file)), name->line);
	}
}
