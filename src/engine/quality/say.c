// SPDX-License-Identifier: MIT
/* Adds one quality line to those of a recording. */
#include "engine/quality/parts.h"

void quality_say(struct quality_writer *w, const char *id, uint64_t value, const char *fmt, ...) {
	char text[QUALITY_TEXT_MAX];
	(void)FORMAT_ARGS(text, sizeof text, fmt);
	const char *kept = arena_text(w->arena, slice_of_text(text));
	if (w->n < QUALITY_LINES_MAX) {
		w->out[w->n++] = (struct quality_line){id, kept ? kept : "(out of memory)", value};
	}
}
