// SPDX-License-Identifier: MIT
/* Parses a frame from its end: place, address, name. */
#include "formats/read/place.h"

/** "file:12" or, with a column, "file:12:5". */
static bool split_file(struct slice s, struct slice *file, uint32_t *line) {
	*file = s;
	uint32_t last;
	bool has_line = take_last_number(file, &last);
	if (has_line && !take_last_number(file, line)) {
		*line = last;
	}
	return has_line;
}

static void parse_where(struct profile_maker *m, struct slice where, struct profile_frame *f) {
	struct slice file = {0};
	if (take_prefix(&where, "in ")) {
		struct profile_mapping mapping = {.path = profile_maker_string(m, where)};
		f->mapping = profile_maker_mapping(m, &mapping);
	} else if (split_file(where, &file, &f->line)) {
		f->file = profile_maker_string(m, file);
	}
}

/** The " (" that matches the last ")". */
static const uint8_t *opening(struct slice s) {
	int depth = 0;
	for (size_t i = s.size; i-- > 1;) {
		depth += s.data[i] == ')';
		depth -= s.data[i] == '(';
		if (depth == 0) {
			return s.data[i - 1] == ' ' ? s.data + i : NULL;
		}
	}
	return NULL;
}

struct profile_frame place_parse(struct profile_maker *m, struct slice text) {
	struct profile_frame f = {0};
	struct slice rest = text;
	if (starts_with(text, "0x") && take_hexadecimal(&rest, &f.address) &&
			take_prefix(&rest, ": ")) {
		text = rest;
	} else {
		f.address = 0;
	}
	const uint8_t *open = text.size && text.data[text.size - 1] == ')' ? opening(text) : NULL;
	if (open) {
		parse_where(m, slice_of(open + 1, (size_t)(text.data + text.size - open - 2)), &f);
		if (f.file || f.mapping) {
			text = slice_of(text.data, (size_t)(open - 1 - text.data));
		}
	}
	bool is_unknown = slice_is(text, "???");
	f.function = is_unknown ? 0 : profile_maker_string(m, text);
	return f;
}

uint32_t place_add(struct profile_maker *m, uint32_t node, uint32_t frame,
		struct profile_frame *outer) {
	struct profile_frame f = m->frames.items[frame];
	f.is_inlined = node && f.address != 0 && f.address == outer->address &&
			(f.function != outer->function || f.line != outer->line);
	*outer = f;
	return profile_maker_node(m, node, profile_maker_frame(m, &f));
}
