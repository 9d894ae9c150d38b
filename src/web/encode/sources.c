// SPDX-License-Identifier: MIT
/* Finds the sites that cost most, and reads the lines around them. */
#include "web/encode/columns.h"

enum { SITES_MAX = 200, LINES_AROUND = 8 };

/** A place in the source, and what the stacks that are named after it cost. */
struct place {
	uint32_t file, line;
	uint64_t weight;
};

static int by_place(const void *x, const void *y) {
	const struct place *a = x, *b = y;
	return compare_u64(a->file, b->file) ?: compare_u64(a->line, b->line);
}

static int by_weight(const void *x, const void *y) {
	const struct place *a = x, *b = y;
	return compare_u64(b->weight, a->weight) ?: by_place(x, y);
}

/** The places of all sites, heaviest first, each once. NULL: no memory. */
static struct place *find_places(const struct columns *c, uint32_t *n) {
	struct place *places = arena_new(c->arena, struct place, (size_t)c->stacks.n + 1);
	*n = 0;
	for (uint32_t i = 0; places && i < c->stacks.n; i++) {
		const struct page_stack *s = &c->stacks.items[i];
		const struct frame_node *node = &c->frames->nodes.items[s->site.node];
		uint32_t file = c->frames->symbols.items[node->symbol].file;
		if (file && node->line) {
			uint64_t weight = s->sum.peak_bytes + s->sum.live_bytes + s->sum.allocations;
			places[(*n)++] = (struct place){file, node->line, weight};
		}
	}
	if (*n > 0) {
		qsort(places, *n, sizeof *places, by_place);
		uint32_t kept = 0;
		for (uint32_t i = 1; i < *n; i++) {
			if (by_place(&places[kept], &places[i]) == 0) {
				places[kept].weight += places[i].weight;
			} else {
				places[++kept] = places[i];
			}
		}
		*n = kept + 1;
		qsort(places, *n, sizeof *places, by_weight);
	}
	return places;
}

/** The bytes of the lines first .. last, counted from 1. */
static struct slice cut_lines(struct slice text, uint32_t first, uint32_t last) {
	const uint8_t *at = text.data, *end = text.data + text.size, *start = NULL;
	for (uint32_t line = 1; at < end && line <= last; line++) {
		if (line == first) {
			start = at;
		}
		const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
		at = stop ? stop + 1 : end;
	}
	return start ? slice_of(start, (size_t)(at - start)) : (struct slice){0};
}

/** One row: the file, the number of the first line, the lines. */
static uint32_t put_place(const struct columns *c, const struct place *p, struct buffer *rows) {
	SCOPED(buffer) text = {0};
	uint32_t first = p->line > LINES_AROUND ? p->line - LINES_AROUND : 1;
	struct slice lines = {0};
	if (c->options->source(c->options->user, p->file, &text)) {
		lines = cut_lines(buffer_view(&text), first, p->line + LINES_AROUND);
	}
	if (lines.size > 0) {
		buffer_varint(rows, p->file);
		buffer_varint(rows, first);
		buffer_sized(rows, lines);
	}
	rows->failed |= text.failed;
	return lines.size > 0;
}

bool sources_write(const struct columns *c, struct buffer *out) {
	SCOPED(buffer) rows = {0};
	uint32_t n_places = 0, n = 0;
	struct place *places = c->options->source ? find_places(c, &n_places) : NULL;
	for (uint32_t i = 0; i < n_places && i < SITES_MAX; i++) {
		n += put_place(c, &places[i], &rows);
	}
	buffer_varint(out, n);
	buffer_slice(out, buffer_view(&rows));
	return !rows.failed && (places || !c->options->source);
}
