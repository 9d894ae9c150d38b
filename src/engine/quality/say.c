// SPDX-License-Identifier: MIT
/* Adds one quality line to those of a recording. */
#include "engine/quality/parts.h"

void quality_say(struct quality_writer *w, const char *id, uint64_t value, const char *fmt, ...) {
	char text[QUALITY_TEXT_MAX];
	(void)FORMAT_ARGS(text, sizeof text, fmt);
	if (w->n < QUALITY_LINES_MAX) {
		const char *kept = arena_text(w->arena, slice_of_text(text));
		w->out[w->n++] = (struct quality_line){id, kept, value};
	}
}
