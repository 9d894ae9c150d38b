// SPDX-License-Identifier: MIT
/* Reads collapsed stacks, lines like "main;parse;operator new 4096". */
#include "formats/formats.h"

/** Split "frames N" at the last space. False: another line. */
static bool split_line(struct slice line, struct slice *frames, uint64_t *n) {
	while (line.size && line.data[line.size - 1] == ' ') {
		line.size--;
	}
	const uint8_t *space = line.size ? memrchr(line.data, ' ', line.size) : NULL;
	if (!space || space == line.data) {
		return false;
	}
	struct slice number = slice_of(space + 1, (size_t)(line.data + line.size - space - 1));
	*frames = slice_of(line.data, (size_t)(space - line.data));
	return take_decimal(&number, n) && number.size == 0;
}

bool folded_knows(struct slice head) {
	struct slice line, frames;
	uint64_t n;
	bool has_lines = false;
	while (next_line(&head, &line)) {
		bool is_cut = head.size == 0;
		if (memchr(line.data, 0, line.size)) {
			return false;
		}
		if (!split_line(line, &frames, &n)) {
			return has_lines && is_cut;
		}
		has_lines = true;
	}
	return has_lines;
}

static uint32_t add_frames(struct profile_maker *m, struct slice frames) {
	uint32_t node = 0;
	for (struct slice name; !m->failed && take_part(&frames, ';', &name);) {
		name = skip_spaces(name);
		if (name.size) {
			struct profile_frame f = {.function = profile_maker_string(m, name)};
			node = profile_maker_node(m, node, profile_maker_frame(m, &f));
		}
	}
	return node;
}

bool folded_decode(struct profile_maker *m, struct slice in, struct err *err) {
	struct slice line, frames;
	uint64_t n;
	m->head.known = 1u << PROFILE_PEAK_BYTES;
	for (size_t number = 1; !m->failed && next_line(&in, &line); number++) {
		if (line.size == 0 || line.data[0] == '#') {
			continue;
		}
		if (!split_line(line, &frames, &n)) {
			return err_format(err, "line %zu does not end with a number", number);
		}
		uint32_t node = slice_is(frames, "(no stack)") ? 0 : add_frames(m, frames);
		struct profile_sample *s = profile_maker_sample(m, &(struct profile_sample){.node = node});
		if (s &&
				__builtin_add_overflow(s->values[PROFILE_PEAK_BYTES], n,
						&s->values[PROFILE_PEAK_BYTES])) {
			return err_format(err, "line %zu: the numbers are too large", number);
		}
	}
	return true;
}
